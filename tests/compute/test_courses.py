"""Courses and members of ensembles, joined over seeds, from the store and as shipped."""

import numpy as np
import pytest

from shortlong.compute.courses import mean_course, member_table
from shortlong.compute.results import open_shipped
from shortlong.compute.store import Store
from shortlong.scenario.presets import preset


@pytest.fixture
def seeds(tmp_path):
    store = Store(tmp_path)
    for seed in (0, 1):
        values = np.array([[1.0, 2.0], [3.0, 4.0]]) + seed
        artefacts = {
            "rollout_rewards": np.full((2, 3), float(seed)),
            "member_values": values,
            "coverage": np.array([-1, 0.5]),
        }
        store.put(f"{seed}" * 64, "test", made_from={"seed": seed}, arrays={"artefacts": artefacts})
    return [store.get(entry.key) for entry in store.entries()]


def test_members_of_all_seeds_stand_together_and_familiar_steps_are_averaged(seeds):
    table = member_table(seeds)
    assert sorted(table.of(0).values) == [1, 2, 3, 4]
    assert table.of(0).familiar is None, "no step with a new action"
    assert table.of(1).familiar == 0.5
    np.testing.assert_allclose(mean_course(seeds), 0.5)
    assert member_table([None]) is None


@pytest.mark.parametrize("name", ["hiv-demo", "kidney-demo"])
def test_shipped_members_average_to_the_shipped_prediction(name):
    results = open_shipped(preset(name))
    rows = results.source.values
    for horizon in results.horizons:
        found = results.members("joint_dynamics", horizon)
        said = rows[(rows["method"] == "joint_dynamics") & (rows["horizon"] == horizon)].set_index("policy")[
            "predicted"
        ]
        assert set(found) == set(said.index.astype(str))
        for policy, members in found.items():
            assert members.values.mean() == pytest.approx(said[policy], rel=1e-4, abs=1e-4)
    assert results.members("slev", results.horizons[0]) == {}
