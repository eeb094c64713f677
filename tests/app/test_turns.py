"""Pages take turns: few at a time, none for ever."""

import threading
import time

import pytest

from shortlong.ui import turns


def test_only_a_few_run_at_a_time_and_all_of_them_run(monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE", 60)
    running: list[int] = []
    most = []
    guard = threading.Lock()

    def page(number: int) -> None:
        with turns.turn():
            with guard:
                running.append(number)
                most.append(len(running))
            time.sleep(0.02)
            with guard:
                running.remove(number)

    pages = [threading.Thread(target=page, args=(number,)) for number in range(12)]
    for one in pages:
        one.start()
    for one in pages:
        one.join(30)
    assert len(most) == 12
    assert max(most) == turns.AT_A_TIME


def test_a_page_that_takes_long_or_fails_holds_up_nobody_for_ever(monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    with turns.turn(), turns.turn(), turns.turn():
        pass  # the third did not wait for the others to end
    for _ in range(turns.AT_A_TIME + 1):
        with pytest.raises(ZeroDivisionError), turns.turn():
            raise ZeroDivisionError
    monkeypatch.setattr(turns, "PATIENCE", 0)
    for _ in range(turns.AT_A_TIME):
        assert turns._places().acquire(blocking=False), "every place is free again"
    for _ in range(turns.AT_A_TIME):
        turns._places().release()
