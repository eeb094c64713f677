"""Joint dynamics (ours): what one step does is learned from the histories and from all new policies' first steps together.

The paper's online dynamics learns from one new policy's prefix alone, and its fitted Q never looks at it. Here the actions of a
step are an input, so that steps of all policies, old and new, teach one ensemble of networks; it is then played on from the last
observed state under each new policy, which is asked what it would do, and the known reward of the predicted states is summed up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.errors import UserError
from shortlong.core.hashing import seed_of
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Policy, Prefix, Trajectories, Transitions
from shortlong.learn.coverage import Familiar, KnownActions
from shortlong.learn.features import chosen_normalisation, normalised_states
from shortlong.methods.base import Method, Prepared
from shortlong.methods.joint_dynamics.sizes import BASE_RATE, KINDS, PREFIXES, SIZES, TUNING_RATE, JointSize
from shortlong.methods.online_dynamics.rollout import StateRange

if TYPE_CHECKING:
    from shortlong.learn.step_networks import StepNetworks
    from shortlong.methods.joint_dynamics.playing import Played

PREFIX_SHARE = 0.3  # of a minibatch while tuning; half of it are steps with a new action, if there are any
MOST_TOGETHER = 2_000  # rollouts, counted for every member, that are played side by side
MOST_WATCHED = 64  # predicted states of a policy, at every step, that are compared with observed ones


class JointDynamics(Method):
    """An ensemble s' = f(s, a) from histories and prefixes, played on under the new policies.

    1. ``prepare``: train the members on historical steps, 2. tune a copy with the prefixes, 3. play all rollouts of each new
    policy to the end with it, and see how many of the steps with a new action resemble observed ones.
    """

    def __init__(
        self,
        size: str = "standard",
        members: int | None = None,
        kinds: str = "both",
        prefixes: str = "always",
        normalisation: str = "auto",
        margin: float = 0.1,
        seed: int = 0,
    ):
        self.size = size  # "demo", "standard" or "paper"
        self.members = members  # networks of each kind; None: those of the size
        self.kinds = kinds  # "full", "ode" or "both"
        self.prefixes = prefixes  # whether the prefixes tune the members: "always" or "never"
        self.normalisation = normalisation  # of states: "paper", "log10" or "auto"
        self.margin = margin  # how far predicted states may leave the range of the data, in widths of that range
        self.seed = seed

    def prepare(self, train: Trajectories, progress: Progress = quiet) -> Prepared:
        """The members that know the histories alone, the actions and the range of states of the histories."""
        from shortlong.learn.step_networks import Frame, StepNetworks
        from shortlong.learn.step_training import Pool, Steps
        from shortlong.learn.step_training import train as train_networks

        size, how = self._size(), chosen_normalisation(train.system, self.normalisation)
        sample = self._sample(train, size)
        before, after = (normalised_states(s, train.system, how) for s in (sample.states, sample.next_states))
        generator = np.random.default_rng(seed_of("joint dynamics base", self.seed))
        each = self.members or size.members
        full, ode = (0 if self.kinds == other else each for other in ("ode", "full"))
        networks = StepNetworks.initial(Frame.of(before, sample.actions, after), size.hidden, full, ode, generator)
        error = train_networks(
            networks,
            [Pool(Steps.of(networks, before, sample.actions, after), 1.0)],
            updates=size.updates,
            batch=size.batch,
            rate=BASE_RATE,
            generator=generator,
            progress=progress,
        )
        known = KnownActions.of(_historical_actions(train))
        return networks.to_arrays() | {
            "error": np.array(error),
            "actions": known.actions,
            "action_range": np.stack([known.low, known.high]),
            "state_range": np.stack([f(np.concatenate([before, after]), axis=0) for f in (np.min, np.max)]),
        }

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        from shortlong.learn.step_networks import StepNetworks

        policies = _check(test)
        size, self.how_ = self._size(), chosen_normalisation(test.system, self.normalisation)
        self.base_error_ = float(prepared["error"])
        self.limits_ = self._limits(test, prepared["state_range"])
        base = StepNetworks.from_arrays(prepared)
        known = KnownActions(prepared["actions"], *prepared["action_range"])
        seen = _Seen.of(test, base, known, self.how_)
        work = _Work(progress, test.policy_count)
        networks, self.tuned_error_ = base, None
        if self.prefixes == "always" and len(seen.before):
            networks, self.tuned_error_ = self._tuned(train, base, seen, size, work)
        self.rewards_ = np.empty((test.episode_count, test.system.steps - test.horizon))
        values, held, self.coverage_ = [], [], []
        for some in self._together(test, networks.count):
            met = [_Met(seen, networks) for _ in some]
            played_on = self._play(test, some, policies, networks, met, work)
            for i, played in zip(some, played_on, strict=True):
                rows = test.rows_of(i)
                self.rewards_[rows] = _over_rollouts(played.rewards, test.rollout_count)
                observed = test.rewards[rows].sum(axis=-1, dtype=np.float64).mean()
                values.append(observed + played.by_member.mean(axis=1))
                held.append(played.held)
            self.coverage_ += [one.covered for one in met]
        self.member_values_, self.held_ = np.stack(values, axis=1), held
        self.by_policy_ = test.mean_by_policy(self.rewards_)
        self.labels_, self.policy_, self.last_states_ = test.labels, test.policy, test.states[:, :, -1].copy()

    def _predict(self, test: Prefix) -> Any:
        same = test.labels == self.labels_ and np.array_equal(test.policy, self.policy_)
        if not same or not np.array_equal(test.states[:, :, -1], self.last_states_):
            raise UserError("Joint dynamics was fitted for other policies or other states; fit it again for these.")
        return test.rewards.sum(axis=-1, dtype=np.float64).mean(axis=1) + self.rewards_.sum(axis=1)

    def details(self) -> dict[str, Any]:
        return {
            "normalisation": self.how_,
            "members": len(self.member_values_),
            "one_step_error": round(self.base_error_, 5),
            "one_step_error_with_prefixes": None if self.tuned_error_ is None else round(self.tuned_error_, 5),
            "coverage": [round(share, 4) for share in self.coverage_ if share is not None],
            "member_spread": [round(float(v), 4) for v in self.member_values_.std(axis=0)],
            "kept_in_range": [round(share, 4) for share in self.held_],
        }

    def artefacts(self) -> dict[str, np.ndarray]:
        """What pages draw.

        ``rollout_rewards`` (policy, L - l): the predicted course, mean over units, rollouts and members.
        ``member_values`` (member, policy): the value that each member predicts.
        ``coverage`` (policy,): share of the steps with a new action that resemble observed ones; -1 where a policy has none.
        """
        covered = [-1.0 if share is None else share for share in self.coverage_]
        return {
            "rollout_rewards": self.by_policy_.astype(np.float32),
            "member_values": self.member_values_,
            "coverage": np.array(covered),
        }

    def _size(self) -> JointSize:
        for name, allowed in (("size", tuple(SIZES)), ("kinds", KINDS), ("prefixes", PREFIXES)):
            if getattr(self, name) not in allowed:
                choices = ", ".join(allowed)
                raise UserError(f"Joint dynamics knows no {name} {getattr(self, name)!r}; choose one of {choices}.")
        if not 0 <= self.margin < np.inf:
            raise UserError(f"The margin of joint dynamics is {self.margin}; give a number of 0 or more.")
        return SIZES[self.size]

    def _sample(self, train: Trajectories, size: JointSize) -> Transitions:
        return train.sample_transitions(size.transitions, seed_of("joint dynamics steps", self.seed))

    def _limits(self, test: Prefix, known: Floats) -> StateRange:
        """Where predicted states are kept: the range of histories and prefixes, widened."""
        seen = normalised_states(test.states, test.system, self.how_).reshape(-1, test.dim)
        return StateRange.around(np.concatenate([seen, known]), self.margin, test.system, self.how_)

    def _tuned(
        self, train: Trajectories, base: "StepNetworks", seen: "_Seen", size: JointSize, work: "_Work"
    ) -> tuple["StepNetworks", float]:
        """A copy of the members that has also learned from the prefixes."""
        from shortlong.learn.step_training import Pool, Steps
        from shortlong.learn.step_training import train as train_networks

        tuned, old = base.copy(), self._sample(train, size)
        before, after = (normalised_states(s, train.system, self.how_) for s in (old.states, old.next_states))
        share = PREFIX_SHARE / 2 if seen.new.any() else PREFIX_SHARE
        pools = [
            Pool(Steps.of(tuned, before, old.actions, after), 1 - PREFIX_SHARE),
            Pool(Steps.of(tuned, seen.before, seen.actions, seen.after), share),
        ]
        if seen.new.any():
            pools.append(Pool(Steps.of(tuned, *(a[seen.new] for a in (seen.before, seen.actions, seen.after))), share))
        generator = np.random.default_rng(seed_of("joint dynamics tuning", self.seed))
        error = train_networks(
            tuned, pools, updates=size.tuning, batch=size.batch, rate=TUNING_RATE, generator=generator,
            progress=work.part(work.policies),
        )  # fmt: skip
        return tuned, error

    def _together(self, test: Prefix, members: int) -> Iterator[list[int]]:
        """The numbers of the policies, in groups that are played side by side: as many as keep memory small."""
        group: list[int] = []
        rollouts = 0
        for i, units in enumerate(np.bincount(test.policy, minlength=test.policy_count).tolist()):
            own = units * test.rollout_count * members
            if group and rollouts + own > MOST_TOGETHER:
                yield group
                group, rollouts = [], 0
            group, rollouts = [*group, i], rollouts + own
        if group:
            yield group

    def _play(
        self,
        test: Prefix,
        numbers: Sequence[int],
        policies: Sequence[Policy],
        networks: "StepNetworks",
        met: Sequence["_Met"],
        work: "_Work",
    ) -> list["Played"]:
        """Play the rollouts of some policies to the end."""
        from shortlong.methods.joint_dynamics.playing import Player, play_on

        players = [
            Player(
                policies[number],
                *self._last(test, number),
                np.random.default_rng(seed_of("joint dynamics actions", self.seed, number)),
                watch,
            )
            for number, watch in zip(numbers, met, strict=True)
        ]
        return play_on(
            networks,
            players,
            test.system.steps - test.horizon,
            limits=self.limits_,
            system=test.system,
            how=self.how_,
            progress=work.part(len(numbers)),
        )

    @staticmethod
    def _last(test: Prefix, number: int) -> tuple[Floats, Floats]:
        """The last observed states (n, dim) of a policy's rollouts, and the actions (n, action_dim) that led there."""
        rows, action_dim = test.rows_of(number), test.actions.shape[-1]
        states = test.states[rows, :, -1].reshape(-1, test.dim)
        first = np.array(test.system.first_action or (0.0,) * action_dim, np.float32)
        actions = test.actions[rows, :, -1] if test.horizon else np.broadcast_to(first, (len(states), action_dim))
        return states, actions.reshape(-1, action_dim)


