"""Battery: which cells will live long, told from five cycles; the paper's table and what is behind its numbers."""

import shlex
from collections.abc import Sequence
from typing import Any

import streamlit as st

from shortlong import battery_view as view
from shortlong import figures_battery as figures
from shortlong import wording_battery as words
from shortlong.domains.battery.data import SYNTHETIC, Fleet
from shortlong.domains.battery.reasons import SYNTHETIC_IS_NO_EVIDENCE
from shortlong.domains.battery.source import SYNTHETIC_SOURCE
from shortlong.domains.battery.table1 import Row, calibration_table, reliability_table
from shortlong.report_battery import battery_report
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.battery import fleet_of, rows_of, scenario_of
from shortlong.ui.charts import drawn
from shortlong.ui.choices import slide
from shortlong.ui.exports import download_scenario, fold, table_with_download
from shortlong.ui.page import page_setup, plain
from shortlong.ui.theme import is_dark, wide

SOURCES = {controls.SYNTHETIC_CELLS: "Synthetic fleet", controls.MEASURED_CELLS: "Measured cells"}


def choose_source(scenario: Scenario) -> str | None:
    left, right = st.columns([1, 2])
    kind = left.segmented_control(
        "Cells",
        list(SOURCES),
        format_func=lambda source: SOURCES[source],
        required=True,
        key=state.settle(controls.CELLS, scenario),
        persist_state="session",
    )
    if kind == controls.SYNTHETIC_CELLS:
        return SYNTHETIC_SOURCE
    folder = right.text_input("Folder with cells.csv", key="cells_folder", persist_state="session", max_chars=500)
    if folder.strip():
        return folder.strip()
    st.info(
        "**Which folder?** Type the folder of measured cells above. `python -m shortlong battery import SOURCE FOLDER` "
        "makes one from the published files (Severson et al. 2019). A link never carries a folder.",
        icon=":material/folder_open:",
    )
    return None


def choose_limits(scenario: Scenario) -> tuple[float, float]:
    left, right = st.columns(2, gap="large")
    filter_below = slide(
        left, "Filtered training keeps cells that live less than … cycles", controls.FILTER_BELOW, scenario, "%d"
    )
    return filter_below, slide(right, "A life is “high” from … cycles on", controls.THRESHOLD, scenario, "%d")


def paper_table(made_of: tuple[Any, ...], rows: list[Row], label: str) -> None:
    st.subheader("Who is right about how many cells")
    st.markdown(words.table_sentence(rows))
    table = view.correct_table(rows, label)
    st.plotly_chart(
        drawn(
            "correct",
            made_of,
            lambda: figures.correct_figure(table, label, view.find_row(rows, "always_high", "full").correct),
        ),
        key="correct",
        alt=f"Test cells called right per method after full and filtered training, with the paper's numbers. {label}.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Each line is one method; further right is better. Green circles: trained on all cells; red diamonds: trained "
            "only on the short-lived ones. Open marks are what the paper prints for its 83 measured cells. The dotted line "
            "calls every cell “high”: a method left of it would do better by not looking."
        )
    fold(
        "Table",
        "battery_table",
        lambda: table_with_download(table, "battery-table", f"Test cells called right per method. {label}."),
    )
    with st.expander("Why the numbers are what they are"):
        for title, training, reason in view.reason_lines(rows):
            st.markdown(f"**{title}, {training} training:** {plain(reason)}")


def feature_and_curves(
    made_of: tuple[Any, ...], rows: list[Row], fleet: Fleet, limits: tuple[float, float], label: str
) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("What five cycles tell of a life")
        table, fits = view.feature_table(fleet, limits[0]), view.life_fits(rows)
        st.markdown(words.feature_sentence(fits, int((table["role"] == "test").sum())))
        st.plotly_chart(
            drawn("feature", made_of, lambda: figures.feature_figure(table, fits, limits[1], label)),
            key="feature",
            alt=f"Life over the early change of the discharge curve, one mark per cell, with both fitted lines. {label}.",
        )
        with st.expander("How to read this"):
            st.markdown(
                "Left: the discharge curve hardly changed between the fourth and fifth cycle; right: it changed much. Height "
                "is the life, on a logarithmic axis. A line is what one training set makes of its cells; filtered training "
                "has not seen the open circles. Above the dotted line a life is “high”."
            )
        fold(
            "All cells",
            "battery_cells",
            lambda: table_with_download(
                table.assign(cells=label), "battery-cells", f"Feature and life of each cell. {label}."
            ),
        )
    with right:
        st.subheader("One curve for all cells")
        bases = view.base_curves(rows)
        st.markdown(words.base_sentence(bases, plain(view.find_row(rows, "sled", "full").reason)))
        st.plotly_chart(
            drawn(
                "aligned",
                made_of,
                lambda: figures.aligned_figure(view.aligned_curves(fleet.split()[0]), bases, label),
            ),
            key="aligned",
            alt=f"Capacity of the training cells over the cycles before their end of life, with the base curves. {label}.",
        )
        with st.expander("How to read this"):
            st.markdown(
                "Each thin line is a training cell, moved so that all end at 0 on the right. SLED fits one base curve through "
                "them (green: all cells, red: the filtered ones) and slides it along until it meets the first cycles of a new cell."
            )


