"""How much too small are back-test errors of methods whose own folds also chose their setting?

SLEV and cohort SLEV give their fold models away as a back-test; these models chose setting and stopping on the held-out
fold. Here the same policies are judged by a method that was fitted again without them. Prints both errors and their ratio.

    python -m benchmarks.own_folds [PRESET ...]
"""

import argparse

import numpy as np

from shortlong.compute.answers import dataset_in_memory
from shortlong.compute.left_out import folds_of
from shortlong.core.metrics import rmse
from shortlong.core.trajectories import Trajectories
from shortlong.methods import METHODS
from shortlong.scenario import load_scenario

FOLDS = 5


def errors(preset: str, method: str, horizon: int) -> tuple[float, float]:
    """Errors of the values of old policies: by the method's own folds, and by fits without the judged policies."""
    scenario = load_scenario(preset)
    data = dataset_in_memory(scenario.data)
    train, test = data.train, data.test
    assert isinstance(train, Trajectories)
    assert isinstance(test, Trajectories)

    def new():  # type: ignore[no-untyped-def]
        return METHODS[method].load()(**scenario.settings.get(method, {}), seed=0)

    prefix = test.prefix(horizon)
    own = new().fit(train, prefix).by_own_folds(train, prefix)
    again = np.empty(train.policy_count)
    for fold in folds_of(scenario.domain, scenario.data, train.labels, "policy", FOLDS):
        judged = train.select(fold.judged)
        seen = judged.prefix(horizon)
        again[list(fold.judged)] = judged.mean_by_policy(new().fit(train.select(fold.learned), seen).predict(seen))
    return rmse(train.mean_by_policy(own.old), train.values), rmse(again, train.values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", metavar="PRESET", default=["hiv-demo", "kidney-demo"])
    for preset in parser.parse_args().presets:
        for method in ("slev", "cohort_slev"):
            for horizon in load_scenario(preset).horizons[::2]:
                own, again = errors(preset, method, horizon)
                print(
                    f"{preset} {method} horizon {horizon}: own folds {own:.4g}, fitted again {again:.4g}, ratio {own / again:.3f}"
                )


if __name__ == "__main__":
    main()
