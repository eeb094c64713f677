"""Results that show themselves in a notebook."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.headline import at_horizon, usual_horizon
from shortlong.analysis.safety import averaged_predictions, opening_limit, rates_at
from shortlong.compute.results import Results
from shortlong.core.errors import UserError, quoted
from shortlong.core.home import living_in
from shortlong.domains import DOMAINS
from shortlong.domains.base import notice_of
from shortlong.figures.error import error_over_horizon
from shortlong.figures.safety_rates import rates_figure
from shortlong.figures.scatter import predicted_against_true, scatter_limits
from shortlong.report.html import paragraph, table
from shortlong.report.pdf import run_pdf
from shortlong.report.run import predicted_rows, predictions_title, report
from shortlong.scenario import Scenario
from shortlong.words.numbers import plural
from shortlong.words.policy_names import policy_text
from shortlong.words.scenario import scenario_line, title_of
from shortlong.words.time import horizon_text


@dataclass(frozen=True, repr=False)
class NotebookResults:
    """The results of a scenario: tables as pandas frames, charts as plotly figures.

    As the last line of a notebook's cell it shows the error of every method at every horizon, or the predictions where nobody
    knows the outcomes yet.

    Examples
    --------
    >>> import shortlong as sl
    >>> results = sl.results("kidney-paper", methods=["slev", "off_policy_mean"])
    >>> results  # with the blend of the two
    <results of kidney-paper: 3 methods, 8 horizons, 3 seeds, shipped>
    >>> results.values.columns.tolist()
    ['seed', 'method', 'horizon', 'policy', 'predicted', 'true']
    >>> [marks.name for marks in results.figure("scatter", horizon=3).data]
    ['exact', 'SLEV', 'Historical average', 'Blend (ours)']
    """

    results: Results
    home: Path | None = None  # the result folder that has the table of a study

    @property
    def scenario(self) -> Scenario:
        """Everything that defines these results."""
        return self.results.scenario

    @property
    def metrics(self) -> pd.DataFrame:
        """One row per seed, method and horizon: ``rmse_policy``, ``bias``, ``spearman`` and others."""
        return self.results.metrics

    @property
    def values(self) -> pd.DataFrame:
        """The value of each new policy, predicted and true, by seed, method and horizon."""
        return self.results.values

    @property
    def methods(self) -> list[str]:
        """Methods that have results."""
        return self.results.methods

    @property
    def left_out(self) -> dict[str, str]:
        """Why methods are missing: they do not apply to these data, or they failed."""
        return self.results.left_out

    @property
    def from_shipped(self) -> bool:
        """Whether these results come with the package and were not computed here."""
        return self.results.from_shipped

    def figure(
        self, name: str = "error", *, horizon: int | None = None, methods: Sequence[str] | None = None
    ) -> go.Figure:
        """Draw a chart.

        Parameters
        ----------
        name : {"error", "scatter", "safety"}
            ``error``: typical error of every method by observation period. ``scatter``: predicted against actual value of
            every policy. ``safety``: how often an alarm for poor policies would be right, missed or false.
        horizon : int, optional
            Observed steps; a tenth of the full length, as nearly as there are results, unless given.
        methods : sequence of str, optional
            Methods to draw; all unless given.

        Returns
        -------
        plotly.graph_objects.Figure

        Examples
        --------
        >>> import shortlong as sl
        >>> figure = sl.results("hiv-paper").figure("error", methods=["slev", "fqe"])
        >>> [line.name for line in figure.data if line.name]
        ['SLEV', 'Fitted Q']
        """
        draw = FIGURES.get(name)
        if draw is None:
            raise UserError(f"There is no figure {quoted(name)}; choose one of {', '.join(FIGURES)}.")
        with self._at_home():
            return draw(self.results, self._horizon(horizon), self._methods(methods))

    def report(self, horizon: int | None = None) -> str:
        """The report of these results as one HTML page, as the app exports it."""
        with self._at_home():
            return report(self.results.without_failed(), horizon=self._horizon(horizon))

    def pdf(self, horizon: int | None = None) -> bytes:
        """One page of A4 about these results as a PDF file, as the app exports it.

        Examples
        --------
        >>> import shortlong as sl
        >>> sl.results("hiv-demo").pdf()[:5]
        b'%PDF-'
        """
        with self._at_home():
            return run_pdf(self.results.without_failed(), horizon=self._horizon(horizon))

    def _at_home(self) -> AbstractContextManager[None]:
        return nullcontext() if self.home is None else living_in(self.home)

    def _horizon(self, horizon: int | None) -> int:
        known = self.results.horizons
        if horizon is None:
            return usual_horizon(known, self.scenario.system.steps)
        if horizon not in known:
            raise UserError(
                f"There are no results for horizon {quoted(horizon)}; choose from {', '.join(map(str, known))}, or compute it "
                f"with shortlong.run(..., horizons=[{horizon}])."
            )
        return horizon

    def _methods(self, methods: Sequence[str] | None) -> list[str]:
        chosen = self.methods if methods is None else [methods] if isinstance(methods, str) else list(methods)
        if unknown := [method for method in chosen if method not in self.methods]:
            raise UserError(f"There are no results of {quoted(unknown[0])}; choose from {', '.join(self.methods)}.")
        return chosen

    def __repr__(self) -> str:
        counts = [
            plural(len(self.methods), "method"),
            plural(len(self.results.horizons), "horizon"),
            plural(len(self.scenario.seeds), "seed"),
            *(["shipped"] if self.from_shipped else []),
        ]
        return f"<results of {self.scenario.preset or self.scenario.data.domain}: {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: errors or, where nobody knows the outcomes, predictions; and what is left out."""
        scenario = self.scenario
        with self._at_home():
            parts = (
                paragraph(scenario_line(scenario)),
                *(self._error_parts() if self.results.has_truth else self._prediction_parts()),
                *(paragraph(f"{title_of(method)}: {reason}") for method, reason in self.left_out.items()),
                paragraph(notice_of(DOMAINS[scenario.data.domain], scenario.data)),
            )
        return "\n".join(parts)

    def _error_parts(self) -> list[str]:
        words = "Typical error of a policy's value (RMSE) by method and observation period, mean over seeds"
        return [paragraph(words), table(self._errors())]

    def _prediction_parts(self) -> list[str]:
        """Where nobody knows the outcomes yet: what is predicted at the last horizon, with bounds."""
        at = max(self.results.horizons)
        rows = predicted_rows(self.results, at)
        return [
            paragraph(predictions_title(self.scenario, at)),
            table(rows[["policy", "method", "predicted", "bounds"]]),
        ]

    def _errors(self) -> pd.DataFrame:
        errors = self.metrics.pivot_table(
            index="method", columns="horizon", values="rmse_policy", sort=False, observed=True
        )
        system = self.scenario.system
        named = errors.rename(index=title_of, columns=lambda horizon: horizon_text(system, int(horizon)))
        return named.rename_axis(columns=None).reset_index()


def _error(results: Results, horizon: int, methods: Sequence[str]) -> go.Figure:
    return error_over_horizon(results.metrics, results.scenario.system, methods, horizon)


def _scatter(results: Results, horizon: int, methods: Sequence[str]) -> go.Figure:
    history = results.history
    return predicted_against_true(
        at_horizon(results.values, horizon),
        methods,
        scatter_limits(results.values[results.values["method"].isin(methods)]),
        None if history is None else (float(history.min()), float(history.max())),
        names={str(policy): policy_text(results.scenario, str(policy)) for policy in results.values["policy"].unique()},
    )


def _safety(results: Results, horizon: int, methods: Sequence[str]) -> go.Figure:
    if results.history is None:
        raise UserError("The histories of this scenario are not at hand; compute it again with shortlong.run(...).")
    averaged = averaged_predictions(results.values)
    rates = rates_at(averaged, opening_limit(results.history, averaged.true).value)
    return rates_figure(rates, horizon, results.scenario.system, methods)


FIGURES: dict[str, Callable[[Results, int, Sequence[str]], go.Figure]] = {
    "error": _error,
    "scatter": _scatter,
    "safety": _safety,
}
