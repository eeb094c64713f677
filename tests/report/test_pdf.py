"""The one-page PDF files of a decision and of a run: one page, the same numbers as elsewhere, and names of any kind."""

import io
import json
import re
from dataclasses import replace

import pandas as pd
import pypdf
import pytest

import shortlong as sl
from shortlong.analysis.decision_view import DecisionView
from shortlong.compute.results import from_item
from shortlong.compute.shipped import open_item
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.home import living_in
from shortlong.report import sheet
from shortlong.report.files import write_decision, write_run
from shortlong.report.pdf import decision_pdf, run_pdf
from shortlong.report.run import report
from shortlong.words.numbers import bound, number
from tests.command import command
from tests.domains.table.tables import trial
from tests.report.test_decision import NOW, shipped, view  # noqa: F401 - fixtures

pytestmark = pytest.mark.heavy  # left out of the inner loop

QUICK = ["mean_reward", "off_policy_mean"]
ODD = {
    "N0": "策略甲 · Ünïcødé ≤ γ → Здравствуй",
    "N1": "<b>x</b>&amp; $a$ 😀 שלום عربي " + "W" * 300,
    "A": "東京プラン",
    "B": "한국어 정책",
    "C": "a\x00b\x07\u202eevil",
    "D": "=1+1",
}


def only_page(content: bytes) -> str:
    """The text of a file that must have exactly one page."""
    file = pypdf.PdfReader(io.BytesIO(content))
    assert len(file.pages) == 1
    box = file.pages[0].mediabox
    assert (round(float(box.width)), round(float(box.height))) == (595, 842)
    return re.sub(r"\s+", " ", file.pages[0].extract_text())


def with_policies(view: DecisionView, amount: int, name: str = "policy {}") -> DecisionView:  # noqa: F811
    """The same decisions about some of the policies, or about as many copies of them as are asked for."""
    known = list(dict.fromkeys(view.decided["policy"].astype(str)))
    rows = [
        view.decided[view.decided["policy"].astype(str) == known[place % len(known)]].assign(policy=name.format(place))
        for place in range(amount)
    ]
    return replace(view, decided=pd.concat(rows, ignore_index=True))


@pytest.fixture(scope="module")
def odd_study(tmp_path_factory):
    table = trial()
    table["policy"] = table["policy"].map(lambda name: ODD.get(name, name))
    store = Store(tmp_path_factory.mktemp("odd"))
    return sl.Study.from_table(table, name="odd", new=[ODD["N0"], ODD["N1"]], store=store)


def test_a_decision_has_every_number_of_its_view(view, shipped):  # noqa: F811
    text = only_page(decision_pdf(view, shipped.scenario, now=NOW))
    for row in view.new_policies.to_dict("records"):
        assert f"{number(row['predicted'])} {bound(row['lower'])} to {bound(row['upper'])}" in text
    for decisive in (
        "Not medical advice",
        f"{view.ready} of 40 new policies can be decided",
        "at most 10 %",
        "as historical ones are to each other",
        "Of 70 historical policies judged this way",
        "unsafe below 96.2",
        "2026-01-02 03:04",
        shipped.scenario.key,
    ):
        assert decisive in text, decisive


def test_the_truth_is_on_it_only_if_asked_for(view, shipped):  # noqa: F811
    hidden, shown = (only_page(decision_pdf(view, shipped.scenario, reveal=ask)) for ask in (False, True))
    assert "What happened" not in hidden
    assert "of a possible 464" not in hidden
    assert "of a possible 464" in shown


@pytest.mark.parametrize("amount", [1, 3, 40, 80])
def test_any_number_of_policies_fits_on_the_page(view, shipped, amount):  # noqa: F811
    text = only_page(
        decision_pdf(with_policies(view, amount, "{} " + "long name " * 30), shipped.scenario, reveal=True)
    )
    assert ("40 of 80 are shown" in text) == (amount == 80)
    assert shipped.scenario.key in text, "what stands last is on the page"


def test_what_is_too_long_becomes_smaller_until_it_fits():
    def write(page: sheet.Sheet) -> None:
        for place in range(100):
            page.paragraph(f"line {place}", 9)

    assert "line 99" in only_page(sheet.one_sheet("long", NOW, write))


