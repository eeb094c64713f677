"""What is worked out once for all sessions."""

import threading

import pytest

from shortlong.compute.results import Results, open_shipped
from shortlong.scenario.presets import preset
from shortlong.ui.kept import Kept, once_per_results


def test_the_latest_answers_are_kept_and_others_worked_out_again():
    kept, worked = Kept[str](2), []

    def ask(key: str) -> str:
        return kept.get(key, lambda: worked.append(key) or key.upper())

    assert [ask("a"), ask("b"), ask("a"), ask("c"), ask("a"), ask("b")] == ["A", "B", "A", "C", "A", "B"]
    assert worked == ["a", "b", "c", "b"], "a was asked for again before c came, so b went"


def test_many_who_ask_at_once_wait_for_one_answer():
    kept, started, go_on, answers = Kept[object](2), [], threading.Event(), []

    def work() -> object:
        started.append(True)
        go_on.wait(10)
        return object()

    people = [threading.Thread(target=lambda: answers.append(kept.get("same", work))) for _ in range(8)]
    for person in people:
        person.start()
    go_on.set()
    for person in people:
        person.join(10)
    assert len(started) == 1
    assert len(answers) == 8
    assert len(set(map(id, answers))) == 1


def test_a_failure_is_not_kept():
    kept, answers = Kept[int](2), iter([ValueError("not yet"), 7])

    def work() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match="not yet"):
        kept.get("x", work)
    assert kept.get("x", work) == 7


def test_results_are_told_apart_by_their_content_and_choices_by_their_value():
    worked = []

    @once_per_results(8)
    def count(view: Results, methods: list[str], level: float | None = None) -> int:
        worked.append((view.scenario.preset, tuple(methods), level))
        return len(worked)

    demo, other = (open_shipped(preset(name)) for name in ("hiv-demo", "kidney-demo"))
    again = open_shipped(preset("hiv-demo"))
    assert demo is not None
    assert other is not None
    assert again is not None
    first = count(demo, ["slev", "sled"])
    assert count(again, ["slev", "sled"]) == first
    others = [count(demo, ["sled"]), count(other, ["slev", "sled"]), count(demo, ["slev", "sled"], level=0.9)]
    assert len({first, *others}) == 4
