"""The battery methods of the register: thin estimators around the functions beside them.

SLEV, SLED and naive Bayes as in the paper's battery table (section 5.3 and appendix), their relatives and our own. Of the
class they predict the probability of "high" (1 or 0 where a method only says which), of the life the number of cycles.
"""

from typing import Any

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress, quiet
from shortlong.domains.battery.features import high_life, log_variance
from shortlong.domains.battery.histories import CellHistories, CellPrefix
from shortlong.methods.base import Estimator, Prepared
from shortlong.methods.battery.classify import (
    Answer,
    always_high,
    life_regression,
    naive_bayes,
    slev,
    slev_shift_weighted,
)
from shortlong.methods.battery.curve_fit import SHIFTED, BaseCurve, fit_base_curve, sled
from shortlong.methods.battery.ours import balanced_slev
from shortlong.methods.battery.reasons import ours_reason, sled_reason, slev_reason, two_digits
from shortlong.methods.battery.slev_life import slev_regression

FEWEST_CELLS = 5  # a regression of life on fewer cells says nothing


class BatteryMethod(Estimator[CellHistories, CellPrefix]):
    """Predicts the outcome of every cell of a prefix.

    The answer is made in ``fit``, because it may depend on what was seen of the cells to be judged; ``predict`` gives it
    for these cells and refuses others.
    """

    def __init__(self, seed: int = 0):
        self.seed = seed

    def details(self) -> dict[str, Any]:
        """Why the answer is what it is, as JSON values; kept with the predictions."""
        return {"reason": self.reason_} if self.reason_ else {}

    def artefacts(self) -> dict[str, np.ndarray]:
        """The predicted lives, where the method has them."""
        return {} if self.answer_.life is None else {"life": np.asarray(self.answer_.life)[:, None]}

    def _fit(self, train: CellHistories, test: CellPrefix, prepared: Prepared, progress: Progress) -> None:
        self.answer_ = self._answer(train, test, prepared)
        self.reason_ = self._reason(self.answer_, train, test)

    def _check_pair(self, train: CellHistories, test: CellPrefix) -> None:
        _check_cells(train, test)

    def _remember(self, test: CellPrefix) -> None:
        self.fitted_on_ = test

    def _check_judged(self, test: CellPrefix) -> None:
        _check_same_question(self.fitted_on_, test)
        _check_finite("observed cycles of the new cells", test)
        if not test.same_as(self.fitted_on_):
            raise UserError(f"{type(self).__name__} was fitted for other cells than those given; fit it again.")

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        raise NotImplementedError

    def _reason(self, answer: Answer, train: CellHistories, test: CellPrefix) -> str:
        return ""

    def _predict(self, test: CellPrefix) -> Any:
        answer = self.answer_
        if test.outcome == "class":
            return answer.predicted if answer.probability is None else answer.probability
        if answer.life is None:
            raise UserError(f"{type(self).__name__} tells high from low and predicts no life; set data.outcome=class.")
        return answer.life


class BatterySlev(BatteryMethod):
    """SLEV: classes by LogisticRegressionCV on ln var(Q_b(V) - Q_a(V)); lives by least squares of ln life.

    For lives the features with the smallest left-out error among all that have been seen are taken.
    """

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        if test.outcome == "class":
            return slev(*_features(train, test))
        _check_enough(train)
        used, life = slev_regression(train.fleet, test.fleet, test.horizon)
        return Answer(high_life(life, test.threshold), None, life, {"features": used})

    def _reason(self, answer: Answer, train: CellHistories, test: CellPrefix) -> str:
        if test.outcome == "class":
            return slev_reason(answer, _classes(train))
        return f"Of all that was seen, {answer.detail['features']} had the smallest left-out error on training cells."


class SlevLogLoss(BatteryMethod):
    """SLEV with its penalty chosen by log-loss, which has no ties."""

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        return slev(*_features(train, test), scoring="neg_log_loss")

    def _reason(self, answer: Answer, train: CellHistories, test: CellPrefix) -> str:
        return slev_reason(answer, _classes(train))


class SlevShiftWeighted(BatteryMethod):
    """SLEV with every loss weighted by the density ratio of the new cells to the training cells."""

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        return slev_shift_weighted(*_features(train, test))

    def _reason(self, answer: Answer, train: CellHistories, test: CellPrefix) -> str:
        return (
            f"Weighted for shift, the {train.policy_count} training cells count like "
            f"{answer.detail['effective_cells']:.1f}; C = {two_digits(answer.detail['chosen'])}."
        )


