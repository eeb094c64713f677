"""Runs: what was computed before; open it, compare two, take it away, delete it."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.figures_runs import both_errors
from shortlong.methods import METHODS
from shortlong.runs import (
    SavedRun,
    delete_run,
    early,
    errors_of_both,
    first_methods,
    only_of,
    result_keys,
    runs_table,
    same_unit,
)
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.exports import download_report, download_scenario, fold, table_with_download
from shortlong.ui.page import error_card, page_setup, plain
from shortlong.ui.results import View, jobs, store
from shortlong.ui.saved import all_runs, archive_of, usable, view_of
from shortlong.wording import plural, title_of
from shortlong.wording_runs import comparison_sentence, delete_sentence, difference_table, runs_sentence


def choose_run(runs: list[SavedRun]) -> SavedRun:
    by_key = {run.key: run for run in runs}
    key = st.selectbox("Run", by_key, format_func=lambda k: by_key[k].name if k in by_key else k, key="run")
    return by_key[key]


def one_run(run: SavedRun, runs: list[SavedRun]) -> None:
    if run.scenario is None:
        error_card(
            f"{run.problem} Delete it, or open it with the version that made it.", title="This run is unreadable"
        )
    else:
        st.code(run.scenario.to_command(), language="bash", wrap_lines=True)
        offers(run, run.scenario)
    delete_panel(run, runs)


def offers(run: SavedRun, scenario: Scenario) -> None:
    view = view_of(run) if run.complete else None
    if view is None:
        st.warning(
            f"Only {run.stored_results} of {run.expected_results} results are there; open it to compute the others.",
            icon=":material/history:",
        )
    with st.container(horizontal=True):
        if st.button("Open", type="primary", icon=":material/open_in_new:", key="open"):
            state.choose(scenario)
            st.switch_page("pages/2_Horizon.py", query_params=state.link_parameters())
        download_scenario(scenario, key="yaml-run")
        if view is None:
            return
        st.download_button(
            "All results (ZIP)",
            data=lambda: archive_of(scenario),
            file_name=f"shortlong-{run.key[:6]}.zip",
            mime="application/zip",
            key="zip",
            icon=":material/folder_zip:",
            on_click="ignore",
        )
        download_report(view, key="report")


def delete_panel(run: SavedRun, runs: list[SavedRun]) -> None:
    if not st.toggle("Delete this run …", key=f"delete-{run.key}"):
        return
    if jobs().running():
        st.warning(
            "A computation is running and may use these results. Wait until it ends.", icon=":material/hourglass_top:"
        )
        return
    stored = sum(store().has(key) for key in result_keys(run.scenario)) if run.scenario else 0
    st.markdown(delete_sentence(len(only_of(run, runs, store())), stored))
    if st.button("Delete for good", icon=":material/delete:", key="delete"):
        st.session_state["deleted"] = f"Deleted {run.name} and {plural(delete_run(run, runs, store()), 'stored part')}."
        st.rerun()


def choose_one(
    column: DeltaGenerator, label: str, control: controls.Control, runs: dict[str, SavedRun], first: str
) -> str:
    kept = st.session_state.get(control.name, first)
    return column.selectbox(
        label,
        runs,
        index=list(runs).index(kept if kept in runs else first),
        format_func=lambda key: runs[key].name if key in runs else key,
        key=f"pick-{control.name}",
        on_change=state.keep,
        args=(control, f"pick-{control.name}", state.current()),
    )


def compare(runs: dict[str, SavedRun]) -> None:
    st.subheader("Compare two runs")
    if len(runs) < 2:
        st.info(
            "Two runs with all their results are needed; change something on Simulate and start it.",
            icon=":material/info:",
        )
        return
    both = zip("AB", st.columns(2), (controls.RUN_A, controls.RUN_B), runs, strict=False)  # at first the latest two
    picked = [choose_one(column, f"Run {name}", control, runs, first) for name, column, control, first in both]
    views = [view for key in picked if (view := view_of(runs[key]))]
    if picked[0] == picked[1] or len(views) < 2:
        st.info("Choose two different runs.", icon=":material/info:")
        return
    side_by_side(views[0], views[1])


def side_by_side(first: View, second: View) -> None:
    st.markdown("**What differs**")
    table_with_download(difference_table(first.scenario, second.scenario), "differences", "Settings that differ.")
    comparable = same_unit(first.scenario, second.scenario)
    heads = [early(v.scenario, v.metrics, v.values) for v in (first, second)]
    st.markdown(comparison_sentence(heads[0], heads[1], comparable))
    methods = [m for m in METHODS if m in {*first.methods, *second.methods}]
    shown = st.pills(
        "Methods",
        methods,
        default=first_methods(methods, heads),
        selection_mode="multi",
        format_func=title_of,
        key=f"compared-{first.scenario.key}-{second.scenario.key}",
    )
    errors = errors_of_both([(v.scenario, v.metrics, v.values) for v in (first, second)])
    st.plotly_chart(
        both_errors(errors, ["run A", "run B"], [m for m in methods if m in shown], relative=not comparable),
        key="both",
        alt="Typical error of both runs over the observed share of the time; run A solid, run B dotted.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Colour and marker tell the method; solid lines belong to run A, dotted ones to run B. Further right the new policies "
            "have been observed for longer; lower is better."
        )
        named = errors.assign(run=errors["run"].map({0: "A", 1: "B"}), method=errors["method"].map(title_of))
        table_with_download(named, "both-errors", "Typical error of both runs.")


def share() -> None:
    st.caption("A link that opens this view for whoever uses this server: runs stay where they were computed")
    st.code(state.link(), language=None, wrap_lines=True)


with page_setup("Runs"):
    st.title("Saved runs")
    if message := st.session_state.pop("deleted", ""):
        st.success(plain(message), icon=":material/delete:")
    if found := all_runs():
        st.markdown(runs_sentence(found))
        table_with_download(runs_table(found), "runs", "Saved runs, newest first.")
        one_run(choose_run(found), found)
        compare(usable(found))
        fold("Share", "share", share)
    else:
        st.info("**No run is saved yet.** Start one on Simulate; it is kept here.", icon=":material/info:")
        st.page_link("pages/1_Simulate.py", label="Simulate", icon=":material/science:")
