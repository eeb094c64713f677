"""Your data: drop a table, see how it is understood and what is wrong with it, correct that, and start."""

import streamlit as st

from shortlong.core.harmless import markdown, sentence, shorten
from shortlong.domains.table import RawTable, Report, has, versions
from shortlong.domains.table.datasets import content_of
from shortlong.domains.table.problems import Problem
from shortlong.methods import METHODS
from shortlong.ui import own_form, own_sets, own_table
from shortlong.ui.cards import error_card
from shortlong.ui.exports import fold, table_with_download
from shortlong.ui.header import slim_header
from shortlong.ui.own_table import UPLOAD_ERROR, Draft
from shortlong.ui.page import page_setup
from shortlong.ui.results import store
from shortlong.words.numbers import plural
from shortlong.words.own_controls import on_page
from shortlong.words.own_data import novelty_lines, observed_lines, problem_text
from shortlong.words.scenario import title_of

FIRST_ROWS = 5


def bring() -> None:
    st.markdown(
        "A table with one row per policy, unit and step: arms of a programme, variants of an app, charging protocols. Some policies "
        "were followed to the end, others have just begun. Nothing needs a special name; you see how the table is understood "
        "before anything runs."
    )
    own_table.uploader()
    if message := st.session_state.get(UPLOAD_ERROR):
        error_card(message, title="The file could not be taken")
    st.button("Try an example", icon=":material/lightbulb:", on_click=own_sets.try_example, key="own-example")
    if own_table.draft() is None:
        st.caption(
            "What a table can look like: some rows and columns of the example. Order and names of columns are up to you."
        )
        st.dataframe(own_table.example_rows(), hide_index=True, alt="The first rows of the example")


def questions(made: Draft) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(f"{markdown(shorten(made.file, 60))}")
        st.button("Forget this file", icon=":material/delete:", on_click=own_table.forget, key="own-forget")
    table = own_table.table_of(made)
    if isinstance(table, Report):
        if made.file.lower().endswith(("csv", "txt", "tsv", "gz")):
            own_form.reading(made)
        problems(table)
        return
    first_rows(made, table)
    st.subheader("Which column is which?")
    columns = own_form.columns_of(made, table)
    st.subheader("What do the numbers mean?")
    choices = own_form.choices_of(made)
    st.subheader("Who is new?")
    report = own_form.checked_with_new(made, columns, choices)
    understood(report)
    problems(report)
    begin(made, report)


def first_rows(made: Draft, table: RawTable) -> None:
    st.caption(f"{plural(len(table), 'row')}, {plural(len(table.frame.columns), 'column')}")

    def shown() -> None:
        if table.kind == "text":
            own_form.reading(made)
        st.dataframe(table.frame.head(FIRST_ROWS), hide_index=True, alt="The first rows of the file")

    fold("First rows, and how the file was read", "own-first-rows", shown)


def understood(report: Report) -> None:
    if not report.steps:
        return
    st.markdown(
        f"**{plural(len(report.old), 'historical policy')}** and **{plural(len(report.new), 'new policy')}**, "
        f"{plural(report.units, 'unit')}, full length {plural(report.steps, 'step')}. "
        + sentence(" ".join(observed_lines(report)))
    )
    with st.expander("What is new about the new policies?", expanded=True):
        st.markdown("\n".join(f"- {sentence(line)}" for line in novelty_lines(report.novelty)))


def problems(report: Report) -> None:
    st.subheader("Problems")
    if not report.problems:
        st.success("Nothing is wrong with the table.", icon=":material/check_circle:")
        return
    for problem in report.errors:
        st.error(problem_words(problem), icon=":material/error:")
    if report.ok:
        st.markdown(f"No errors, {plural(len(report.warnings), 'warning')}. Warnings travel with every result.")
    for problem in report.warnings:
        st.warning(problem_words(problem), icon=":material/warning:")
    fold("All problems as a table", "own-problems", lambda: problem_table(report))


def problem_words(problem: Problem) -> str:
    rows = [f"- row {row.number}: {markdown(row.content)}" for row in problem.rows[:3]]
    more = [f"- and {problem.count - 3:,} more"] if problem.count > 3 and len(problem.rows) > 3 else []
    return "\n".join([sentence(on_page(problem_text(problem))), "", *rows, *more])


def problem_table(report: Report) -> None:
    table = report.problem_table()
    table["remedy"] = table["remedy"].map(on_page)
    table_with_download(table, "problems", "All problems with their rows and remedies")


def begin(made: Draft, report: Report) -> None:
    st.subheader("Start")
    name, methods = st.columns([1, 2])
    chosen = name.text_input("Name", made.suggested_name, key=f"{made.key}-name", persist_state="session", max_chars=60)
    picked = methods.multiselect(
        "Methods",
        list(METHODS),
        key=f"{made.key}-methods",
        format_func=title_of,
        placeholder="all that can run on this table",
        persist_state="session",
    )
    if has(chosen, store().root) and content_of(report) not in versions(chosen, store().root):
        st.info(
            "There is a data set of this name. The new file joins it, and predictions from the earlier one are compared with the "
            "actual outcomes.",
            icon=":material/history:",
        )
    if st.button("Start", type="primary", icon=":material/play_arrow:", disabled=not report.ok, key="own-start"):
        own_sets.start(report, chosen.strip(), picked)
        st.rerun()
    if not report.ok:
        st.caption("Correct the errors above first: with the drop-downs, or in the file.")


with page_setup("Your data", notice=False):
    slim_header("Your data", "Drop a table, see how it is understood, start")
    own_sets.current()
    bring()
    if made := own_table.draft():
        questions(made)
    own_sets.saved()
