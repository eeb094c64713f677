"""The room on disk that a person of a shared server has, or all visitors together: results, data sets and files they brought."""

from pathlib import Path

from shortlong.core.errors import UserError
from shortlong.sharing.keeper import folder_size


def check_room(folder: Path, gigabytes: float | None, more: int = 0, common: bool = False) -> None:
    """Refuse what would take ``more`` bytes where a folder is full; ``common`` if many people fill it together."""
    if gigabytes is not None and folder_size(folder) + more > gigabytes * 1e9:
        raise UserError(
            f"With this, files and results would take more than {gigabytes:g} GB, which is the limit; "
            + ("try again later." if common else "delete runs on the Runs page, or data sets on Your data.")
        )
