"""The Markdown page, its pictures and its files, from results worked out by hand."""

import re
import shutil
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest

from shortlong.paper import export
from shortlong.paper.claims import CLAIMS, check_all
from shortlong.paper.evidence import Evidence, Measured
from shortlong.paper.figures import Picture, pictures
from shortlong.paper.page import Origin, markdown, table_lines
from shortlong.paper.plan import PARTS
from shortlong.paper.reasons import reasons
from tests.given import given_results
from tests.paper.handmade import as_in_the_paper, battery, hiv, kidney
from tests.saying import one_says, says

pytestmark = pytest.mark.heavy  # left out of the inner loop

ORIGIN = Origin(
    "python -m shortlong paper",
    "a machine",
    "versions",
    pd.DataFrame(
        [
            {
                "scenario": "HIV",
                "key": "k",
                "origin": "computed",
                "seeds": "0",
                "results": 3,
                "checksum": "c",
                "cpu_seconds": 75.0,
                "cpu_of": "everything",
            }
        ]
    ),
)
NAMES = ["hiv-error", "kidney-error", "hiv-alarm", "battery-table", "hiv-late", "kidney-pair"]


def page(measured: Measured, no_images: str | None = None, size: str = "demo") -> str:
    checked, drawn = check_all(measured, PARTS), pictures(measured, PARTS)
    return markdown(size, measured, checked, drawn, ORIGIN, "paper", no_images)


def drawn() -> list[Picture]:
    return pictures(as_in_the_paper(), PARTS)


def test_page_has_every_statement_picture_and_number() -> None:
    text = page(as_in_the_paper(hiv=hiv(errors={"fqe": 9})))
    for claim in CLAIMS:
        assert f"> {claim.text}" in text
        assert claim.asked in text
    assert re.findall(r"\*\*(\d+)\. ", text) == [str(i) for i in range(1, len(CLAIMS) + 1)], "in the order of the table"
    assert "18 reproduced, 3 not reproduced, 0 inconclusive" in text
    assert "Not reproduced: statements 1, 3, 5." in text
    for name in NAMES:
        assert f"](paper/{name}.svg)" in text
    assert "| SLEV | 50 | 45 | 40 | 35 | 30 |" in text
    assert "| SLED | 62 of 83 = 74.7 % | 62 of 83 = 74.6 % | 62 of 83 = 74.7 % | 62 of 83 = 74.6 % |" in text
    assert "| true value | 314 | 313.7 |" in text
    assert "| SLEV | 8.41 | 7.86 | 8.41 | 7.86 |" in text
    assert "| 1 min 15 s | computed |" in text
    assert "CPU time: 1 min 15 s" in text
    assert "shipped with the project" not in text


def test_page_without_results_or_pictures() -> None:
    text = page(Measured(), "No SVG or PNG was written.", "paper")
    assert "No SVG or PNG was written." in text
    assert "![" not in text
    assert "0 reproduced, 0 not reproduced, 21 inconclusive" in text
    assert "No kidney example" in text


def test_page_says_what_was_shipped_and_which_time_is_not_known() -> None:
    row = ORIGIN.scenarios.iloc[0].to_dict()
    shipped = [
        {**row, "scenario": "Kidney", "origin": "shipped, made on another machine"},
        {**row, "scenario": "Old", "origin": "shipped", "cpu_of": "methods only"},
    ]
    origin = replace(ORIGIN, scenarios=pd.DataFrame([row, *shipped]))
    text = markdown("demo", Measured(), check_all(Measured(), PARTS), [], origin, "paper")
    assert says(text, "Kidney; Old", "shipped with the project")
    assert "Machine here: a machine" in text
    assert says(text, "CPU time except", "Old", "3 min 45 s")
    assert one_says(text, "| 1 min 15 s |", "another machine")
    assert "| 1 min 15 s, methods only | shipped |" in text
    assert "the seal of its files" in text


def test_a_part_alone_is_a_page() -> None:
    measured = Measured(battery=battery(synthetic=True))
    text = markdown("demo", measured, check_all(measured, ["table1"]), pictures(measured, ("table1",)), ORIGIN, "paper")
    assert "## Table 1" in text
    assert "## Figure 2" not in text
    assert "simulated cells, not evidence" in text


