"""Whom to trust, from the history alone: methods compared on old policies that their models had not seen.

Nothing here looks at the new policies' outcomes, so that everything could have been known at the time. Placebos are smoke
alarms: they say when skill is not skill.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.analysis.headline import BASELINE
from shortlong.core.calibration import Calibration, Floats, errors_at
from shortlong.core.metrics import ordered_pairs, regret, rmse

NOISE = 2.0  # standard errors within which a difference is called noise
UNLIKELY = 0.05  # share of exchanges up to which skill is not called chance
LEAST_PER_FOLD = 3  # policies: fewer can hardly be exchanged
EXCHANGED = [
    "method",
    "policies",
    "error",
    "exchanged_error",
    "as_good",
    "exchanges",
    "p_value",
    "same_for_all",
    "no_skill",
]
COMPARED = [
    "method",
    "policies",
    "error",
    "difference",
    "standard_error",
    "within_two_se",
    "regret",
    "ordered_pairs",
]


def compare_methods(calibration: Calibration, horizon: int, methods: Sequence[str] | None = None) -> pd.DataFrame:
    """Methods on the history at one horizon, the one that the history would choose first.

    Columns: method, policies, error (RMSE over its old policies), difference (of the errors, to the first, on the policies that
    both have), standard_error (of the difference, by leaving out one policy at a time), within_two_se (the history cannot
    tell it from the first), regret and ordered_pairs (of a choice among the old policies).
    """
    errors = errors_at(calibration, horizon, methods)
    if errors.empty:
        return pd.DataFrame(columns=COMPARED)
    first = _lowest(errors)
    here = calibration.held_out[calibration.held_out["horizon"] == horizon]
    rows = []
    for method in errors.columns:
        own = here[(here["method"] == method) & np.isfinite(here["predicted"])]
        difference, standard_error = _difference(errors[method].to_numpy(), errors[first].to_numpy())
        rows.append(
            {
                "method": str(method),
                "policies": len(own),
                "error": rmse(own["predicted"], own["true"]),
                "difference": difference,
                "standard_error": standard_error,
                "within_two_se": not difference > NOISE * standard_error,  # also where nothing is known
                "regret": regret(own["predicted"], own["true"]),
                "ordered_pairs": ordered_pairs(own["predicted"], own["true"]),
            }
        )
    table = pd.DataFrame(rows, columns=COMPARED)
    table["ordered_pairs"] = pd.to_numeric(table["ordered_pairs"])
    place = (table["method"] != first).astype(int)
    return table.assign(place=place).sort_values(["place", "error"], kind="stable", ignore_index=True)[COMPARED]


def chosen_by_history(calibration: Calibration, horizon: int, methods: Sequence[str] | None = None) -> str | None:
    """The method that the history alone would have chosen; None where no method is calibrated at this horizon."""
    errors = errors_at(calibration, horizon, methods)
    return None if errors.empty else _lowest(errors)


def _lowest(errors: pd.DataFrame) -> str:
    """The lowest error on the policies that all methods have, so that nobody wins by easier policies; ties by order."""
    shared = errors.dropna()
    squares = np.square(shared if len(shared) > 1 else errors).mean()
    return str(squares.idxmin())


def _difference(errors: Floats, reference: Floats) -> tuple[float, float]:
    """Difference of two typical errors on the policies that both have, and its jackknife standard error over policies."""
    both = np.isfinite(errors) & np.isfinite(reference)
    squares = np.square(np.stack([errors[both], reference[both]]))
    count = squares.shape[1]
    if count < 2:
        return (float(np.subtract(*np.sqrt(squares.mean(axis=1)))) if count else np.nan), np.nan
    without = np.sqrt(np.maximum(squares.sum(axis=1, keepdims=True) - squares, 0.0) / (count - 1))
    left_out = without[0] - without[1]
    standard_error = np.sqrt((count - 1) / count * np.square(left_out - left_out.mean()).sum())
    return float(np.subtract(*np.sqrt(squares.mean(axis=1)))), float(standard_error)


# --- what the choice would have cost, where the truth is known ---------------------------------------------------------
def cost_of_choice(calibration: Calibration, values: pd.DataFrame, horizon: int) -> pd.DataFrame:
    """What the history would have chosen beside the best in hindsight: error and regret on the *new* policies.

    ``values`` has method, horizon, policy, predicted and true, averaged over seeds. Columns: method, error, regret,
    ordered_pairs, chosen_by_history, best_in_hindsight, extra_error (over the best in hindsight); lowest error first.
    """
    here = values[values["horizon"] == horizon]
    groups = {str(name): rows for name, rows in here.groupby("method", sort=False, observed=True)}
    chosen = chosen_by_history(calibration, horizon, list(groups))
    table = pd.DataFrame(
        [
            (
                m,
                rmse(g["predicted"], g["true"]),
                regret(g["predicted"], g["true"]),
                ordered_pairs(g["predicted"], g["true"]),
            )
            for m, g in groups.items()
        ],
        columns=["method", "error", "regret", "ordered_pairs"],
    ).sort_values("error", kind="stable", ignore_index=True)
    return table.assign(
        chosen_by_history=table["method"] == chosen,
        best_in_hindsight=table["error"] == table["error"].min(),
        extra_error=table["error"] - table["error"].min(),
    )


# --- placebos -------------------------------------------------------------------------------------------------------
def exchanged_starts(calibration: Calibration, horizon: int, exchanges: int = 199, seed: int = 0) -> pd.DataFrame:
    """Placebo: each old policy gets the prediction made for another one; that must destroy the skill of a method.

    Exchanged is within folds, where the same model made all predictions; among all policies where folds are too small for
    that. A method whose error is not lower than nearly all exchanged ones has no skill that could be told from chance. Columns:
    method, policies, error, exchanged_error (mean), as_good (exchanges with an error as low), exchanges, p_value,
    same_for_all (nothing to exchange), no_skill.
    """
    dense, rows = calibration.dense, []
    errors = errors_at(calibration, horizon)
    at = dense.horizons.get_loc(horizon) if len(errors.columns) else 0
    for method in errors.columns:
        place = dense.methods.get_loc(method)
        known = np.isfinite(dense.predicted[place, at])
        guess, truth = dense.predicted[place, at][known], dense.true[place, at][known]
        if len(guess) < 2:
            continue
        order = _exchanges(dense.fold[place, at][known], exchanges, np.random.default_rng(seed))
        placebo = np.sqrt(np.square(truth - guess[order]).mean(axis=1))
        error = rmse(guess, truth)
        as_good = int((placebo <= error * (1 + 1e-12)).sum())
        p_value = (1 + as_good) / (1 + exchanges)
        same = method == BASELINE or bool((guess[order] == guess).all())
        no_skill = not same and p_value > UNLIKELY
        rows.append((str(method), len(truth), error, placebo.mean(), as_good, exchanges, p_value, same, no_skill))
    return pd.DataFrame(rows, columns=EXCHANGED)


def _exchanges(fold: NDArray[np.int64], repeats: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """(repeat, policy) random orders within folds; over all policies where folds have fewer than three on average."""
    groups = fold if len(fold) >= LEAST_PER_FOLD * len(np.unique(fold)) else np.zeros_like(fold)
    keys = generator.random((repeats, len(fold))) + groups  # folds are whole numbers, keys add less than one
    return _places_by_group(groups, np.argsort(keys, axis=1))


def _places_by_group(groups: NDArray[np.int64], shuffled: NDArray[np.int64]) -> NDArray[np.int64]:
    """Both sides sorted by group: the i-th policy of a group gets the i-th of the same group in random order."""
    order = np.empty_like(shuffled)
    order[:, np.argsort(groups, kind="stable")] = shuffled
    return order


def shuffled_outcomes(placebo: Calibration, horizon: int, baseline: str = BASELINE) -> pd.DataFrame:
    """Placebo: models fitted to outcomes shuffled among policies must be about as wrong as the historical average.

    ``placebo`` is a calibration made from shuffled outcomes; its ``true`` are the shuffled ones. A method that is better than
    the average by more than two standard errors knows something that it cannot know. Columns: method, policies, error,
    baseline_error, difference, standard_error, alarm.
    """
    errors = errors_at(placebo, horizon)
    average = _average_errors(placebo, horizon, baseline)
    rows = []
    for method in errors.columns:
        if method == baseline:
            continue
        own = errors[method].to_numpy()
        difference, standard_error = _difference(own, average)
        both = np.isfinite(own) & np.isfinite(average)
        error, reference = (
            float(np.sqrt(np.square(values[both]).mean())) if both.any() else np.nan for values in (own, average)
        )
        alarm = bool(difference < -NOISE * standard_error)
        rows.append((str(method), int(both.sum()), error, reference, difference, standard_error, alarm))
    names = ["method", "policies", "error", "baseline_error", "difference", "standard_error", "alarm"]
    return pd.DataFrame(rows, columns=names)


def _average_errors(calibration: Calibration, horizon: int, baseline: str) -> Floats:
    """Errors of the historical average; where it was not calibrated, of the mean of all other policies."""
    errors = errors_at(calibration, horizon)
    if baseline in errors.columns:
        return errors[baseline].to_numpy()
    dense = calibration.dense
    true = np.nanmax(dense.true[:, dense.horizons.get_loc(horizon)], axis=0)
    count = np.isfinite(true).sum()
    return true - (np.nansum(true) - true) / max(count - 1, 1)
