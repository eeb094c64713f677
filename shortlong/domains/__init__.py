"""The register of domains. Adding one: a file with its settings and its simulation, its names here, and a demo preset.

docs/extending.md does it step by step.
"""

from typing import Annotated, Any

from pydantic import Field

from shortlong.domains.base import Domain
from shortlong.domains.battery import Battery, BatterySettings
from shortlong.domains.hiv.domain import Hiv, HivSettings
from shortlong.domains.kidney.domain import Kidney, KidneySettings
from shortlong.domains.table.domain import Table, TableSettings

DOMAINS: dict[str, Domain[Any]] = {domain.name: domain for domain in (Hiv(), Kidney(), Battery(), Table())}
DataSettings = Annotated[HivSettings | KidneySettings | BatterySettings | TableSettings, Field(discriminator="domain")]
PRESET_DOMAINS = tuple(name for name in DOMAINS if name != Table.name)  # those that come with data of their own
