"""Turns of pages go to whoever used least, and messages come no faster than they may; no test here depends on the clock."""

import threading

import pytest

from shortlong.ui.fairness import LEVEL, Pace, Turns


def served_order(turns: Turns, owners: list[str]) -> list[str]:
    """In which order waiting pages run when the only place becomes free."""
    order: list[str] = []

    def page(owner: str) -> None:
        with turns.turn(owner):
            order.append(owner)

    pages = [threading.Thread(target=page, args=(owner,)) for owner in owners]
    with turns.turn("somebody else"):
        for number, one in enumerate(pages):
            one.start()
            while len(turns._waiting) <= number:  # one after the other
                pass
    for one in pages:
        one.join(60)
    return order


def test_who_used_much_comes_after_those_who_used_little():
    turns = Turns(1, 600)
    turns._charge("rude", 100 * LEVEL)
    assert served_order(turns, ["rude", "rude", "rude", "ada", "rude", "bob"]) == ["ada", "bob", *["rude"] * 4]


def test_those_who_used_alike_are_served_in_the_order_in_which_they_came():
    turns = Turns(1, 600)
    turns._charge("bob", LEVEL / 10)
    assert served_order(turns, ["bob", "ada", "eve"]) == ["bob", "ada", "eve"]


def test_many_pages_of_one_owner_do_not_take_every_place():
    turns = Turns(2, 600)
    order: list[str] = []

    def page() -> None:
        with turns.turn("ada"):
            order.append("ada")

    with turns.turn("rude"):
        with turns.turn("rude"):
            assert turns.busy() == 2
            one = threading.Thread(target=page)
            one.start()
            while not turns._waiting:
                pass
            assert order == []
        one.join(60)
        assert order == ["ada"]


@pytest.mark.parametrize("flood", [100, 1000])
def test_a_flood_of_messages_is_read_at_the_agreed_pace(flood: int):
    pace = Pace(rate=20, burst=40)
    delays = [pace.delay(1000.0) for _ in range(flood)]
    assert delays[:40] == [0.0] * 40
    assert delays[-1] == pytest.approx((flood - 40) / 20)
    assert pace.delay(1000.0 + flood) == 0.0, "after a pause nothing waits"
