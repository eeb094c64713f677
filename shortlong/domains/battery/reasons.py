"""Why the numbers of the battery table are what they are, in sentences made from the numbers themselves.

The paper prints 26.5 % for SLEV and 74.6 % for SLED after filtering and leaves it at that; beside the table we say what
the fitted models did.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shortlong.domains.battery.classify import Answer
from shortlong.domains.battery.ours import Choice

SYNTHETIC_IS_NO_EVIDENCE = (
    "Synthetic fleet: the class counts, the one cell that SLED calls “low”, and the direction of the early change that"
    " tells the classes apart (hence our own method's score) are built in. It shows the mechanism; it is no evidence."
)

OURS_IS_CHOSEN = (
    "Our method weighs both classes alike, scores by log-loss and uses only changes within a cell; its features and"
    " penalty were chosen by leaving out one training cell at a time; no test cell had a part in that."
)


def slev_reason(answer: Answer, classes: np.ndarray) -> str:
    """Why SLEV's cross-validation took the C it took, and what that did to its answer."""
    detail = answer.detail
    scores, strengths = np.asarray(detail["scores"]), np.asarray(detail["strengths"])
    tied = np.flatnonzero(np.isclose(scores, scores.max(), rtol=0, atol=1e-9))
    low, high = int((classes == 0).sum()), int((classes == 1).sum())
    what = "accuracy" if detail["scoring"] == "accuracy" else "log-loss"
    best = abs(float(scores.max()))
    if len(tied) > 1:
        choice = (
            f"The {detail['folds']}-fold {what} is {best:.2f} for {len(tied)} of {len(scores)} values of C,"
            f" from {strengths[tied[0]]:.2g} to {strengths[tied[-1]]:.2g}; the tie goes to the smallest."
        )
    else:
        choice = f"The {detail['folds']}-fold {what} is best ({best:.2f}) at C = {detail['chosen']:.2g}, without a tie."
    weight = f"The weight of the feature becomes {float(detail['weights'][0]):.2g}"
    said_high = int(answer.predicted.sum())
    if said_high in (0, len(answer.predicted)):
        word = "high" if said_high else "low"
        result = (
            f"{weight}, so that it no longer matters, and all {len(answer.predicted)} cells are called “{word}”,"
            f" the class of {max(low, high)} of the {low + high} training cells."
        )
    else:
        result = f"{weight}, and {said_high} of {len(answer.predicted)} cells are called “high”."
    return f"{choice} {result}"


def sled_reason(answer: Answer, names: Sequence[str], lives: np.ndarray | None = None) -> str:
    """What SLED's answer consists of: how many cells it calls high, which not (with their lives, if known), and why."""
    total, high = len(answer.predicted), int(answer.predicted.sum())
    rising = int((answer.detail["rise"] > 0).sum())
    shifted = sum(1 for cell in answer.detail["fitted"] if cell.form == "lfc + y")
    curve = answer.detail["curve"]
    low = [
        name if lives is None else f"{name} (life {lives[place]:.0f})"
        for place, (name, says) in enumerate(zip(names, answer.predicted, strict=True))
        if not says
    ]
    exceptions = f"only {', '.join(low)} “low”" if 0 < len(low) <= 3 else f"{len(low)} “low”"
    text = (
        f"SLED calls {high} of {total} cells “high”, {exceptions}. In the first {answer.detail['horizon']} recorded"
        f" cycles the capacity of {rising} of {total} cells rises, while the base curve ({curve.base.name}) only falls;"
        f" “lfc + y” is taken for {shifted} cells."
    )
    if high >= 0.9 * total and rising >= 0.5 * total:
        text += (
            " The fitted life therefore runs to where the curve is flat (median"
            f" {np.median(np.asarray(answer.life)):.0f} cycles): this is nearly “always high”, not an estimate of life."
        )
    return text


def ours_reason(answer: Answer) -> str:
    """Which candidate our method took on these training cells, with the numbers that decided."""
    taken: Choice = answer.detail["chosen"]
    listed = "; ".join(
        f"{choice.candidate} {choice.loss:.3f} ± {choice.standard_error:.3f}" for choice in answer.detail["choices"]
    )
    return (
        f"{OURS_IS_CHOSEN} Left-out balanced log-loss: {listed}. Taken: {taken.candidate}, C = {taken.strength:.2g},"
        " the simplest within one standard error of the best."
    )
