"""What Home says about battery cells: a headline and a sentence from the paper's table on simulated cells."""

from typing import Any

import pandas as pd

from shortlong.analysis.battery import FleetRange
from shortlong.words.numbers import count


def battery_headline(rows: pd.DataFrame, cycles: int) -> str:
    """How many cells are classified correctly, and that it depends on the cells that training saw."""
    slev = rows[rows["method"] == "slev"].set_index("training")["correct"]
    right = "none" if pd.isna(slev["filtered"]) else int(slev["filtered"])
    return (
        f"After {cycles} cycles SLEV is right for {count(int(slev['full']), int(rows['total'].iloc[0]))} cells, and {right} "
        "if trained on short-lived ones only"
    )


def battery_sentence(rows: pd.DataFrame, cycles: int, over: FleetRange | None = None) -> str:
    """What the first cycles say about a cell's life, and what happens if training saw short lives only."""
    total = int(rows["total"].iloc[0])
    row_of = {(r.method, r.training): r for r in rows.itertuples()}
    full, filtered, blind = row_of["slev", "full"], row_of["slev", "filtered"], row_of["always_high", "full"]
    text = (
        f"From **{cycles} cycles**, SLEV classifies {_correct(full, total, over)} cells correctly after training on all "
        f"{full.training_cells} historical cells, and {_correct(filtered, total, over)} after training on the "
        f"{filtered.training_cells} short-lived ones only. Assuming every cell is long-lived would be right for "
        f"{_correct(blind, total, None)}."
    )
    return f"{text} Ranges are over {over.fleets} simulated fleets." if over else text


def _correct(row: Any, total: int, over: FleetRange | None) -> str:
    if pd.isna(row.correct):
        return "no (it does not apply)"
    ends = over.ends(row.method, row.training) if over else None
    spread = f" (range {ends[0]} to {ends[1]})" if ends and ends[0] < ends[1] else ""
    return f"**{count(int(row.correct), total)}**{spread}"