def test_bars_in_words_do_not_break_tables() -> None:
    assert table_lines(["a|b", "c"], [["1", "2"]]) == "| a\\|b | c |\n|---|---:|\n| 1 | 2 |"


def test_reasons_are_made_from_the_results() -> None:
    told = " ".join(reasons(as_in_the_paper(), "hiv"))
    assert "20 to 314" in told
    assert "88 to 200" in told
    assert "50 % of all pairs" in told
    assert "substitute" in " ".join(reasons(Measured(), "kidney"))
    measured = reasons(as_in_the_paper(), "battery")
    assert says(measured[0], "SLEV", "full training", "slev because of full")
    synthetic = reasons(as_in_the_paper(battery=battery(synthetic=True)), "battery")
    assert "simulated cells" in synthetic[0]
    assert len(synthetic) == 1 + len(measured)


def test_one_picture_per_domain_and_quantity() -> None:
    assert [picture.name for picture in drawn()] == NAMES
    assert pictures(Measured(), PARTS) == []
    late = next(p for p in drawn() if p.name == "hiv-late")
    assert "31.4 of the final 314" in late.sentence
    assert [t.name for t in late.figure.data] == ["actual: policy 4 (314)", "Mean reward", "Last reward"]


def test_rollouts_and_seeds_are_drawn() -> None:
    several = hiv(seeds=(0, 1))
    rollouts = {("sled", 20): {policy: course[20:] for policy, course in several.courses.items()}}
    with_rollout = Evidence(
        given_results(
            several.scenario, several.values, several.metrics, several.history, several.courses, courses_after=rollouts
        )
    )
    by_name = {p.name: p.figure for p in pictures(Measured(hiv=with_rollout), PARTS)}
    assert "SLED" in [t.name for t in by_name["hiv-late"].data]


def test_errors_far_apart_get_a_logarithmic_axis() -> None:
    near, far = (
        next(p for p in pictures(Measured(kidney=kidney(errors=e)), ("figure2",))).figure
        for e in ({"last_reward": 2.0, "online_dynamics": 2.0}, {"sled": 14.0})
    )
    assert near.layout.yaxis.type is None
    assert far.layout.yaxis.type == "log"
    assert far.layout.yaxis.range[0] < -0.5 < 1.1 < far.layout.yaxis.range[1]


def test_html_is_one_page_without_a_network(tmp_path) -> None:
    export.write_html(drawn(), tmp_path / "figures.html", "Title & more")
    text = (tmp_path / "figures.html").read_text(encoding="utf-8")
    assert "<title>Title &amp; more</title>" in text
    assert not re.search(r"<script[^>]+src=", text)
    assert text.count("Plotly.newPlot(") >= len(NAMES)


def test_no_kaleido_is_said_and_fails_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "kaleido", None)
    told = export.write_images(drawn(), tmp_path)
    assert told is not None
    assert "shortlong[pictures]" in told
    assert list(tmp_path.iterdir()) == []


def test_no_browser_is_said_and_fails_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no browser"))
    told = export.write_images(drawn(), tmp_path)
    assert told is not None
    assert says(told, "no Chromium")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("program", ["false", "true"])
def test_a_browser_that_does_not_draw_is_said(tmp_path, monkeypatch, program) -> None:
    monkeypatch.setenv("BROWSER_PATH", shutil.which(program))
    told = export.write_images(drawn(), tmp_path)
    assert told is not None
    assert "could not draw" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
@pytest.mark.skipif(
    not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    reason="no Chromium or Chrome is installed",
)
def test_images_are_drawn(tmp_path) -> None:
    few = [p for p in drawn() if p.name in ("hiv-error", "kidney-pair")]
    assert export.write_images(few, tmp_path) is None
    for picture in few:
        root = ElementTree.parse(tmp_path / f"{picture.name}.svg").getroot()
        assert root.get("width") == "1000"
        assert (tmp_path / f"{picture.name}.png").read_bytes().startswith(b"\x89PNG")
    assert "Historical average" in (tmp_path / "hiv-error.svg").read_text(encoding="utf-8")
