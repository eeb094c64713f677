"""The register of domains. Adding one: a file with its settings and its simulation, its names here, and a demo preset.

docs/extending.md does it step by step.
"""

from typing import Annotated, Any, get_args

from pydantic import Field

from shortlong.domains.base import Domain
from shortlong.domains.battery import Battery, BatterySettings
from shortlong.domains.hiv.domain import Hiv, HivSettings
from shortlong.domains.kidney.domain import Kidney, KidneySettings
from shortlong.domains.table.domain import Table, TableSettings

DOMAINS: dict[str, Domain[Any]] = {domain.name: domain for domain in (Hiv(), Kidney(), Battery(), Table())}
DataSettings = Annotated[HivSettings | KidneySettings | BatterySettings | TableSettings, Field(discriminator="domain")]
SERVER_FOLDERS = {  # of all domains, for settings that are not built yet
    name: none for kind in get_args(get_args(DataSettings)[0]) for name, none in kind.server_folders.items()
}
PRESET_DOMAINS = tuple(name for name in DOMAINS if name != Table.name)  # those that come with data of their own
