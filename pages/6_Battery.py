"""Battery: predicting from five cycles which cells are long-lived; the paper's table and what explains its numbers."""

import shlex
from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis import battery as view
from shortlong.analysis.battery_table import FLEETS, Row
from shortlong.core.harmless import markdown
from shortlong.domains.battery.data import SYNTHETIC, Fleet
from shortlong.domains.battery.source import SYNTHETIC_SOURCE
from shortlong.figures import battery as figures
from shortlong.methods.battery.reasons import SYNTHETIC_IS_NO_EVIDENCE
from shortlong.report.battery import battery_report
from shortlong.scenario import Scenario
from shortlong.ui import controls, modes, state
from shortlong.ui.battery import Told, computed_range, fleet_of, rows_of, scenario_of, shipped_range, told_of
from shortlong.ui.charts import drawn
from shortlong.ui.choices import slide
from shortlong.ui.downloads import download_button
from shortlong.ui.exports import download_scenario, fold, table_with_download
from shortlong.ui.header import chart_title, chart_words, slim_header, sticky
from shortlong.ui.page import page_setup
from shortlong.ui.theme import is_dark, wide
from shortlong.words import battery as words
from shortlong.words.glossary import explain_all

SOURCES = {controls.SYNTHETIC_CELLS: "Simulated cells", controls.MEASURED_CELLS: "Measured cells"}


def choose_source(place: DeltaGenerator, scenario: Scenario) -> str | None:
    if not modes.folders_allowed():
        place.markdown("Cells  \n**Simulated cells**")
        return SYNTHETIC_SOURCE
    kind = place.segmented_control(
        "Cells",
        list(SOURCES),
        format_func=lambda source: SOURCES[source],
        required=True,
        key=state.settle(controls.CELLS, scenario),
        persist_state="session",
    )
    if kind == controls.SYNTHETIC_CELLS:
        return SYNTHETIC_SOURCE
    folder = st.text_input("Folder with cells.csv", key="cells_folder", persist_state="session", max_chars=500)
    if folder.strip():
        return folder.strip()
    st.info(
        "**Which folder?** Enter the folder of measured cells above. `python -m shortlong battery import SOURCE FOLDER` "
        "creates one from the published files (Severson et al. 2019). Links never include folders.",
        icon=":material/folder_open:",
    )
    return None


def choose_limits(left: DeltaGenerator, right: DeltaGenerator, scenario: Scenario) -> tuple[float, float]:
    filter_below = slide(left, "Filtered training: life below … cycles", controls.FILTER_BELOW, scenario, "%d")
    return filter_below, slide(right, "Long-lived means at least … cycles", controls.THRESHOLD, scenario, "%d")


def range_over_fleets(source: str, limits: tuple[float, float]) -> view.FleetRange | None:
    """The range over simulated fleets: shipped for the paper's limits, else computed on request; measured cells have none."""
    if source != SYNTHETIC_SOURCE:
        return None
    if shipped := shipped_range(*limits):
        return shipped
    if not modes.computing_in_pages_allowed():
        st.caption("One simulated fleet is shown; other fleets can give quite different numbers.")
        return None
    wanted = st.session_state.setdefault("ranges", set())
    if limits not in wanted:
        left, right = st.columns([3, 2], vertical_alignment="center")
        left.caption("One simulated fleet is shown; other fleets can give quite different numbers.")
        if not right.button(f"Add the range over {FLEETS} fleets (about 10 s)", key="range", icon=":material/expand:"):
            return None
        wanted.add(limits)
    with st.spinner(f"Fitting every method to {FLEETS} simulated fleets …"):
        return computed_range(*limits)


