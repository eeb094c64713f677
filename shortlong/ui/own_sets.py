"""The data sets of a person on the page: start one, open and remove it, and see how good earlier predictions were."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from shortlong.analysis.headline import at_horizon
from shortlong.analysis.intervals import Kind
from shortlong.analysis.later_truth import how_good, later_truth, outcomes_of, why_not_comparable
from shortlong.analysis.outlook import LEVEL, outlook, trusted_method
from shortlong.compute.computations import has_new_policies
from shortlong.compute.results import Results
from shortlong.core.errors import UserError
from shortlong.core.harmless import markdown, sentence
from shortlong.domains.table import Report, add, list_tables, remove, versions
from shortlong.domains.table.domain import TableSettings
from shortlong.figures.scatter import predicted_against_true, scatter_limits
from shortlong.scenario import Scenario
from shortlong.scenario.preset_table import PRESETS
from shortlong.scenario.scenario import named_scenario
from shortlong.scenario.tables import data_set_content
from shortlong.ui import modes, own_table, state
from shortlong.ui.exports import table_with_download
from shortlong.ui.kept import once_per_results
from shortlong.ui.page import PAGES
from shortlong.ui.progress import compute_panel
from shortlong.ui.results import jobs, load, load_own, store
from shortlong.ui.serving import turn
from shortlong.words.numbers import percent
from shortlong.words.outlook import certainty_of, warnings_of
from shortlong.words.own_controls import on_page
from shortlong.words.own_data import data_set_line, later_text
from shortlong.words.scenario import title_of, value_text
from shortlong.words.time import horizon_text

NEXT = ("Decide", "Horizon", "Policies", "Safety", "Shift")  # pages that go on from here, where they exist
KIND: Kind = "cv+"


def start(report: Report, name: str, methods: Sequence[str]) -> Scenario:
    """Keep a checked table under a name, make it the scenario of the session and compute it."""
    own_table.check_room(int(report.table.frame.memory_usage().sum()) if report.table else 0)
    add(report, name, home=store().root, reserved=PRESETS)
    scenario = named_scenario(name)
    if methods:
        scenario = scenario.changed({"methods": ",".join(methods)}, source="your choice of methods")
    before = state.earlier(scenario)
    state.choose(scenario)
    jobs().start(scenario, before)
    return scenario


def saved() -> None:
    """All data sets, to open or to remove."""
    found = list_tables(store().root)
    if not found:
        return
    st.header("Your data sets")
    for data_set in found:
        with st.container(border=True):
            words, opening, removing = st.columns([6, 1.1, 1.3], vertical_alignment="center")
            count = len(versions(data_set.name, store().root))
            words.markdown(f"**{markdown(data_set.name)}**  \n{sentence(data_set_line(data_set.about, count))}")
            if opening.button("Open", key=f"own-open-{data_set.name}", icon=":material/arrow_forward:"):
                state.choose(named_scenario(data_set.name))
                st.rerun()
            with removing.popover("Remove", icon=":material/delete:", key=f"own-ask-{data_set.name}"):
                st.markdown(
                    "The table goes away. Results that were made from it stay on Runs until you remove them there."
                )
                if st.button("Remove it", key=f"own-remove-{data_set.name}"):
                    _remove(data_set.name)
                    st.rerun()


def _remove(name: str) -> None:
    remove(name, store().root)
    if state.current().data.model_dump().get("name") == name:
        st.session_state.pop(state.LAST_SHOWN, None)
        state.choose(state.first_scenario(state.FIRST_DOMAIN))


def current() -> None:
    """The data set that the session is about: its run, its predictions, the pages that go on, and the truth that came later."""
    scenario = state.current()
    settings = scenario.data
    if not isinstance(settings, TableSettings):
        return
    st.header(f"Results of {markdown(settings.name)}")
    compute_panel(scenario, "Start")
    results = load(scenario)
    if results is not None:
        predictions(results)
        ways_on()
    earlier_predictions(scenario, settings)


def ways_on() -> None:
    with st.container(horizontal=True):
        for file, name, icon in PAGES:
            if name in NEXT and st.button(name, icon=icon, key=f"own-to-{name}"):
                st.switch_page(file, query_params=state.link_parameters())


def predictions(results: Results) -> None:
    """Every new policy by the method that the history trusts, at the longest horizon."""
    if not has_new_policies(results.scenario):
        st.markdown("No policy is new: the pages show how well the history can be predicted from its beginnings.")
        return
    horizon = results.horizons[-1]
    method = trusted_method(results, horizon) or results.methods[0]
    rows = _outlook(results, horizon)
    rows = rows[rows["method"] == method]
    st.markdown(
        f"Predictions by **{title_of(method)}**, the method that the history trusts most, after {horizon_text(results.scenario.system, horizon)}. "
        f"{certainty_of(results, rows, LEVEL, KIND, 'policy')['promise'] if results.calibration() is not None else 'There is no back-test, so there are no intervals.'}"
    )
    shown = rows.sort_values("predicted", ascending=False)[["policy", "predicted", "lower", "upper"]]
    titles = {"policy": "policy", "lower": f"{percent(LEVEL)} interval from", "upper": "to"}
    table_with_download(
        shown.rename(columns=titles), f"predictions-{results.scenario.key[:6]}", "Predicted values with intervals"
    )
    for warning in warnings_of(results, rows, LEVEL):
        st.caption(sentence(on_page(warning)))


@once_per_results(8)
def _outlook(results: Results, horizon: int) -> pd.DataFrame:
    return outlook(results, LEVEL, KIND, horizons=[horizon])


def earlier_predictions(scenario: Scenario, settings: TableSettings) -> None:
    """What was predicted from an earlier file of the same name, beside what came."""
    known = versions(settings.name, store().root)
    before = known[: known.index(settings.content)] if settings.content in known else []
    if not before:
        return
    st.subheader("Earlier predictions and actual outcomes")
    for content in reversed(before):
        earlier = TableSettings(name=settings.name, content=content)
        results = _results_of(earlier)
        if results is None:
            continue
        if problem := why_not_comparable(earlier, settings):
            st.info(sentence(problem), icon=":material/info:")
            return
        _compared(scenario, settings, results)
        return
    st.markdown("Nothing was predicted from the earlier file, so there is nothing to compare.")


def _compared(scenario: Scenario, settings: TableSettings, results: Results) -> None:
    horizon = results.horizons[-1]
    method = trusted_method(results, horizon) or results.methods[0]
    compared = later_truth(_outlook(results, horizon), _outcomes(settings.content, settings))
    if compared.empty:
        st.markdown("No policy that was new then has been followed to the end yet.")
        return
    good = how_good(compared)
    row = good[good["method"] == method].to_dict("records")[0]
    period = horizon_text(scenario.system, horizon)
    error = value_text(scenario, float(row["rmse"]))
    st.markdown(sentence(later_text(title_of(method), period, {str(k): v for k, v in row.items()}, LEVEL, error)))
    own = compared[compared["method"] == method]
    st.plotly_chart(
        predicted_against_true(at_horizon(own, horizon), [method], scatter_limits(own), height=320),
        key="own-later",
        alt="Earlier predictions against the outcomes that are known now, one mark per policy.",
    )
    columns = ["policy", "predicted", "lower", "upper", "true", "error"]
    table_with_download(own[columns], f"later-{scenario.key[:6]}", "Earlier predictions and outcomes")


@st.cache_resource(max_entries=16, show_spinner="Reading the outcomes …")
def _outcomes(content: str, _settings: TableSettings) -> dict[str, float]:
    return outcomes_of(_settings)


def _results_of(earlier: TableSettings) -> Results | None:
    """Results from an earlier content: of its usual scenario, else of a run that somebody started."""
    candidates: list[Scenario] = []
    try:
        candidates.append(Scenario.build(data_set_content(earlier.name, earlier.content), source=earlier.name))
    except UserError:
        return None
    candidates += [job.scenario for job in reversed(jobs().all()) if job.scenario and job.scenario.data == earlier]
    return next((found for chosen in candidates if (found := load_own(chosen)) is not None), None)


def try_example() -> None:
    """Callback: the example as if it had been dropped."""
    st.session_state.pop(own_table.UPLOAD_ERROR, None)
    try:
        with turn(modes.whose_page()):  # a callback comes before its page has one
            own_table.keep_example()
    except UserError as error:
        st.session_state[own_table.UPLOAD_ERROR] = str(error)
