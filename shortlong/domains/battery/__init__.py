"""Battery charging: the paper's table on measured cells, and a calibrated synthetic fleet for everyone else.

`data` reads a folder, `importer` makes one from the published files, `fleet` draws synthetic cells; `features`,
`classify`, `curve_fit` and `ours` are the methods, `table1` and `horizon` what is shown of them, `reasons` the
sentences beside it. Only the light parts are imported here, so that starting the program stays quick.
"""

from shortlong.domains.battery.data import MEASURED, SYNTHETIC, Fleet, read_folder, write_folder
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.domains.battery.selection import select_cells

__all__ = ["MEASURED", "SYNTHETIC", "Fleet", "read_folder", "select_cells", "synthetic_fleet", "write_folder"]
