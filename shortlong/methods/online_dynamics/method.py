"""The online dynamics model, the paper's on-policy baseline (section 5.2, appendix A.2 and A.3).

For every new policy a network (state, action) -> next state is learned from that policy's observed steps alone, then run
on to the end under the policy itself; the known reward of the predicted states is summed up. Histories are not used.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.hashing import seed_of
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Floats, Policy, Prefix, Trajectories
from shortlong.learn.features import chosen_normalisation, normalised_states
from shortlong.learn.folds import folds_by_policy
from shortlong.methods.base import Method, Prepared
from shortlong.methods.online_dynamics.rollout import Ensemble, Rollout, StateRange, roll_out
from shortlong.methods.online_dynamics.sizes import SIZES, SearchSize, printed

if TYPE_CHECKING:
    from shortlong.learn.stacked_mlp import FittedStack

Settings = Sequence[tuple[float, float]]  # learning rate and weight decay

RACE_MARGIN, RACE_AFTER = 1.0, 500  # standard errors and steps: settings that clearly lose leave the search
ROLLOUT_WORK = 3.0  # a rollout takes about as long as the training of this many networks


class OnlineDynamics(Method):
    """A network per new policy from its prefix alone, run on under that policy.

    1. choose learning rate and weight decay by held-out units of the prefix, 2. per policy train one network per fold and
    take the mean of their outputs as the model, 3. run on from the last observed state, kept within the range of the prefix
    widened by ``margin`` times its width, and sum rewards.

    The paper searches its grid for every policy. By default (``choice="shared"``) a few policies are searched, on fewer
    folds, and all get the setting with the smallest geometric mean of held-out losses; ``choice="each"`` searches for every
    policy. On HIV (six policies of the demo, printed grid, horizons 20 and 50) the setting chosen on four policies had, on
    the other two, a held-out loss at most 2 % above that of their own best setting, 0.03 of its standard error.
    """

    def __init__(
        self,
        size: str = "standard",
        hidden: str = "auto",
        normalisation: str = "paper",
        predicts: str = "state",
        choice: str = "shared",
        margin: float = 1.0,
        seed: int = 0,
    ):
        self.size = size  # "demo", "standard" or "paper": grid, folds and steps
        self.hidden = hidden  # widths of hidden layers such as "20-10-10"; "auto": the paper's for the domain
        self.normalisation = normalisation  # of states: "paper", "log10" or "auto"
        self.predicts = predicts  # "state": the next state, as the paper's; "change": what is added to the state
        self.choice = choice  # "shared": one setting for all policies; "each": every policy its own
        self.margin = margin  # how far predicted states may leave the range of the prefix, in widths of that range
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        policies = self._check(test)
        system, size = test.system, SIZES[self.size]
        self.how_ = chosen_normalisation(system, self.normalisation)
        self.hidden_ = _widths(self.hidden, system.small_networks)
        grid = size.grid(system.small_networks)
        self.searched_ = self._choose_searched(test.policy_count, size)
        networks = size.folds if self.searched_ else size.folds * len(grid)
        searched = len(self.searched_) * len(grid) * size.search_folds
        work = _Work(progress, searched + test.policy_count * (networks + ROLLOUT_WORK))
        settings = grid
        if self.searched_:
            stacks = [self._train(test, i, grid, size.search_folds, True, work) for i in self.searched_]
            settings = [grid[_best_of_all(stacks)]]
        self.rewards_ = np.empty((*test.rewards.shape[:2], system.steps - test.horizon), dtype=np.float32)
        self.per_policy_: list[dict[str, Any]] = []
        for i in range(test.policy_count):
            stack = self._train(test, i, settings, size.folds, len(settings) > 1, work)
            rollout = self._roll_out(test, i, policies[i], stack, work)
            own = test.rows_of(i)
            self.rewards_[own] = rollout.rewards.reshape(self.rewards_[own].shape)
            self.per_policy_.append(_facts(stack, rollout))
        self.course_ = test.mean_by_policy(self.rewards_, (0, 1)).astype(np.float32)
        self.labels_, self.policy_ = test.labels, test.policy
        self.last_states_ = test.states[:, :, -1].copy()

    def _predict(self, test: Prefix) -> Floats:
        same = test.labels == self.labels_ and np.array_equal(test.policy, self.policy_)
        if not same or not np.array_equal(test.states[:, :, -1], self.last_states_):
            raise UserError("Online dynamics was fitted for other policies or other states; fit it again for these.")
        seen = test.rewards.sum(axis=-1, dtype=np.float64)
        return (seen + self.rewards_.sum(axis=-1, dtype=np.float64)).mean(axis=1)

    def details(self) -> dict[str, Any]:
        return {
            "normalisation": self.how_,
            "hidden": list(self.hidden_),
            "searched": [self.labels_[i] for i in self.searched_] or "each policy",
            **{name: [facts[name] for facts in self.per_policy_] for name in self.per_policy_[0]},
        }

    def artefacts(self) -> dict[str, np.ndarray]:
        """The predicted course: mean reward over units and rollouts for every step after the horizon, per policy."""
        return {"rollout_rewards": self.course_}

    def _check(self, test: Prefix) -> Sequence[Policy]:
        for name, allowed in (("size", SIZES), ("predicts", ("state", "change")), ("choice", ("shared", "each"))):
            if getattr(self, name) not in allowed:
                choices = ", ".join(allowed)
                raise UserError(f"Online dynamics knows no {name} {getattr(self, name)!r}; choose one of {choices}.")
        if not 0 <= self.margin < np.inf:
            raise UserError(f"The margin of online dynamics is {self.margin}; give a number of 0 or more.")
        if test.horizon < 1 or min(test.unit_counts) * test.rollout_count * test.horizon < 2:
            raise UserError("Online dynamics learns from observed steps and needs at least two; watch longer.")
        if test.system.reward_of_states is None:
            raise UserError("Online dynamics needs a known reward for every state; this domain does not give one.")
        if test.policies is None:
            raise UserError("Online dynamics must ask policies what they would do, but these come without.")
        return test.policies

    def _choose_searched(self, policies: int, size: SearchSize) -> list[int]:
        """Numbers of the policies on which the shared setting is chosen; none if each policy chooses its own."""
        if self.choice == "each":
            return []
        generator = np.random.default_rng(seed_of("online dynamics search", self.seed))
        return sorted(generator.permutation(policies)[: size.searched].tolist())

    def _train(
        self, test: Prefix, policy: int, settings: Settings, folds: int, race: bool, work: "_Work"
    ) -> "FittedStack":
        """One network per setting and fold of a policy's units."""
        from shortlong.learn.narrow_stack import fit_narrow_stack
        from shortlong.learn.stacked_mlp import TrainingPlan

        size = SIZES[self.size]
        own = test.rows_of(policy)
        states = normalised_states(test.states[own], test.system, self.how_)
        before, after = states[:, :, :-1], states[:, :, 1:]
        inputs = np.concatenate([before, test.actions[own]], axis=-1, dtype=np.float32)
        targets = after - before if self.predicts == "change" else after
        return fit_narrow_stack(
            inputs.reshape(-1, inputs.shape[-1]),
            targets.reshape(-1, test.dim),
            fold_of_sample=_folds(before.shape[:3], folds, self.seed),
            settings=settings,
            plan=TrainingPlan(
                hidden=self.hidden_,
                steps=size.steps,
                patience=size.patience,
                race_margin=RACE_MARGIN if race else None,
                race_after=RACE_AFTER,
            ),
            seed=seed_of("online dynamics networks", self.seed, policy),
            progress=work.part(len(settings) * folds),
        )

    def _roll_out(self, test: Prefix, policy: int, asked: Policy, stack: "FittedStack", work: "_Work") -> Rollout:
        system, steps = test.system, test.system.steps - test.horizon
        own = test.rows_of(policy)
        seen = normalised_states(test.states[own], system, self.how_)
        return roll_out(
            Ensemble(_layers(stack), self.predicts == "change"),
            asked,
            test.states[own, :, -1].reshape(-1, test.dim),
            test.actions[own, :, -1].reshape(-1, test.actions.shape[-1]),
            steps,
            limits=StateRange.around(seen, self.margin, system, self.how_),
            system=system,
            how=self.how_,
            generator=np.random.default_rng(seed_of("online dynamics actions", self.seed, policy)),
            progress=work.part(ROLLOUT_WORK),
        )


