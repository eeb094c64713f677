"""What every method has in common: scikit-learn manners, and no way past the observed horizon."""

from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from shortlong.core.calibration import HeldOut
from shortlong.core.errors import UserError
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Prefix, Trajectories
from shortlong.domains.base import Histories, Seen
from shortlong.methods.cards import Prepared

__all__ = ["Estimator", "HeldOut", "Method", "Prepared", "check_finite", "check_pair"]


H = TypeVar("H", bound=Histories)
S = TypeVar("S", bound=Seen)


class Estimator(BaseEstimator, Generic[H, S]):
    """What methods have in common, whatever container their domain has.

    ``__init__`` only stores keyword arguments; ``fit`` learns from full histories and may look at the prefixes to be judged
    (their distribution, their horizon), never beyond them; ``predict`` returns an array (episodes,).
    """

    def prepare(self, train: H, progress: Progress = quiet) -> Prepared:
        """Work that depends on the histories alone, shared by all horizons. Only for cards with ``prepares``."""
        return {}

    def fit(self, train: H, test: S, prepared: Prepared | None = None, progress: Progress = quiet) -> Self:
        self._check_pair(train, test)
        self._fit(train, test, prepared if prepared is not None else self.prepare(train, progress), progress)
        self._remember(test)
        self.horizon_ = test.horizon
        progress(1.0)
        return self

    def predict(self, test: S) -> NDArray[np.float64]:
        if not hasattr(self, "horizon_"):
            raise NotFittedError(f"{type(self).__name__}.predict was called before fit; call fit(train, test) first.")
        if test.horizon != self.horizon_:
            raise UserError(
                f"{type(self).__name__} was fitted at horizon {self.horizon_} and cannot predict at {test.horizon}; fit it again."
            )
        self._check_judged(test)
        predicted = np.asarray(self._predict(test), dtype=np.float64)
        if not np.isfinite(predicted).all():
            raise ArithmeticError(f"{type(self).__name__} predicted values that are not finite")
        return predicted

    def by_own_folds(self, train: H, test: S) -> HeldOut | None:
        """What fold models of this fitted method say of the old policies that they have not seen; None: it has no such
        models. Only for cards whose ``back_testing`` says "own folds"."""
        return None

    def details(self) -> dict[str, Any]:
        """What was chosen and noticed on the way, as JSON values; kept with the predictions."""
        return {}

    def artefacts(self) -> dict[str, np.ndarray]:
        """Arrays worth keeping beside the predictions, such as a rollout (policy, unit, time)."""
        return {}

    def _fit(self, train: H, test: S, prepared: Prepared, progress: Progress) -> None:
        raise NotImplementedError

    def _predict(self, test: S) -> Any:
        raise NotImplementedError

    def _check_pair(self, train: H, test: S) -> None:
        """Refuse what cannot be fitted."""
        raise NotImplementedError

    def _remember(self, test: S) -> None:
        """Keep what ``_check_judged`` compares with."""
        raise NotImplementedError

    def _check_judged(self, test: S) -> None:
        """Refuse prefixes that the fit does not serve."""
        raise NotImplementedError


class Method(Estimator[Trajectories, Prefix]):
    """Predicts the outcome of every episode of a prefix: of each unit under its policy."""

    def _check_pair(self, train: Trajectories, test: Prefix) -> None:
        check_pair(train, test)

    def _remember(self, test: Prefix) -> None:
        self.shape_ = _shape(test)

    def _check_judged(self, test: Prefix) -> None:
        _check_same_shape(self.shape_, _shape(test))
        check_finite("observed steps of the new policies", test)


def check_pair(train: Trajectories, test: Prefix) -> None:
    """Histories and prefixes must speak of the same system and hold finite numbers."""
    if train.policy_count == 0 or test.policy_count == 0:
        raise UserError("There are no policies to learn from or to judge; choose at least one of each.")
    _check_same_shape(_shape(train), _shape(test))
    check_finite("histories", train)
    check_finite("observed steps of the new policies", test)
    if not np.isfinite(train.returns).all():
        raise UserError("The outcomes of the histories contain values that are not finite; remove or repair them.")


def check_finite(name: str, runs: Trajectories | Prefix) -> None:
    if not all(np.isfinite(values).all() for values in (runs.states, runs.actions, runs.rewards)):
        raise UserError(f"The {name} contain values that are not finite; remove or repair them.")


def _shape(runs: Trajectories | Prefix) -> tuple[int, int, int]:
    """State variables, action variables and full length."""
    return runs.dim, runs.actions.shape[-1], runs.system.steps


def _check_same_shape(learned: tuple[int, int, int], judged: tuple[int, int, int]) -> None:
    if learned != judged:
        words = "{} state variables and {} action variables over {} steps"
        raise UserError(
            f"The histories have {words.format(*learned)}, the new policies {words.format(*judged)}; "
            f"both must come from the same domain."
        )