@dataclass(frozen=True)
class _Seen:
    """The observed steps of all new policies, and which of them have a new action."""

    before: Floats  # (n, dim) normalised
    actions: Floats  # (n, action_dim)
    after: Floats  # (n, dim)
    new: NDArray[np.bool_]  # (n,)
    known: KnownActions
    amounts: bool  # actions are amounts, not a fixed choice
    familiar: Familiar | None  # None where no new action was observed

    @staticmethod
    def of(test: Prefix, networks: "StepNetworks", known: KnownActions, how: str) -> "_Seen":
        states = normalised_states(test.states, test.system, how)
        before, after = (part.reshape(-1, test.dim) for part in (states[:, :, :-1], states[:, :, 1:]))
        actions = test.actions.reshape(-1, test.actions.shape[-1])
        amounts = known.are_amounts(actions)
        new, familiar = known.new(actions, amounts), None
        if new.any():
            frame = networks.frame
            steps = np.concatenate([frame.standardise(before[new]), frame.scale_actions(actions[new])], axis=1)
            familiar = Familiar(steps, np.random.default_rng(0))
        return _Seen(before, actions, after, new, known, amounts, familiar)


class _Met:
    """The steps with a new action of one policy's rollouts: how many resemble observed ones."""

    def __init__(self, seen: _Seen, networks: "StepNetworks"):
        self._seen, self._frame = seen, networks.frame
        self._met = self._near = 0

    def __call__(self, states: NDArray[np.float32], actions: NDArray[np.float32]) -> None:
        """Look at some of the standardised states (n, dim) and actions (n, action_dim) of one step."""
        some = np.linspace(0, len(states) - 1, min(len(states), MOST_WATCHED)).astype(int)
        new = some[self._seen.known.new(actions[some], self._seen.amounts)]
        self._met += len(new)
        if len(new) and self._seen.familiar:
            steps = np.concatenate([states[new], self._frame.scale_actions(actions[new])], axis=1)
            self._near += int(self._seen.familiar.covers(steps).sum())

    @property
    def covered(self) -> float | None:
        """The share; None if the policy uses no new action."""
        return self._near / self._met if self._met else None


class _Work:
    """Shares of the whole; the unit is playing one policy to the end."""

    def __init__(self, progress: Progress, policies: int):
        self.progress, self.policies, self.done = progress, policies, 0.0

    def part(self, amount: float) -> Progress:
        start, total = self.done, 2.0 * self.policies
        self.done += amount
        return lambda share: self.progress(min(1.0, (start + amount * share) / total))


def _check(test: Prefix) -> Sequence[Policy]:
    if test.system.reward_of_states is None:
        raise UserError("Joint dynamics needs a known reward for every state; this domain does not give one.")
    if test.policies is None:
        raise UserError("Joint dynamics must ask policies what they would do, but these come without.")
    return test.policies


def _historical_actions(train: Trajectories) -> Floats:
    actions = train.actions.reshape(-1, train.actions.shape[-1])
    return actions if train.transitions is None else np.concatenate([actions, train.transitions.actions])


def _over_rollouts(values: Floats, rollouts: int) -> Floats:
    """(unit * rollout, steps) -> (unit, steps)"""
    return values.reshape(-1, rollouts, values.shape[-1]).mean(axis=1)