class _Work:
    """Shares of the whole; the unit is the training of one network."""

    def __init__(self, progress: Progress, total: float):
        self.progress, self.total, self.done = progress, total, 0.0

    def part(self, amount: float) -> Progress:
        start = self.done
        self.done += amount
        return lambda share: self.progress(min(1.0, (start + amount * share) / self.total))


def _widths(hidden: str, small: bool) -> tuple[int, ...]:
    if hidden == "auto":
        return printed(small).hidden
    try:
        return tuple(int(width) for width in hidden.split("-"))
    except ValueError:
        raise UserError(
            f"Hidden layers {hidden!r} are not possible; give widths such as '20-10-10', or 'auto'."
        ) from None


def _folds(shape: tuple[int, ...], folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of every observed step (unit, rollout, time), flat: by unit, or by step if there is one unit only."""
    units = shape[0]
    if units == 1:
        return folds_by_policy(int(np.prod(shape)), folds, seed)
    return np.repeat(folds_by_policy(units, folds, seed), shape[1] * shape[2])


def _best_of_all(stacks: Sequence["FittedStack"]) -> int:
    """The setting with the smallest geometric mean over policies of the held-out loss; scales differ between policies.

    A setting that a race dropped for one policy counts with the loss that it had then.
    """
    losses = np.array([stack.validation_loss.mean(axis=1) for stack in stacks])
    return int(np.log(np.maximum(losses, np.finfo(np.float32).tiny)).mean(axis=0).argmin())


def _layers(stack: "FittedStack") -> tuple[np.ndarray, ...]:
    """Weights (fold, in, out) and biases (fold, 1, out) of the best setting's models."""
    models = slice(stack.best_setting, None, len(stack.settings))  # models are fold-major
    arrays = [values[models].numpy() for values in stack.parameters]
    turned = (array.transpose(0, 2, 1) if i == 0 or i % 2 else array for i, array in enumerate(arrays))
    return tuple(np.ascontiguousarray(array) for array in turned)


def _facts(stack: "FittedStack", rollout: Rollout) -> dict[str, Any]:
    best = stack.best_setting
    return {
        "learning_rate": stack.settings[best].learning_rate,
        "weight_decay": stack.settings[best].weight_decay,
        "held_out_rmse": round(float(np.sqrt(stack.validation_loss[best].mean())), 5),
        "steps_taken": int(stack.steps_taken[best].sum()),
        "kept_in_range": round(rollout.held, 4),
        "kept_in_range_at_top": round(rollout.held_at_top, 4),
    }
