"""Runs: running, saved and shipped results; open, compare, export and delete them."""

import pandas as pd
import streamlit as st

from shortlong.analysis.runs import Early, early, errors_of_runs, first_methods, same_unit
from shortlong.compute.results import Results
from shortlong.compute.run_labels import LONGEST_NAME, LONGEST_NOTE, RunLabel, write_label
from shortlong.compute.saved_runs import SavedRun, delete_run, only_of, stored_keys
from shortlong.core.harmless import figure_text, markdown
from shortlong.figures.runs import errors_by_run
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.ui import controls, modes, state
from shortlong.ui.admission import ADMIN_PAGE
from shortlong.ui.downloads import download_button
from shortlong.ui.exports import download_report, download_scenario, fold, table_with_download
from shortlong.ui.header import low_legend, slim_header
from shortlong.ui.jobs import Job
from shortlong.ui.page import cards, error_card, page_setup
from shortlong.ui.progress import watch
from shortlong.ui.results import jobs, store
from shortlong.ui.saved import all_runs, archive_of, running_runs, shipped_runs, usable, view_of
from shortlong.ui.share_panel import share_panel, shared_runs
from shortlong.ui.shares import end_shares
from shortlong.ui.theme import is_dark, wide
from shortlong.ui.turns import others_table, runs_of_others
from shortlong.words.glossary import explain_all
from shortlong.words.numbers import plural
from shortlong.words.runs import (
    compared_table,
    comparison_sentence,
    delete_sentence,
    difference_table,
    errors_table,
    many_runs_sentence,
    run_name,
    runs_sentence,
    runs_table,
    short_name,
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
    label_panel(run)
    if run.scenario is None:
        error_card(
            f"{run.problem} Delete it, or open it with the version that created it.", title="This run cannot be read"
        )
    else:
        st.code(run.scenario.to_command(), language="bash", wrap_lines=True)
        offers(run, run.scenario)
    if not run.shipped:
        if modes.mode() == "team" and (scenario := run.scenario) and run.complete:
            fold("Share this run", "share-run", lambda: share_panel(scenario))
        delete_panel(run, runs)


def label_panel(run: SavedRun) -> None:
    """Name, note and star of a run; kept as soon as they are given."""
    star, name, note = (f"{what}-{run.key}" for what in ("star", "name", "note"))
    first, second, third = st.columns([1, 3, 5], vertical_alignment="bottom")
    first.toggle("Star", value=run.label.star, key=star, on_change=keep_label, args=(run,))
    second.text_input(
        "Name", run.label.name, max_chars=LONGEST_NAME, key=name, on_change=keep_label, args=(run,),
        placeholder="what you call this run",
    )  # fmt: skip
    third.text_input(
        "Note", run.label.note, max_chars=LONGEST_NOTE, key=note, on_change=keep_label, args=(run,),
        placeholder="what it was for",
    )  # fmt: skip


def keep_label(run: SavedRun) -> None:
    given = {what: st.session_state[f"{what}-{run.key}"] for what in ("star", "name", "note")}
    with cards():
        write_label(store(), run.key, RunLabel(given["name"].strip(), given["note"].strip(), bool(given["star"])))


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
        if not run.shipped:  # shipped results do not include the predictions for each unit
            download_archive(run, scenario)
        download_report(view, key="report")


def download_archive(run: SavedRun, scenario: Scenario) -> None:
    here = store()
    download_button(
        "All results (ZIP)",
        make=lambda: archive_of(scenario, here),
        file_name=f"shortlong-{run.key[:6]}.zip",
        mime="application/zip",
        key="zip",
        icon=":material/folder_zip:",
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
    stored = sum(store().has(key) for key in stored_keys(run.scenario)) if run.scenario else 0
    unfinished = [job.scenario for job in jobs().all() if job.state != "finished" and job.scenario]
    st.markdown(delete_sentence(len(only_of(run, runs, store(), unfinished)), stored))
    if st.button("Delete permanently", icon=":material/delete:", key="delete"):
        parts = delete_run(run, runs, store(), unfinished)
        if run.scenario:
            end_shares(run.scenario)
        st.session_state["deleted"] = f"Deleted {run_name(run)} with {plural(parts, 'stored part')}."
        st.rerun()


def compare(runs: dict[str, SavedRun]) -> None:
    if len(runs) < 2:
        st.info(
            "Two runs are needed. Change a setting on Simulate and start a run.",
            icon=":material/info:",
        )
        return
    picked = st.multiselect(
        "Runs to compare",
        runs,
        default=[key for key in chosen_runs() if key in runs] or first_two(runs),
        max_selections=controls.RUNS.most,
        format_func=lambda key: run_name(runs[key]) if key in runs else key,
        key="pick-runs",
        on_change=state.keep,
        args=(controls.RUNS, "pick-runs", state.current()),
        help="Saved, shipped and running ones; of a running one what is finished so far.",
        label_visibility="collapsed",
        placeholder="Choose runs to compare",
    )
    judged = [(runs[key], view) for key in picked if (view := judged_view(runs[key]))]
    if len(judged) < len(picked):
        st.caption("Some of these runs have nothing to compare yet: no result is finished, or no outcome is known.")
    if len(judged) < 2:
        st.info("Choose at least two runs with results.", icon=":material/info:")
        return
    side_by_side([run for run, _ in judged], [view for _, view in judged])


def chosen_runs() -> list[str]:
    """What a person chose, or what a link of an earlier version asks for."""
    chosen = st.session_state.get(controls.RUNS.name)
    if chosen is not None:
        return chosen
    return [st.session_state[c.name] for c in (controls.RUN_A, controls.RUN_B) if c.name in st.session_state]


def first_two(runs: dict[str, SavedRun]) -> list[str]:
    """The latest run, and the next one of the same domain with other settings if there is one."""
    first, *others = runs
    scenarios = {key: run.scenario for key, run in runs.items() if run.scenario}
    alike = [key for key in others if scenarios[key].data.domain == scenarios[first].data.domain]
    return [first, next((key for key in alike if scenarios[key].key != scenarios[first].key), others[0])]


def judged_view(run: SavedRun) -> Results | None:
    """Results whose errors can be measured: where no outcome is known, those of the back-test."""
    view = view_of(run)
    return view if view is None or view.has_truth else view.back_test()


def side_by_side(runs: list[SavedRun], views: list[Results]) -> None:
    comparable = all(same_unit(views[0].scenario, view.scenario) for view in views)
    heads = [early(v.scenario, v.metrics, v.values) for v in views]
    two = len(heads) == 2
    st.markdown(
        comparison_sentence(heads[0], heads[1], comparable) if two else many_runs_sentence(heads, comparable),
        help=explain_all("RMSE", "SLEV", "SLED"),
    )
    methods = [m for m in METHODS if any(m in view.methods for view in views)]
    low_legend("compared_methods")
    key = "-".join(view.scenario.key for view in views)
    shown = st.container(key="compared_methods").pills(
        "Methods",
        methods,
        default=first_methods(methods, heads),
        selection_mode="multi",
        format_func=title_of,
        key=f"compared-{key}",
        label_visibility="collapsed",
    )
    errors = errors_of_runs([(v.scenario, v.metrics, v.values) for v in views])
    wide("errors-by-run")
    st.plotly_chart(
        errors_by_run(
            errors,
            [figure_text(short_name(run)) for run in runs],
            [m for m in methods if m in shown],
            relative=not comparable,
            dark=is_dark(),
        ),
        key="errors-by-run",
        alt="Error over the observed share of the full duration: one panel per method, one line per run.",
    )
    fold("Side by side: results and settings", "side-by-side", lambda: tables(runs, views, heads, errors))


def tables(runs: list[SavedRun], views: list[Results], heads: list[Early], errors: pd.DataFrame) -> None:
    """All numbers of the compared runs, and what differs in their settings."""
    st.caption("Results at the observation period closest to a tenth of the duration")
    table_with_download(compared_table(runs, heads, errors), "compared", "One row per run.")
    st.caption("Settings that differ")
    differences = difference_table([view.scenario for view in views])
    if differences.empty:
        st.markdown("The settings are identical.")
    else:
        table_with_download(differences, "differences", "Settings that differ.")
    st.caption("Errors at every observation period")
    table_with_download(errors_table(errors), "errors-of-runs", "Error of every run.")


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
    everything = sorted([*running_runs(), *saved, *shipped_runs()], key=lambda run: not run.label.star)
    if len(everything) > 1:
        compare(usable(everything))
    st.header("Saved and shipped results")
    if saved:
        st.markdown(runs_sentence(saved))
    elif not jobs_now:
        st.info("**No saved runs yet.** Start a run on Simulate; its results are kept here.", icon=":material/info:")
        st.page_link("pages/1_Simulate.py", label="Simulate", icon=":material/science:")
    if modes.mode() == "team":
        shared_runs()
    if everything:
        table_with_download(
            runs_table(everything),
            "runs",
            "Runs: starred ones, then running and saved ones, newest first, then shipped results.",
            columns={"done": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0)},
        )
        if ended := [run for run in everything if run.progress is None]:
            one_run(choose_run(ended), saved)
        fold("Share", "share", share)
