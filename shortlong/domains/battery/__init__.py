"""Battery charging: the paper's table on measured cells, and a calibrated synthetic fleet for everyone else.

`domain` is what the rest of the program sees: settings and histories. Behind it `data` reads a folder, `importer` makes
one from the published files, `fleet` draws synthetic cells, `features` tells what can be seen of a cell early. Only the
settings are imported here, so that starting the program stays quick.
"""

from shortlong.domains.battery.domain import Battery, BatterySettings

__all__ = ["Battery", "BatterySettings"]
