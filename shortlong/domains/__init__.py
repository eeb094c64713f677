"""The domains. Adding one means a file with its settings and its simulation, and a line in this register."""

from shortlong.domains.base import Domain
from shortlong.domains.hiv import Hiv, HivSettings

DOMAINS: dict[str, Domain] = {domain.name: domain for domain in (Hiv(),)}
DataSettings = HivSettings
