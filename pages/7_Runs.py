"""Runs: running, saved and shipped results; open, compare, export and delete them."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis.runs import SavedRun, delete_run, early, errors_of_both, first_methods, only_of, same_unit
from shortlong.compute.results import Results
from shortlong.compute.work import result_keys
from shortlong.core.harmless import markdown
from shortlong.figures.runs import both_errors
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.ui import controls, modes, state
from shortlong.ui.admission import ADMIN_PAGE
from shortlong.ui.exports import download_report, download_scenario, fold, table_with_download
from shortlong.ui.header import slim_header
from shortlong.ui.jobs import Job
from shortlong.ui.page import cards, error_card, page_setup
from shortlong.ui.progress import watch
from shortlong.ui.results import jobs, store
from shortlong.ui.saved import all_runs, archive_of, shipped_runs, usable, view_of
from shortlong.ui.shares import address_of, create_share, my_shares, stop_sharing
from shortlong.ui.turns import others_table, runs_of_others
from shortlong.words.glossary import explain_all
from shortlong.words.numbers import plural
from shortlong.words.runs import (
    comparison_sentence,
    delete_sentence,
    difference_table,
    run_name,
    runs_sentence,
    runs_table,
)
from shortlong.words.scenario import scenario_title, title_of


def choose_run(runs: list[SavedRun]) -> SavedRun:
    by_key = {run.key: run for run in runs}
    key = st.selectbox("Run", by_key, format_func=lambda k: run_name(by_key[k]) if k in by_key else k, key="run")
    return by_key[key]


def running_jobs(jobs_now: list[Job]) -> None:
    """Progress of every run in progress or in the queue, with a way to cancel it; of other people's only that it is there."""
    st.header("Running")
    for job in jobs_now:
        st.markdown(f"**{markdown(scenario_title(job.scenario)) if job.scenario else 'Unreadable scenario'}**")
        watch(job.id)
    if modes.is_shared() and (others := runs_of_others()):
        st.caption("Runs of other people")
        st.dataframe(others_table(others), hide_index=True, alt="Runs of other people, running ones first.")
        if modes.is_admin():
            st.page_link(ADMIN_PAGE, label="Administration: cancel any run", icon=":material/admin_panel_settings:")


def one_run(run: SavedRun, runs: list[SavedRun]) -> None:
    if run.scenario is None:
        error_card(
            f"{run.problem} Delete it, or open it with the version that created it.", title="This run cannot be read"
        )
    else:
        st.code(run.scenario.to_command(), language="bash", wrap_lines=True)
        offers(run, run.scenario)
    if not run.shipped:
        if modes.mode() == "team" and (scenario := run.scenario) and run.complete:
            fold("Share this run", "share-run", lambda: share_panel(run, scenario))
        delete_panel(run, runs)


def offers(run: SavedRun, scenario: Scenario) -> None:
    view = view_of(run) if run.complete else None
    if view is None:
        st.warning(
            f"{run.stored_results} of {run.expected_results} results are available; open the run to compute the rest.",
            icon=":material/history:",
        )
    with st.container(horizontal=True):
        if st.button("Open", type="primary", icon=":material/open_in_new:", key="open"):
            state.choose(scenario)
            st.switch_page("pages/2_Horizon.py", query_params=state.link_parameters())
        download_scenario(scenario, key="yaml-run")
        if view is None:
            return
        if not run.shipped:  # shipped results do not include the predictions for each patient
            download_archive(run, scenario)
        download_report(view, key="report")


def download_archive(run: SavedRun, scenario: Scenario) -> None:
    here = store()
    st.download_button(
        "All results (ZIP)",
        data=lambda: archive_of(scenario, here),
        file_name=f"shortlong-{run.key[:6]}.zip",
        mime="application/zip",
        key="zip",
        icon=":material/folder_zip:",
        on_click="ignore",
    )


def delete_panel(run: SavedRun, runs: list[SavedRun]) -> None:
    if not st.toggle("Delete this run", key=f"delete-{run.key}"):
        return
    if any(job.active for job in jobs().all()):
        st.warning(
            "A computation is running and may use these results. Wait until it has finished.",
            icon=":material/hourglass_top:",
        )
        return
    stored = sum(store().has(key) for key in result_keys(run.scenario)) if run.scenario else 0
    st.markdown(delete_sentence(len(only_of(run, runs, store())), stored))
    if st.button("Delete permanently", icon=":material/delete:", key="delete"):
        st.session_state["deleted"] = (
            f"Deleted {run_name(run)} with {plural(delete_run(run, runs, store()), 'stored part')}."
        )
        st.rerun()


