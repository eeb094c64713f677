"""While something runs every page has a chip with its progress; its end is told once, also after a reload."""

import os
import time
from pathlib import Path

import pytest

from shortlong.scenario import Scenario
from shortlong.ui.jobs import Job
from shortlong.ui.results import jobs
from shortlong.ui.running import TOLD
from tests.app.conftest import SMALL, cards, open_page

LINE = (
    '{"stage": "evaluating", "share": 0.42, "elapsed": 5, "remaining": 7, "finished": 3, "total": 9, '
    '"running": ["SLEV, seed 0"], "compiling": false, "overrun": false}\n'
)


@pytest.fixture
def waiting(home: Path) -> Job:
    """A job that is on its way, as its folder says; nothing is computed."""
    scenario = Scenario.build({"preset": "hiv-demo", **SMALL})
    folder = jobs().folder / f"{scenario.key}-1"
    folder.mkdir(parents=True)
    (folder / "scenario.yaml").write_text(scenario.to_yaml())
    (folder / "progress.jsonl").write_text(LINE)
    (folder / "waiting").touch()
    return Job(folder)


def end(job: Job, output: str = "{}") -> None:
    (job.folder / "waiting").unlink()
    (job.folder / "out").write_text(output)


def chips(page) -> list[str]:
    return [bar.proto.text for bar in page.sidebar.get("progress")]


@pytest.mark.parametrize("file", ["app.py", "pages/0_Decide.py", "pages/3_Policies.py", "pages/8_Paper.py"])
def test_every_page_has_a_chip_while_something_runs(waiting, file):
    page = open_page(file, preset="hiv-demo")
    assert cards(page) == ""
    (chip,) = chips(page)
    assert "HIV treatment" in chip
    assert page.sidebar.get("progress")[0].proto.value == 42


def test_no_chip_without_a_run(home):
    page = open_page("pages/2_Horizon.py", preset="hiv-demo")
    assert chips(page) == []
    assert not page.toast


def test_the_end_is_told_once_and_the_chip_goes(waiting):
    page = open_page("pages/2_Horizon.py", preset="hiv-demo")
    assert not page.toast
    end(waiting)
    page.run()
    assert chips(page) == []
    assert [("Finished" in toast.value) for toast in page.toast] == [True]
    page.run()
    assert not page.toast


def test_an_end_that_nobody_saw_is_told_after_a_reload_and_old_news_is_not(waiting):
    end(waiting, output="")
    (waiting.folder / "progress.jsonl").write_text("Error: out of memory\n")
    assert ["Failed" in toast.value for toast in open_page("app.py").toast] == [True]
    assert not open_page("app.py").toast
    (waiting.folder / TOLD).unlink()
    long_ago = time.time() - 7200
    for file in waiting.folder.iterdir():
        os.utime(file, (long_ago, long_ago))
    assert not open_page("app.py").toast


def test_the_chip_leads_to_the_run(waiting):
    page = open_page("pages/2_Horizon.py", preset="kidney-demo")
    page.sidebar.button(key=f"open-{waiting.id}").click().run()
    assert cards(page) == ""
    assert page.session_state["scenario"] == waiting.scenario