class SlevBalanced(BatteryMethod):
    """Our own: balanced classes, log-loss, features and penalty chosen by leaving out one training cell at a time."""

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        return balanced_slev(train.fleet, _classes(train), test.fleet, test.curve_pair)

    def _reason(self, answer: Answer, train: CellHistories, test: CellPrefix) -> str:
        return ours_reason(answer)


class LifeRegression(BatteryMethod):
    """Least squares of ln life on ln var(Q_b(V) - Q_a(V)); "high" where that reaches the threshold."""

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        _check_enough(train)
        features, _, asked = _features(train, test)
        return life_regression(features, train.fleet.lives, asked, test.threshold)

    def artefacts(self) -> dict[str, np.ndarray]:
        """The predicted lives, and intercept and slope of the line."""
        return {**super().artefacts(), "coefficients": self.answer_.detail["coefficients"]}


class BatterySled(BatteryMethod):
    """SLED: one right-aligned capacity curve for all cells, moved in time to meet the cycles seen of each."""

    def prepare(self, train: CellHistories, progress: Progress = quiet) -> Prepared:
        return fit_base_curve(train.fleet).to_arrays()

    def artefacts(self) -> dict[str, np.ndarray]:
        """The base curve, and of each cell the fitted life, the vertical shift, and whether that form was chosen."""
        fitted = self.answer_.detail["fitted"]
        return {
            **super().artefacts(),
            **self.answer_.detail["curve"].to_arrays(),
            "shift": np.array([[cell.shift] for cell in fitted]),
            "shifted": np.array([[cell.form == SHIFTED] for cell in fitted]),
        }

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        return sled(BaseCurve.from_arrays(prepared), test.fleet, test.horizon, test.threshold)

    def _reason(self, answer: Answer, train: CellHistories, test: CellPrefix) -> str:
        return sled_reason(answer, test.fleet.names)


class NaiveBayes(BatteryMethod):
    """The majority class of the training cells; as a probability their share of "high"."""

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        return naive_bayes(_classes(train), test.policy_count)


class AlwaysHigh(BatteryMethod):
    """ "High" for every cell."""

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        return always_high(test.policy_count)


class BatteryMean(BatteryMethod):
    """The mean outcome of the training cells, for every cell alike."""

    def _answer(self, train: CellHistories, test: CellPrefix, prepared: Prepared) -> Answer:
        mean = np.full(test.policy_count, train.returns.mean())
        high = (mean >= (0.5 if test.outcome == "class" else test.threshold)).astype(int)
        return Answer(high, mean, None) if test.outcome == "class" else Answer(high, None, mean)


def _classes(train: CellHistories) -> np.ndarray:
    return high_life(train.fleet.lives, train.threshold)


def _features(train: CellHistories, test: CellPrefix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features and classes of the training cells, and the same features of the cells to be judged."""
    pair = test.curve_pair
    return log_variance(train.fleet, pair)[:, None], _classes(train), log_variance(test.fleet, pair)[:, None]


def _check_enough(train: CellHistories) -> None:
    if train.policy_count < FEWEST_CELLS:
        raise UserError(
            f"There are {train.policy_count} training cells; a regression of life needs at least {FEWEST_CELLS}. "
            "Loosen data.train or data.filter_below."
        )


def _check_cells(train: CellHistories, test: CellPrefix) -> None:
    """Training cells and prefixes must be of one kind and hold finite numbers."""
    if not isinstance(train, CellHistories) or not isinstance(test, CellPrefix):
        raise UserError("This method learns from battery cells; both sides must come from the battery domain.")
    if train.policy_count == 0 or test.policy_count == 0:
        raise UserError("There are no cells to learn from or to judge; choose at least one of each.")
    _check_same_question(train, test)
    _check_finite("histories", train)
    _check_finite("observed cycles of the new cells", test)


def _check_same_question(learned: CellHistories | CellPrefix, judged: CellPrefix) -> None:
    ours, theirs = ((cells.outcome, cells.threshold, cells.pair) for cells in (learned, judged))
    if ours != theirs or not np.array_equal(learned.fleet.voltage, judged.fleet.voltage):
        raise UserError("Training cells and new cells differ in outcome, threshold, pair or voltages; both must come "
                        "from the same domain.")  # fmt: skip


def _check_finite(name: str, cells: CellHistories | CellPrefix) -> None:
    parts = [cells.fleet.curves, cells.fleet.capacity["qd_ah"].to_numpy(dtype=float)]
    if isinstance(cells, CellHistories):
        parts.append(cells.fleet.lives)
    if not all(np.isfinite(values).all() for values in parts):
        raise UserError(f"The {name} contain values that are not finite; remove or repair them.")