def test_a_word_without_spaces_is_broken_into_lines():
    lines = list(sheet.wrapped("W" * 500, 200, 9))
    assert len(lines) > 1
    assert "".join(lines) == "W" * 500
    assert all(sheet.text_width(line, 9) <= 200 for line in lines)


@pytest.mark.parametrize("name", ["hiv-paper", "kidney-paper", "battery-demo"])
def test_a_run_has_its_headline_and_its_errors(name):
    results = from_item(open_item(name))
    text = only_page(run_pdf(results, now=NOW))
    errors = results.metrics.groupby(["method", "horizon"], observed=True)["rmse_policy"].mean()
    assert len(errors) > 20
    assert {number(error) for error in errors} <= set(text.split())
    assert "lowest typical error" in text
    assert "2026-01-02 03:04" in text
    assert "illustration only" in text if name == "battery-demo" else "Not medical advice" in text


def test_the_same_input_gives_the_same_bytes(view, shipped):  # noqa: F811
    first, second = (decision_pdf(view, shipped.scenario, now=NOW) for _ in range(2))
    assert first == second
    assert run_pdf(shipped, now=NOW) == run_pdf(shipped, now=NOW)
    assert pypdf.PdfReader(io.BytesIO(first)).metadata["/CreationDate"] == "D:20260102030400Z"


def test_names_in_any_writing_are_shown_as_text(odd_study):
    text = only_page(odd_study.pdf(3, methods=QUICK))
    for shown in ("策略甲", "Ünïcødé ≤ γ → Здравствуй", "<b>x</b>&amp; $a$"):
        assert shown in text
    whole = only_page(odd_study.run(methods=QUICK).pdf(3))
    assert "策略甲" in whole
    assert "□" in whole, "a character that no font has"


def test_a_run_whose_outcome_nobody_knows_has_predictions_and_the_errors_of_the_back_test(odd_study):
    results = odd_study.run(methods=QUICK).results
    assert not results.has_truth
    wanted = odd_study.predict(3, methods=QUICK, kind="together").set_index(["policy", "method"])
    predicted = number(wanted.loc[(ODD["N0"], "blend"), "predicted"])
    error = number(odd_study.backtest(methods=QUICK)["rmse_policy"].min())
    with living_in(odd_study.store.root):
        pages = only_page(run_pdf(results)), report(results)
    for text in pages:
        assert predicted in text
        assert error in text
        assert "Nobody knows yet" in text
        assert "nan" not in re.findall(r"\w+", re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL).lower())


def test_reports_of_any_format_are_written(view, shipped, tmp_path):  # noqa: F811
    for ending, start in ((".html", b"<!DOCTYPE"), (".pdf", b"%PDF"), (".pptx", b"PK")):
        file = tmp_path / f"decision{ending}"
        write_decision(view, shipped.scenario, file)
        assert file.read_bytes().startswith(start)
    write_run(shipped, tmp_path / "run.PDF")
    assert (tmp_path / "run.PDF").read_bytes().startswith(b"%PDF")
    with pytest.raises(UserError, match="could not be written"):
        write_run(shipped, tmp_path / "none" / "run.pdf")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["run", "hiv-demo", "--report", "x.docx"], ".html or .pdf"),
        (["decide", "hiv-demo", "--horizon", 20, "--quantile", 0.1, "--report", "no/x.pdf"], "no folder"),
    ],
)
def test_a_file_that_cannot_become_a_report_is_refused_before_anything_is_computed(tmp_path, words, reason):
    code, _, errors = command(*words, home=tmp_path / "home")
    assert code == 2
    assert reason in errors
    assert not (tmp_path / "home").exists()


def test_the_command_line_writes_the_page_of_a_decision(tmp_path):
    file = tmp_path / "decision.pdf"
    words = ["decide", "hiv-demo", "--horizon", 20, "--quantile", 0.1, "--report", file, "--json"]
    code, output, _ = command(*words, home=tmp_path / "home")
    assert code == 0
    told, text = json.loads(output), only_page(file.read_bytes())
    assert all(number(row["predicted"]) in text for row in told["decisions"])
    assert told["promise"]["text"].split(".")[0] in text
