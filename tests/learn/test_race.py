"""The race drops what trails clearly and spares what is catching up."""

import numpy as np
import pytest

from shortlong.learn.race import trailing

FOLDS = np.array([-0.2, 0.0, 0.2])  # some folds are harder than others, for all settings alike
LUCK = np.array([[0.0, 0.0, 0.0], [0.01, 0.0, -0.01]])


def curve(*means):
    """Losses (setting, fold) at each look from the mean losses of two settings."""
    return [np.array(look)[:, None] + FOLDS + LUCK for look in means]


def test_clear_difference_is_dropped_and_luck_is_not():
    flat = [(1.0, 1.004), (1.0, 1.004), (1.0, 1.004), (1.0, 1.004)]
    never = np.zeros(2, dtype=bool)
    assert trailing(curve(*flat), never, margin=0.0, looks=20).tolist() == [False, True]
    assert trailing(curve(*flat), never, margin=1.0, looks=20).tolist() == [False, False]
    clear = [(1.0, 1.1)] * 4
    assert trailing(curve(*clear), never, margin=1.0, looks=20).tolist() == [False, True]


@pytest.mark.parametrize(("slowing", "dropped"), [(False, False), (True, True)])
def test_catching_up_at_a_constant_or_a_slowing_pace(slowing, dropped):
    """0.05 in the last two looks: 0.4 more by look 20 at that pace, 0.12 if each doubling gains as much again."""
    moving = curve((1.0, 1.4), (1.0, 1.35), (1.0, 1.33), (1.0, 1.3))
    never = np.zeros(2, dtype=bool)
    assert trailing(moving, never, margin=1.0, looks=20, slowing=slowing).tolist() == [False, dropped]


def test_what_has_left_is_no_measure_and_a_rival_is():
    still = curve((1.0, 1.1), (1.0, 1.1))
    assert trailing(still, np.array([True, False]), margin=1.0, looks=2).tolist() == [False, False]
    rival = 0.9 + FOLDS
    assert trailing(still, np.zeros(2, dtype=bool), margin=1.0, looks=2, to_beat=rival).tolist() == [True, True]
    assert trailing(still, np.zeros(2, dtype=bool), margin=1.0, looks=2, to_beat=rival + 1).tolist() == [False, True]