def choose_one(
    column: DeltaGenerator, label: str, control: controls.Control, runs: dict[str, SavedRun], first: str
) -> str:
    kept = st.session_state.get(control.name, first)
    return column.selectbox(
        label,
        runs,
        index=list(runs).index(kept if kept in runs else first),
        format_func=lambda key: run_name(runs[key]) if key in runs else key,
        key=f"pick-{control.name}",
        on_change=state.keep,
        args=(control, f"pick-{control.name}", state.current()),
    )


def compare(runs: dict[str, SavedRun]) -> None:
    st.header("Compare two runs")
    if len(runs) < 2:
        st.info(
            "Two complete runs are needed. Change a setting on Simulate and start a run.",
            icon=":material/info:",
        )
        return
    both = zip("AB", st.columns(2), (controls.RUN_A, controls.RUN_B), first_two(runs), strict=True)
    picked = [choose_one(column, f"Run {name}", control, runs, first) for name, column, control, first in both]
    views = [view for key in picked if (view := view_of(runs[key]))]
    if picked[0] == picked[1] or len(views) < 2:
        st.info("Choose two different runs.", icon=":material/info:")
        return
    side_by_side(views[0], views[1])


def first_two(runs: dict[str, SavedRun]) -> tuple[str, str]:
    """The latest run, and the next one of the same domain with other settings if there is one."""
    first, *others = runs
    scenarios = {key: run.scenario for key, run in runs.items() if run.scenario}
    alike = [key for key in others if scenarios[key].data.domain == scenarios[first].data.domain]
    return first, next((key for key in alike if scenarios[key].key != scenarios[first].key), others[0])


def side_by_side(first: Results, second: Results) -> None:
    st.subheader("Settings that differ")
    differences = difference_table(first.scenario, second.scenario)
    if differences.empty:
        st.markdown("The settings are identical.")
    else:
        table_with_download(differences, "differences", "Settings that differ.")
    comparable = same_unit(first.scenario, second.scenario)
    heads = [early(v.scenario, v.metrics, v.values) for v in (first, second)]
    st.subheader("Error", help=explain_all("RMSE", "SLEV", "SLED"))
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
        alt="Error of both runs over the observed share of the full duration; run A solid, run B dotted.",
    )
    with st.expander("How to read this"):
        st.markdown(
            "Colour and marker identify the method; solid lines are run A, dotted lines run B. The observation period of the new "
            "policies grows to the right; lower is better."
        )
        named = errors.assign(run=errors["run"].map({0: "A", 1: "B"}), method=errors["method"].map(title_of))
        table_with_download(named, "both-errors", "Error of both runs.")


def share_panel(run: SavedRun, scenario: Scenario) -> None:
    """Give others a link to a run, and take it back."""
    with_whom = st.radio("Share with", ["named people", "everybody who can sign in"], key="share-with", horizontal=True)
    named = with_whom == "named people"
    text = st.text_input("E-mail addresses, separated by commas", key="share-people", max_chars=2000) if named else ""
    if st.button("Create a link", icon=":material/link:", key="share-create"):
        with cards():
            create_share(scenario, text if named else None)
            st.rerun()
    for number, shared in enumerate(my_shares(scenario)):
        st.caption(f"Shared with {markdown(', '.join(shared.people))} since {shared.created[:10]}")
        st.code(address_of(shared), language=None, wrap_lines=True)
        if st.button("Stop sharing", icon=":material/link_off:", key=f"unshare-{run.key}-{number}"):
            stop_sharing(shared)
            st.rerun()


def share() -> None:
    st.caption("Link to this view for users of this server; saved runs stay on the machine that computed them")
    st.code(state.link(), language=None, wrap_lines=True)


with page_setup("Runs"):
    slim_header("Runs", "Results that are running, saved or shipped: open, compare, export")
    if message := st.session_state.pop("deleted", ""):
        st.success(markdown(message), icon=":material/delete:")
    jobs_now = [job for job in jobs().all() if job.active]
    if jobs_now or (modes.is_shared() and runs_of_others()):
        running_jobs(jobs_now)
    saved = all_runs()
    everything = [*saved, *shipped_runs()]
    st.header("Saved and shipped results")
    if saved:
        st.markdown(runs_sentence(saved))
    elif not jobs_now:
        st.info("**No saved runs yet.** Start a run on Simulate; its results are kept here.", icon=":material/info:")
        st.page_link("pages/1_Simulate.py", label="Simulate", icon=":material/science:")
    if everything:
        table_with_download(runs_table(everything), "runs", "Saved runs, newest first, then shipped results.")
        one_run(choose_run(everything), saved)
        compare(usable(everything))
        fold("Share", "share", share)