def paper_table(
    made_of: tuple[Any, ...], rows: list[Row], told: Told, label: str, over: view.FleetRange | None
) -> None:
    explained = explain_all("SLEV", "SLED", "Naive Bayes")
    chart_title("Correct predictions by method", "correct_title", lines=1, help=explained)
    chart_words(told.counts_words, "correct_words", lines=3)
    st.plotly_chart(
        drawn(
            "correct",
            (*made_of, over is None),
            lambda: figures.correct_figure(told.counts, label, view.find_row(rows, "always_high", "full").correct),
        ),
        key="correct",
        alt="Test cells classified correctly per method after full and filtered training, with the paper's numbers"
        f"{f' and the range over {over.fleets} fleets' if over else ''}. {label}.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Each row is one method; further right is better. Green circles: trained on all cells; red diamonds: trained "
            f"on the short-lived ones only. {words.whiskers_sentence(over)}Open marks: the paper's results on its 83 measured cells. Dotted "
            "line: assuming that every cell is long-lived; a method to its left is worse than that assumption."
        )
    fold(
        "Table",
        "battery_table",
        lambda: table_with_download(
            told.counts, "battery-table", f"Test cells classified correctly per method. {label}."
        ),
    )
    with st.expander("Why the methods score as they do"):
        for title, training, reason in view.reason_lines(rows):
            st.markdown(f"**{title}, {training} training:** {markdown(reason)}")


def feature_and_curves(
    made_of: tuple[Any, ...], rows: list[Row], told: Told, fleet: Fleet, threshold: float, label: str
) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("Cycle life from the first five cycles")
        st.markdown(told.features_words)
        st.plotly_chart(
            drawn("feature", made_of, lambda: figures.feature_figure(told.features, told.fits, threshold, label)),
            key="feature",
            alt=f"Cycle life against the early variance of the discharge curve, one mark per cell, with both fitted lines. {label}.",
        )
        with st.expander("How to read this"):
            st.markdown(
                "Horizontal: how much the discharge curve changed between the fourth and the fifth cycle. Vertical: cycle life "
                "on a logarithmic axis. Each line is fitted to one training set; filtered training does not include the open "
                "circles. Cells above the dotted line are long-lived."
            )
        fold(
            "Table of all cells",
            "battery_cells",
            lambda: table_with_download(
                view.cells_table(told.features, label),
                "battery-cells",
                f"Early variance and cycle life of each cell. {label}.",
            ),
        )
    with right:
        st.header("One fade curve for all cells")
        st.markdown(words.base_sentence(told.bases, markdown(view.find_row(rows, "sled", "full").reason)))
        st.plotly_chart(
            drawn(
                "aligned",
                made_of,
                lambda: figures.aligned_figure(view.aligned_curves(fleet.split()[0]), told.bases, label),
            ),
            key="aligned",
            alt=f"Capacity of the training cells over the cycles before end of life, with the fitted base curves. {label}.",
        )
        with st.expander("How to read this"):
            st.markdown(
                "Each thin line is a training cell, aligned so that all end at 0 on the right. SLED fits one base curve to them "
                "(green: all cells, red: filtered cells) and shifts it to match the first cycles of a new cell."
            )


def choose_cell(scenario: Scenario, names: Sequence[str]) -> tuple[str, str]:
    """A test cell and a training set; a chosen cell that is not in this fleet is reported and replaced."""
    left, right = st.columns([1, 1])
    chosen = st.session_state.get(controls.CELL.key(scenario))  # by a person or a link, else None
    if chosen is not None and chosen not in names:
        st.warning(f"There is no test cell {markdown(chosen)} in this fleet; {markdown(names[0])} is shown instead.")
        del st.session_state[controls.CELL.key(scenario)]
    st.session_state["pick-cell"] = chosen if chosen in names else names[0]
    name = left.selectbox(
        "Test cell", names, key="pick-cell", on_change=state.keep, args=(controls.CELL, "pick-cell", scenario)
    )
    training = right.segmented_control(
        "Training",
        view.TRAININGS,
        required=True,
        key=state.settle(controls.CELL_TRAINING, scenario),
        persist_state="session",
    )
    return name, str(training)


def one_cell(
    made_of: tuple[Any, ...], scenario: Scenario, rows: list[Row], fleet: Fleet, threshold: float, label: str
) -> None:
    st.header("One cell in detail")
    name, training = choose_cell(scenario, fleet.split()[1].names)
    fit = view.cell_fit(rows, fleet, name, training, threshold)
    if fit is None:
        st.markdown(markdown(view.find_row(rows, "sled", training).reason))
    else:
        st.markdown(words.cell_sentence(fit, training, markdown(fit.name)))
        st.plotly_chart(
            drawn(
                "cell",
                (*made_of, name, training, is_dark()),
                lambda: figures.cell_figure(fit, training, label, is_dark()),
            ),
            key="cell-fit",
            alt=f"Capacity of cell {name} by cycle, with SLED's curve fitted to the first cycles. {label}.",
        )
    with st.expander("How to read this"):
        st.markdown(
            "Dots: the observed cycles. Black line (white in the dark theme): actual capacity. Coloured line: SLED's base curve, "
            "shifted to match the dots. End of life: capacity below the dotted line."
        )
    fold(
        "Predictions of every method for this cell",
        "battery_answers",
        lambda: table_with_download(
            view.cell_answers(rows, fleet, name, threshold).assign(cells=label),
            "battery-cell",
            f"Predictions of every method for {name}. {label}.",
        ),
    )


