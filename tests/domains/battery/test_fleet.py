"""The synthetic fleet: seeded, of the published shape, and close to the measured statistics it is calibrated to."""

from __future__ import annotations

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import SYNTHETIC, Fleet
from shortlong.domains.battery.features import early_capacities, high_life, log_variance
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.domains.battery.selection import average_rate, minutes_to_80, policy_family, select_cells


def test_same_seed_same_fleet_other_seed_other_fleet(synthetic: Fleet) -> None:
    again, other = synthetic_fleet(0), synthetic_fleet(1)
    np.testing.assert_array_equal(again.curves, synthetic.curves)
    assert again.cells.equals(synthetic.cells)
    assert again.capacity.equals(synthetic.capacity)
    assert not np.array_equal(other.lives, synthetic.lives)


def test_asking_for_other_curves_does_not_change_the_cells(synthetic: Fleet) -> None:
    few = synthetic_fleet(0, (4, 5))
    assert few.cells.equals(synthetic.cells)
    assert few.capacity.equals(synthetic.capacity)
    assert few.curves.shape == (124, 2, 1000)


def test_impossible_cycles_are_refused() -> None:
    with pytest.raises(UserError, match="cycles 2 to 100"):
        synthetic_fleet(0, (1, 5))


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_the_measured_ones(seed: int) -> None:
    fleet = synthetic_fleet(seed, (4, 5))
    training, test = fleet.split()
    assert fleet.label == SYNTHETIC
    assert (len(training), int((high_life(training.lives) == 0).sum())) == (41, 21)
    assert (len(test), int((high_life(test.lives) == 0).sum())) == (83, 22)


def test_lives_match_the_batches(synthetic: Fleet) -> None:
    batch = synthetic.cells["batch"].to_numpy()
    medians = [np.median(synthetic.lives[batch == number]) for number in (1, 2, 3)]
    np.testing.assert_allclose(medians, (842, 481, 965), rtol=0.05)
    assert 140 <= synthetic.lives.min() <= 190
    assert 1500 <= synthetic.lives.max() <= 2300


def test_policies_take_the_time_they_should(synthetic: Fleet) -> None:
    minutes, batch = minutes_to_80(synthetic.cells), synthetic.cells["batch"].to_numpy()
    assert 8.4 <= minutes[batch == 1].min() <= minutes[batch == 1].max() <= 13.6
    slow = synthetic.cells["policy"].isin(["1C(4%)-6C", "2C(10%)-6C", "3.6C(30%)-6C", "2C(7%)-5.5C"]).to_numpy()
    assert np.abs(minutes[(batch == 2) & ~slow] - 10).max() < 0.25  # the written policy is rounded
    assert np.abs(minutes[batch == 3] - 10.3).max() < 0.8


def test_capacity_fades_as_measured(synthetic: Fleet) -> None:
    wanted = {0.1: 0.006, 0.3: 0.045, 0.5: 0.105, 0.7: 0.214, 0.8: 0.337, 0.9: 0.600, 0.95: 0.787}
    for used, loss in wanted.items():
        found = []
        for name, life in zip(synthetic.names, synthetic.lives, strict=True):
            cycles, values = synthetic.capacities[name]
            fresh = values.max()
            found.append((fresh - np.interp(used * life, cycles, values)) / (fresh - 0.88))
        assert abs(np.median(found) - loss) < 0.06, used
    fresh_by_batch = synthetic.capacity.groupby("cell")["qd_ah"].max()
    batch = synthetic.cells.set_index("cell")["batch"]
    means = fresh_by_batch.groupby(batch).mean()
    np.testing.assert_allclose(means, (1.083, 1.077, 1.069), atol=0.004)


def test_capacity_rises_at_first_and_ends_at_the_end_of_life(synthetic: Fleet) -> None:
    early = early_capacities(synthetic, 40)
    rise = early.max(axis=1) - early[:, 0]
    assert 0.001 < np.median(rise) < 0.0045
    last = synthetic.capacity.groupby("cell")["qd_ah"].last()
    assert (last - 0.8799).abs().max() < 5 * 6e-5
    assert list(synthetic.capacity.groupby("cell")["cycle"].min().unique()) == [2]


def test_early_change_tells_of_life_as_measured(synthetic: Fleet) -> None:
    log_life = np.log10(synthetic.lives)
    late, early = log_variance(synthetic, (10, 100)) / np.log(10), log_variance(synthetic) / np.log(10)
    assert np.corrcoef(late, log_life)[0, 1] < -0.9  # measured -0.93
    assert -0.85 < np.corrcoef(early, log_life)[0, 1] < -0.5  # measured -0.69
    batch = synthetic.cells["batch"].to_numpy()
    means = [early[batch == number].mean() for number in (1, 2, 3)]
    np.testing.assert_allclose(means, (-6.26, -5.25, -6.82), atol=0.6)
    assert means[1] > means[0] > means[2] - 0.05


def test_the_measured_fleet_has_the_statistics_the_calibration_names(measured: Fleet) -> None:
    log_life = np.log10(measured.lives)
    late, early = log_variance(measured, (10, 100)) / np.log(10), log_variance(measured) / np.log(10)
    slope, level = np.polyfit(log_life, late, 1)
    assert (round(slope, 2), round(level, 2)) == (-2.03, 1.97)
    assert round(np.corrcoef(early, log_life)[0, 1], 3) == -0.688
    assert round(np.corrcoef(late, log_life)[0, 1], 3) == -0.927


def test_cells_can_be_picked_by_action(synthetic: Fleet) -> None:
    families = policy_family(synthetic.cells)
    assert set(families) == {"one step", "fast first", "slow first"}
    slow = select_cells(synthetic, batches=[2], families=["slow first"])
    assert (slow.cells["c1"] < slow.cells["c2"]).all()
    assert (slow.cells["batch"] == 2).all()
    gentle = select_cells(synthetic, rate=(0, 4.5))
    assert average_rate(gentle.cells).max() < 4.5
    assert select_cells(synthetic, splits=["train"], life=(0, 700)).lives.max() < 700
    with pytest.raises(UserError, match="no policy family"):
        select_cells(synthetic, families=["three steps"])
    with pytest.raises(UserError, match="No cell"):
        select_cells(synthetic, rate=(50, 60))


def test_average_rate_of_a_one_step_policy_is_its_rate(synthetic: Fleet) -> None:
    one = synthetic.cells[policy_family(synthetic.cells) == "one step"]
    np.testing.assert_allclose(average_rate(one), one["c1"])