def choose_cell(scenario: Scenario, names: Sequence[str]) -> tuple[str, str]:
    """A test cell and which training is looked at; a chosen cell that is not among these is reported and replaced."""
    left, right = st.columns([1, 1])
    chosen = st.session_state.get(controls.CELL.key(scenario))  # by a person or a link, else None
    if chosen is not None and chosen not in names:
        st.warning(f"There is no test cell {plain(chosen)} among these; {plain(names[0])} is shown instead.")
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
    st.subheader("One cell")
    name, training = choose_cell(scenario, fleet.split()[1].names)
    fit = view.cell_fit(rows, fleet, name, training, threshold)
    if fit is None:
        st.markdown(plain(view.find_row(rows, "sled", training).reason))
    else:
        st.markdown(words.cell_sentence(fit, training))
        st.plotly_chart(
            drawn(
                "cell",
                (*made_of, name, training, is_dark()),
                lambda: figures.cell_figure(fit, training, label, is_dark()),
            ),
            key="cell-fit",
            alt=f"Capacity of cell {name} over its cycles with SLED's curve fitted to the first ones. {label}.",
        )
    with st.expander("How to read this"):
        st.markdown(
            "Dots: the cycles that were seen. Strong line: what came. Coloured line: SLED's base curve, moved to meet the dots. "
            "A cell is at its end where the capacity falls below the dotted line."
        )
    fold(
        "What every method says of this cell",
        "battery_answers",
        lambda: table_with_download(
            view.cell_answers(rows, fleet, name, threshold).assign(cells=label),
            f"battery-{name}",
            f"Answers of all methods on {name}. {label}.",
        ),
    )


def calibration(made_of: tuple[Any, ...], rows: list[Row], fleet: Fleet, threshold: float, label: str) -> None:
    st.subheader("Can the probabilities be believed?")
    st.markdown(words.reliability_sentence(calibration_table(rows, fleet, threshold)))
    table = reliability_table(rows, fleet, threshold=threshold)
    if table.empty:
        return
    st.plotly_chart(
        drawn("reliability", made_of, lambda: figures.reliability_figure(table, label)),
        key="reliability",
        alt=f"Said probability of a long life against the share that lived long, for our method. {label}.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Cells are sorted into five groups by the probability that our method gave them; larger marks hold more cells. On "
            "the grey diagonal “70 %” comes true in 70 % of cases."
        )
    fold(
        "Table of the groups",
        "battery_groups",
        lambda: table_with_download(
            table.assign(source=label), "battery-reliability", f"Reliability of our method. {label}."
        ),
    )


def command_of(source: str, limits: tuple[float, float]) -> str:
    which = ["--seeds", "1"] if source == SYNTHETIC_SOURCE else ["--data", source]
    limit_words = ["--threshold", f"{limits[1]:g}", "--filter-below", f"{limits[0]:g}"]
    return shlex.join(["python", "-m", "shortlong", "table1", *which, *limit_words])


def share(source: str, limits: tuple[float, float], rows: list[Row], fleet: Fleet) -> None:
    command = command_of(source, limits)
    st.caption("The command that prints this table")
    st.code(command, language="bash", wrap_lines=True)
    st.caption("A link that opens this view" + ("" if source == SYNTHETIC_SOURCE else "; it does not hold the folder"))
    st.code(state.link(), language=None, wrap_lines=True)
    with st.container(horizontal=True):
        download_scenario(scenario_of(source, *limits), key="yaml-battery")
        st.download_button(
            "Report (HTML)",
            data=lambda: battery_report(rows, fleet, filter_below=limits[0], threshold=limits[1], command=command),
            file_name="shortlong-battery.html",
            mime="text/html",
            key="report-battery",
            icon=":material/description:",
            on_click="ignore",
        )


def content(scenario: Scenario, source: str) -> None:
    key, fleet = fleet_of(source)
    label = words.fleet_label(fleet)
    if fleet.label == SYNTHETIC:
        st.warning(f"**{label}:** {SYNTHETIC_IS_NO_EVIDENCE.partition(': ')[2]}", icon=":material/science:")
    else:
        st.success(f"**{label}.** {plain(' '.join(fleet.notes))}", icon=":material/battery_full:")
    limits = choose_limits(scenario)
    st.caption(words.fleet_line(fleet, *limits))
    with st.spinner("Fitting every method to its training cells, a few seconds …"):
        rows = rows_of(key, fleet, limits[1], limits[0])
    made_of = (key, *limits)
    wide("correct")
    paper_table(made_of, rows, label)
    feature_and_curves(made_of, rows, fleet, limits, label)
    one_cell(made_of, scenario, rows, fleet, limits[1], label)
    calibration(made_of, rows, fleet, limits[1], label)
    fold("Reproduce and share", "reproduce", lambda: share(source, limits, rows, fleet))


with page_setup("Battery", notice=False) as scenario:
    st.title("Will this battery live long?")
    st.markdown("A cell has been charged five times in a new way. Can we tell whether it will last?")
    if chosen := choose_source(scenario):
        content(scenario, chosen)
