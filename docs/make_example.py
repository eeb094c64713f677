"""Makes the example of one's own data again, with its results: `python -m docs.make_example`. Takes a few minutes."""

import tempfile
from pathlib import Path

from shortlong.compute.example_results import PACK, make_pack
from shortlong.compute.store import Store
from shortlong.core.harmless import spreadsheet
from shortlong.scenario.example_tables import example_table


def main() -> None:
    table = spreadsheet(example_table("kidney")).to_csv(index=False).encode()
    with tempfile.TemporaryDirectory(prefix="shortlong-example-") as home:
        make_pack(table, Store(Path(home)))
    print(f"{PACK.name}  {PACK.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
