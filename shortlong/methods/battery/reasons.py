"""Explanations of the battery table, in sentences built from the numbers themselves.

The paper prints 26.5 % for SLEV and 74.6 % for SLED after filtering without further comment; beside the table we explain what
the fitted models did.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shortlong.methods.battery.classify import Answer
from shortlong.methods.battery.curve_fit import SHIFTED
from shortlong.methods.battery.ours import Choice

FEW_NAMES = 3  # so many cells are named one by one

SYNTHETIC_IS_NO_EVIDENCE = (
    "Simulated cells, for illustration only: the class counts, the one cell that SLED predicts to be short-lived and the early"
    " signal that separates the classes (hence our own method's score) are built in. Not evidence."
)

OURS_IS_CHOSEN = (
    "Our method gives both classes equal weight, is scored by log-loss and uses only changes within a cell; its features and"
    " penalty were selected by leave-one-out cross-validation on the training cells, without any test cell."
)


def two_digits(value: float) -> str:
    """0.00012 and 14000, without powers of ten."""
    return np.format_float_positional(value, precision=2, fractional=False, trim="-")


def slev_reason(answer: Answer, classes: np.ndarray) -> str:
    """Why SLEV's cross-validation selected its C, and the effect on its predictions."""
    detail = answer.detail
    scores, strengths = np.asarray(detail["scores"]), np.asarray(detail["strengths"])
    tied = np.flatnonzero(np.isclose(scores, scores.max(), rtol=0, atol=1e-9))
    low, high = int((classes == 0).sum()), int((classes == 1).sum())
    what = "accuracy" if detail["scoring"] == "accuracy" else "log-loss"
    best = abs(float(scores.max()))
    if len(tied) > 1:
        choice = (
            f"The {detail['folds']}-fold {what} is {best:.2f} for {len(tied)} of {len(scores)} values of C,"
            f" from {two_digits(strengths[tied[0]])} to {two_digits(strengths[tied[-1]])}; the tie is broken in favour of the smallest."
        )
    else:
        choice = f"The {detail['folds']}-fold {what} is best ({best:.2f}) at C = {two_digits(detail['chosen'])}, without a tie."
    weight = f"The feature's weight becomes {two_digits(float(detail['weights'][0]))}"
    said_high = int(answer.predicted.sum())
    if said_high in (0, len(answer.predicted)):
        word = "long-lived" if said_high else "short-lived"
        result = (
            f"{weight}, so it no longer matters: all {len(answer.predicted)} cells are predicted to be {word},"
            f" like {max(low, high)} of the {low + high} training cells."
        )
    else:
        result = f"{weight}, and {said_high} of {len(answer.predicted)} cells are predicted to be long-lived."
    return f"{choice} {result}"


def sled_reason(answer: Answer, names: Sequence[str]) -> str:
    """How many cells SLED predicts to be long-lived, which ones not, and why."""
    total, high = len(answer.predicted), int(answer.predicted.sum())
    rising = int((answer.detail["rise"] > 0).sum())
    shifted = sum(1 for cell in answer.detail["fitted"] if cell.form == SHIFTED)
    curve, (first, last) = answer.detail["curve"], answer.detail["cycles"]
    low = [name for name, says in zip(names, answer.predicted, strict=True) if not says]
    exceptions = f"only {', '.join(low)} short-lived" if 0 < len(low) <= FEW_NAMES else f"{len(low)} short-lived"
    text = (
        f"SLED predicts {high} of {total} cells to be long-lived, {exceptions}. From cycle {first} to {last}"
        f" the capacity of {rising} of {total} cells rises, while the base curve ({curve.base.name}) only falls;"
        f" the vertically shifted form (“{SHIFTED}”) is chosen for {shifted} cells."
    )
    if high >= 0.9 * total and rising >= 0.5 * total:
        text += (
            " The fitted life therefore moves to where the curve is flat (median"
            f" {np.median(np.asarray(answer.life)):.0f} cycles): in effect every cell is assumed to be long-lived, and life is not estimated."
        )
    return text


def ours_reason(answer: Answer) -> str:
    """Which candidate our method selected on these training cells, and on what numbers."""
    taken: Choice = answer.detail["chosen"]
    listed = "; ".join(
        f"{choice.candidate} {choice.loss:.3f} ± {choice.standard_error:.3f}" for choice in answer.detail["choices"]
    )
    return (
        f"{OURS_IS_CHOSEN} Cross-validated balanced log-loss: {listed}. Selected: {taken.candidate}, C = {two_digits(taken.strength)},"
        " the simplest within one standard error of the best."
    )