def calibration(made_of: tuple[Any, ...], told: Told, label: str) -> None:
    st.header("Calibration")
    st.markdown(told.bins_words)
    if told.bins.empty:
        return
    st.plotly_chart(
        drawn("reliability", made_of, lambda: figures.reliability_figure(told.bins, label)),
        key="reliability",
        alt=f"Predicted probability of a long life against the observed share of long-lived cells, for our method. {label}.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Cells are grouped into five bins by the probability that our method predicted; larger marks contain more cells. "
            "On the grey diagonal, a predicted 70 % comes true in 70 % of cases."
        )
    fold(
        "Table of bins",
        "battery_groups",
        lambda: table_with_download(
            told.bins.assign(source=label), "battery-reliability", f"Calibration of our method. {label}."
        ),
    )


def command_of(source: str, limits: tuple[float, float]) -> str:
    which = ["--seeds", str(FLEETS)] if source == SYNTHETIC_SOURCE else ["--data", source]
    limit_words = ["--threshold", f"{limits[1]:g}", "--filter-below", f"{limits[0]:g}"]
    return shlex.join(["python", "-m", "shortlong", "table1", *which, *limit_words])


def share(
    source: str, limits: tuple[float, float], rows: list[Row], fleet: Fleet, over: view.FleetRange | None
) -> None:
    command = command_of(source, limits)
    st.caption("Command that prints this table")
    st.code(command, language="bash", wrap_lines=True)
    st.caption("Link to this view" + ("" if source == SYNTHETIC_SOURCE else " (without the folder)"))
    st.code(state.link(), language=None, wrap_lines=True)
    with st.container(horizontal=True):
        download_scenario(scenario_of(source, *limits), key="yaml-battery")
        download_button(
            "Report (HTML)",
            make=lambda: battery_report(
                rows, fleet, filter_below=limits[0], threshold=limits[1], command=command, over=over
            ),
            file_name="shortlong-battery.html",
            mime="text/html",
            key="report-battery",
            icon=":material/description:",
        )


def content(scenario: Scenario, source: str, limits: tuple[float, float]) -> None:
    key, fleet = fleet_of(source)
    label = words.fleet_label(fleet)
    if fleet.label == SYNTHETIC:
        st.caption(f":material/science: **{label}:** {SYNTHETIC_IS_NO_EVIDENCE.partition(': ')[2]}")
    elif fleet.notes:
        st.warning(f"**{label}, with faults.** {markdown(' '.join(fleet.notes))}", icon=":material/warning:")
    with st.spinner("Fitting every method, a few seconds …"):
        rows = rows_of(key, source, *limits)
    made_of = (key, *limits)
    wide("correct")
    over = range_over_fleets(source, limits)
    told = told_of(made_of, rows, fleet, over)
    paper_table(made_of, rows, told, label, over)
    st.caption(words.fleet_line(fleet, *limits))
    feature_and_curves(made_of, rows, told, fleet, limits[1], label)
    one_cell(made_of, scenario, rows, fleet, limits[1], label)
    calibration(made_of, told, label)
    fold("Reproduce and share", "reproduce", lambda: share(source, limits, rows, fleet, over))


with page_setup("Battery", notice=False) as scenario:
    slim_header(
        "Predicting battery life", "Five charging cycles of a cell have been observed. Will the cell be long-lived?"
    )
    with sticky("battery_controls"):
        first, second, third = st.columns([1.5, 1.4, 1.2], gap="medium")
        limits = choose_limits(second, third, scenario)
        chosen = choose_source(first, scenario)
    if chosen:
        content(scenario, chosen, limits)
