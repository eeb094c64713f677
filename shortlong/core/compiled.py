"""Where compiled code is kept between runs.

numba files compiled functions by the source file they stand in and does not notice when a function that they call in
another file has changed: after an edit it would go on with the old equations. A folder named after all compiled sources
makes that impossible.
"""

import hashlib
import os
from pathlib import Path

import platformdirs


def keep_apart_by_source() -> None:
    """Point numba to the folder of these sources; must happen before numba is imported. A folder set by the user stays."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    digest = hashlib.blake2b(digest_size=8)
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        source = file.read_bytes()
        if b"njit" in source:
            digest.update(source)
    folder = Path(platformdirs.user_cache_dir("shortlong", appauthor=False)) / "compiled" / digest.hexdigest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # numba then uses the folders beside the sources
        return
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
