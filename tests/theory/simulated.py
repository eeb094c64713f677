"""Simulated histories of exchangeable policies, hundreds at once: every history is a "method" of one calibration.

So one call of the real functions judges all histories, and the coverage of each is known exactly or from many new policies.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.core.calibration import Calibration, no_fold_predictions

Floats = NDArray[np.float64]
HISTORIES = 600


class Simulated(NamedTuple):
    calibration: Calibration
    new: pd.DataFrame  # predictions for the new policies, with what becomes of them


def table(predicted: Floats, true: Floats, side: str) -> pd.DataFrame:
    """Rows from predictions (history, look, policy) and outcomes (history, policy)."""
    histories, _, policies = predicted.shape
    history, look, policy = (a.ravel() for a in np.indices(predicted.shape))
    outcome = np.broadcast_to(true[:, None, :], predicted.shape).ravel()
    return pd.DataFrame(
        {
            "method": pd.Categorical.from_codes(history, [f"history {i}" for i in range(histories)]),
            "horizon": look + 1,
            "policy": pd.Categorical.from_codes(policy, [f"{side} {i}" for i in range(policies)]),
            "predicted": predicted.ravel(),
            "true": outcome,
        }
    )


def simulated(
    old: tuple[Floats, Floats],
    new: tuple[Floats, Floats],
    fold: Floats | None = None,
    by_fold: Floats | None = None,
    family: Floats | None = None,
    ratios: tuple[Floats, Floats] | None = None,
) -> Simulated:
    """A calibration from (predicted, true) of old and new policies; predicted (history, look, policy).

    ``by_fold`` is (history, look, fold, new policy); ``ratios`` of old and new policies are the same in all histories, because
    they belong to a horizon and a policy: histories with ratios of their own are put on looks of their own.
    """
    held_out = table(*old, "old")
    place = held_out["policy"].cat.codes.to_numpy()
    held_out = held_out.assign(
        fold=place if fold is None else np.asarray(fold)[place],
        family=place if family is None else np.asarray(family)[place],
    )
    rows = no_fold_predictions()
    if by_fold is not None:
        parts = [table(by_fold[:, :, k], new[1], "new").assign(fold=k) for k in range(by_fold.shape[2])]
        rows = pd.concat(parts, ignore_index=True)
    both = None
    if ratios is not None:
        both = pd.concat([_ratios(values, side) for values, side in zip(ratios, ("old", "new"), strict=True)])
    leave = "policy" if family is None else "family"
    return Simulated(Calibration(leave, held_out, rows, None, both), table(*new, "new"))


def _ratios(values: Floats, side: str) -> pd.DataFrame:
    """Ratios (look, policy)."""
    look, policy = (a.ravel() for a in np.indices(values.shape))
    return pd.DataFrame(
        {"horizon": look + 1, "policy": [f"{side} {i}" for i in policy], "side": side, "ratio": values.ravel()}
    )


def fitted(
    histories: int, policies: int, new: int, folds: int, seed: int, features: int = 3, looks: int = 1
) -> Simulated:
    """Policies whose value a least-squares model learns from features that are seen better at every look.

    Models of folds are fitted without the fold's policies; the full model to all old policies.
    """
    generator = np.random.default_rng(seed)
    total = policies + new
    signal = generator.normal(size=(histories, total, features))
    true = signal.sum(axis=2) + generator.standard_t(4, size=(histories, total)) * 0.7
    fold = np.arange(policies) % folds
    blur = generator.normal(size=(histories, looks, total, features))
    seen = signal[:, None] + np.cumsum(blur, axis=1) / np.arange(1, looks + 1)[:, None, None]
    seen = np.concatenate([seen, np.ones((*seen.shape[:3], 1))], axis=3)
    held, per_fold = np.empty((histories, looks, policies)), np.empty((histories, looks, folds, new))
    for k in range(folds):
        guess = seen @ _least_squares(seen[:, :, :policies][:, :, fold != k], true[:, None, :policies][:, :, fold != k])
        held[:, :, fold == k] = guess[:, :, :policies, 0][:, :, fold == k]
        per_fold[:, :, k] = guess[:, :, policies:, 0]
    full = seen[:, :, policies:] @ _least_squares(seen[:, :, :policies], true[:, None, :policies])
    return simulated((held, true[:, :policies]), (full[..., 0], true[:, policies:]), fold, per_fold)


def _least_squares(inputs: Floats, outcomes: Floats) -> Floats:
    """Coefficients (history, look, feature, 1), with a touch of ridge for histories shorter than the features."""
    square = np.swapaxes(inputs, -1, -2) @ inputs + 0.1 * np.eye(inputs.shape[-1])
    return np.linalg.solve(square, np.swapaxes(inputs, -1, -2) @ outcomes[..., None])


def kept(table: pd.DataFrame, together: str = "") -> tuple[float, float]:
    """Share of covered policies and its Monte Carlo standard error, histories being the independent cases.

    ``together`` "horizon": a policy counts as covered if it is at all looks; "family": a family, if all of its policies are.
    """
    covered = (table["lower"] <= table["true"]) & (table["true"] <= table["upper"])
    if together:
        case = table["family"] if together == "family" else table["policy"]
        covered = covered.groupby([table["method"], case], observed=True).all()
    share = (
        covered.groupby(level="method", observed=True).mean()
        if together
        else covered.groupby(table["method"], observed=True).mean()
    )
    return float(share.mean()), float(share.std() / np.sqrt(len(share)))
