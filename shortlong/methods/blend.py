"""Blend (ours): nothing but weights of the other methods, which their back-test gives; so it has nothing to fit.

``compute.blend`` makes the weights and ``Results`` shows the blend like any other method.
"""

from shortlong.core.errors import UserError
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Prefix, Trajectories
from shortlong.methods.base import Method, Prepared


class Blend(Method):
    """Cannot be run alone: it is made from the results of other methods."""

    def __init__(self, seed: int = 0):
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        raise UserError("The blend is made from the back-tests of other methods; run at least two of them.")
