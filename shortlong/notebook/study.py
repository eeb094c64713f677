"""One's own table in a notebook: from a data frame or a file to predictions, a back-test and decisions.

Everything heavy is imported when it is needed, so that ``sl.Study`` itself comes at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlong.core.errors import UserError, quoted
from shortlong.core.home import living_in
from shortlong.words.numbers import plural

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from shortlong.analysis.decision_view import DecisionView
    from shortlong.analysis.intervals import Kind
    from shortlong.analysis.rules import Mode
    from shortlong.compute.results import Results
    from shortlong.compute.store import Store
    from shortlong.core.calibration import Leave
    from shortlong.domains.table import Report
    from shortlong.notebook.results import NotebookResults
    from shortlong.scenario import Scenario

HISTORY_FIGURES = ("error", "scatter", "safety")
LONGEST_NAME = 60
Names = Iterable[str] | None


class Study:
    """A person's own table: checked, and ready to be predicted from. Made by `from_table`.

    The examples of the methods go on with the ``study`` of this one.

    Examples
    --------
    Six old arms were followed for four weeks; a new arm has two weeks.

    >>> import pandas as pd, tempfile
    >>> import shortlong as sl
    >>> rows = [
    ...     (arm, f"{arm}{person}", week, number + person / 10 + week)
    ...     for number, arm in enumerate("ABCDEFN") for person in range(3) for week in range(4 if arm != "N" else 2)
    ... ]
    >>> table = pd.DataFrame(rows, columns=["arm", "person", "week", "benefit"])
    >>> store = sl.Store(tempfile.mkdtemp())
    >>> study = sl.Study.from_table(table, store=store)
    >>> study
    <study of table: 6 historical policies, 1 new policy, 21 units, 4 steps>
    >>> predictions = study.predict(horizon=2, methods=["mean_reward", "off_policy_mean"])
    >>> predictions[["policy", "method", "units"]].values.tolist()
    [['N', 'mean_reward', 3], ['N', 'off_policy_mean', 3], ['N', 'blend', 3]]
    >>> study.backtest(horizons=[2], methods=["mean_reward", "off_policy_mean"])["method"].tolist()
    ['mean_reward', 'off_policy_mean', 'blend']
    """

    def __init__(self, report: Report, name: str, store: Store):
        self.report = report
        self.name = name
        self.store = store
        self._content = ""

    @classmethod
    def from_table(
        cls,
        table: str | PathLike[str] | pd.DataFrame,
        columns: Mapping[str, Any] | str | None = None,
        new: Names = None,
        length: int | None = None,
        name: str | None = None,
        store: Store | None = None,
        **choices: Any,
    ) -> Study:
        """Check a table. It may have errors: then `problems` shows them, and nothing can be computed.

        Parameters
        ----------
        table : path or DataFrame
            One row per policy, unit and step. CSV with any delimiter (also packed as .gz), Parquet, Feather or .xlsx.
        columns : mapping or str, optional
            Which column is which, ``{"policy": "arm", "states": ["a", "b"]}`` or ``"policy=arm,states=a+b"``; what is not named
            is guessed.
        new : iterable of str, optional
            The new policies. Without it: by the role column, else those that are not followed to the end.
        length : int, optional
            The full length in steps; without it what most old units reach.
        name : str, optional
            Under which the table is kept; the name of the file unless given.
        store : Store, optional
            Result folder; that of ``SHORTLONG_HOME`` unless given.
        **choices
            ``timing``, ``leaving``, ``missing``, ``grid``, ``formula`` and others, as ``data add --help`` names them.
        """
        from shortlong.compute.store import Store
        from shortlong.domains.table import Choices, check, parse_columns, read_any, unreadable
        from shortlong.domains.table.datasets import check_name
        from shortlong.domains.table.problems import UnreadableTableError
        from shortlong.scenario.preset_table import PRESETS

        called = check_name(name or _name_of(table), PRESETS)
        chosen = _choices(Choices, {"new": _names(new), "length": length, **choices})
        kept = store or Store()
        try:
            raw = read_any(Path(table) if isinstance(table, str | PathLike) else table)
        except UnreadableTableError as error:
            return cls(unreadable(error), called, kept)
        given = parse_columns(columns, raw.frame) if isinstance(columns, str) else columns
        return cls(check(raw, given, chosen), called, kept)

    @property
    def problems(self) -> pd.DataFrame:
        """Errors and warnings: code, severity, count, rows, message, remedy.

        Examples
        --------
        >>> set(study.problems["severity"]) <= {"warning"}
        True
        """
        return self.report.problem_table()

    def summary(self) -> str:
        """The table in prose: who is old and who is new, how long they were followed, what is novel, all warnings.

        Examples
        --------
        >>> "6 historical policies" in study.summary()
        True
        """
        from shortlong.words.own_data import summary_lines

        return "\n".join(summary_lines(self.report))

    @property
    def scenario(self) -> Scenario:
        """Everything that defines the results; the table is stored under its name when this is first asked for."""
        return self._scenario()

    def run(
        self, horizons: Iterable[int] | None = None, methods: Names = None, leave: Leave = "policy"
    ) -> NotebookResults:
        """Compute what is missing and return all results, as `shortlong.run` does.

        Parameters
        ----------
        horizons : iterable of int, optional
            Observed steps; a handful unless given.
        methods : iterable of str, optional
            Methods; all that can run unless given.
        leave : {"policy", "family", "era"}
            What the back-test on the history leaves out together.

        Examples
        --------
        >>> study.run(horizons=[2], methods=["mean_reward", "off_policy_mean"])
        <results of table: 3 methods, 1 horizon, 1 seed>
        """
        from shortlong.notebook.results import NotebookResults

        return NotebookResults(self._run(horizons, methods, leave), self.store.root)

    def predict(self, horizon: int, methods: Names = None, level: float = 0.8, kind: Kind = "cv+") -> pd.DataFrame:
        """Predict the long-term value of every new policy.

        Parameters
        ----------
        horizon : int
            Observed steps that the prediction uses.
        methods : iterable of str, optional
            Methods; all that can run unless given.
        level : float
            Level of the intervals.
        kind : {"cv+", "together", "weighted", "family", "unit"}
            At one look, at all looks together, weighted for shift, for whole new families, or for one unit under the policy.

        Returns
        -------
        DataFrame
            policy, method, horizon, predicted, lower, upper, reason, units; a bound is missing where none is finite, and
            ``reason`` says why. Its ``attrs`` hold the ``level`` and ``kind`` of the intervals, what the back-test left out
            (``leave``), the ``promise`` with its ``condition`` (empty where no bound is finite), the ``warnings``, and
            ``not_applicable`` methods with their reasons.

        Examples
        --------
        >>> predictions = study.predict(horizon=2, methods=["mean_reward", "off_policy_mean"])
        >>> predictions.columns.tolist()
        ['policy', 'method', 'horizon', 'predicted', 'lower', 'upper', 'reason', 'units']
        >>> predictions.attrs["condition"]
        'if new policies are to historical ones as historical ones are to each other'
        """
        import pandas as pd

        from shortlong.analysis.outlook import leave_of, outlook
        from shortlong.analysis.promises import check_level
        from shortlong.words.outlook import as_rows, certainty_of, warnings_of

        check_level(level)
        self._check_new()
        leave = leave_of(kind)
        looks = [*self.scenario.horizons, horizon] if kind == "together" else [horizon]
        results = self._run(looks, methods, leave)
        with living_in(self.store.root):
            table = outlook(results, level, kind, horizons=[horizon])
            found = pd.DataFrame(as_rows(results, table)).astype({"lower": float, "upper": float})
            certainty: dict[Any, Any] = certainty_of(results, table, level, kind, leave)
            found.attrs = {
                **certainty,
                "warnings": warnings_of(results, table, level),
                "not_applicable": dict(results.left_out),
            }
        return found

    def backtest(
        self, horizons: Iterable[int] | None = None, leave: Leave = "policy", methods: Names = None
    ) -> pd.DataFrame:
        """Errors of every method on old policies that it had not seen: one row per method and horizon.

        Parameters
        ----------
        horizons : iterable of int, optional
            Observed steps; a handful unless given.
        leave : {"policy", "family", "era"}
            What is left out together.
        methods : iterable of str, optional
            Methods; all that can run unless given.

        Examples
        --------
        >>> errors = study.backtest(horizons=[2], methods=["mean_reward", "off_policy_mean"])
        >>> errors.loc[errors["method"] == "off_policy_mean", "rmse_policy"].round(2).tolist()
        [8.2]
        """
        found = self._judged(horizons, leave, methods).metrics
        return found.drop(columns=["rmse_unit", "seconds", "seed"]).reset_index(drop=True)

    def backtest_predictions(
        self, horizons: Iterable[int] | None = None, leave: Leave = "policy", methods: Names = None
    ) -> pd.DataFrame:
        """The back-test policy by policy: method, horizon, policy, predicted, true, and the interval made by the others.

        The interval is ``lower`` and ``upper``, the ``reason`` where one is missing, its ``level`` and its ``kind``.

        Examples
        --------
        >>> judged = study.backtest_predictions(horizons=[2], methods=["mean_reward", "off_policy_mean"])
        >>> judged.loc[judged["method"] == "mean_reward", "policy"].tolist()
        ['A', 'B', 'C', 'D', 'E', 'F']
        """
        from shortlong.analysis.outlook import back_test_rows

        return back_test_rows(self._judged(horizons, leave, methods), leave)

    def decide(
        self,
        horizon: int,
        threshold: float | None = None,
        quantile: float | None = None,
        level: float = 0.9,
        mode: Mode = "interval",
        kind: Kind = "together",
        method: str | None = None,
        methods: Names = None,
    ) -> pd.DataFrame:
        """Stop, keep watching or continue, for every new policy.

        Parameters
        ----------
        horizon : int
            Observed steps.
        threshold, quantile : float, optional
            A policy is unsafe if its value ends below this, given as a value or as a share of the historical values; the 10th
            percentile of the history unless given.
        level : float
            Level of the promise.
        mode : {"interval", "one-sided", "risk"}
            What is promised.
        kind : {"cv+", "together", "weighted", "family"}
            Kind of interval.
        method : str, optional
            Whose predictions; by default whom the history trusts.
        methods : iterable of str, optional
            Methods that are computed.

        Returns
        -------
        DataFrame
            policy, decision, reason, predicted, lower, upper, next_look. Its ``attrs`` hold the ``promise``, the ``condition``
            under which it holds, the ``backtest`` of the same rule in words, the ``method``, the ``threshold`` and the ``warnings``.

        Examples
        --------
        >>> decisions = study.decide(2, quantile=0.1, level=0.8, methods=["mean_reward", "off_policy_mean"])
        >>> decisions["policy"].tolist()
        ['N']
        >>> decisions.attrs["promise"]
        'The chance that a new policy is decided wrongly is at most 20 %, however often one looks.'
        """
        import pandas as pd

        from shortlong.words.decide_records import decision_record
        from shortlong.words.unseen_actions import unseen_warnings

        self._check_new()
        view = self._view(horizon, methods, threshold=threshold, quantile=quantile, level=level, mode=mode, kind=kind, method=method)  # fmt: skip
        scenario = self.scenario
        with living_in(self.store.root):
            warnings = [*scenario.data.warnings, *unseen_warnings(scenario, [view.method])]
        record = decision_record(view, warnings=warnings)
        found = pd.DataFrame(record["decisions"])
        found.attrs = {
            "promise": record["promise"]["text"],
            "condition": record["promise"]["condition"],
            "backtest": record["backtest"]["text"] if record["backtest"] else "",
            "method": record["method"],
            "threshold": record["threshold"],
            "warnings": record["warnings"],
        }
        return found

    def pdf(
        self,
        horizon: int,
        threshold: float | None = None,
        quantile: float | None = None,
        methods: Names = None,
        **rule: Any,
    ) -> bytes:
        """The decisions at a horizon on one page of A4, as a PDF file; takes what ``decide`` takes.

        Examples
        --------
        >>> study.pdf(2, level=0.8, methods=["mean_reward", "off_policy_mean"])[:5]
        b'%PDF-'
        """
        from shortlong.report.pdf import decision_pdf

        self._check_new()
        view = self._view(horizon, methods, threshold=threshold, quantile=quantile, **rule)
        with living_in(self.store.root):
            return decision_pdf(view, self.scenario)

    def watch(
        self, threshold: float | None = None, quantile: float | None = None, level: float = 0.9, methods: Names = None
    ) -> pd.DataFrame:
        """How long must we watch? What each observation period would have decided about old policies, and its cost.

        Examples
        --------
        >>> study.watch(level=0.8, methods=["mean_reward", "off_policy_mean"])["policies"].unique().tolist()
        [6]
        """
        import pandas as pd

        from shortlong.words.decide_records import watch_records

        self._check_new()
        looks = self.scenario.horizons
        view = self._view(looks[-1], methods, threshold=threshold, quantile=quantile, level=level)
        return pd.DataFrame(watch_records(view))

    def figure(self, name: str = "error", horizon: int | None = None, methods: Names = None) -> go.Figure:
        """Draw a chart.

        Parameters
        ----------
        name : {"error", "scatter", "safety", "decide"}
            ``error``, ``scatter`` and ``safety`` are about the back-test on the history, where the outcome is known; ``decide``
            shows the new policies with their intervals.
        horizon : int, optional
            Observed steps; a tenth of the full length, as nearly as there are results, unless given.
        methods : iterable of str, optional
            Methods that are computed.

        Examples
        --------
        >>> [marks.name for marks in study.figure("scatter", 2, methods=["mean_reward", "off_policy_mean"]).data]
        ['exact', 'Mean reward', 'Historical average', 'Blend (ours)']
        """
        from shortlong.notebook.results import NotebookResults

        if name not in (*HISTORY_FIGURES, "decide"):
            raise UserError(f"There is no figure {quoted(name)}; choose one of {', '.join(HISTORY_FIGURES)}, decide.")
        if name == "decide":
            return self._decision_figure(horizon, methods)
        looks = None if horizon is None else sorted({*self.scenario.horizons, horizon})
        judged = self._judged(looks, "policy", methods)
        with living_in(self.store.root):
            return NotebookResults(judged).figure(name, horizon=horizon)

    def _decision_figure(self, horizon: int | None, methods: Names) -> go.Figure:
        from shortlong.figures.decide import strip
        from shortlong.words.policy_names import policy_text

        self._check_new()
        view = self._view(horizon or self.scenario.horizons[-1], methods)
        with living_in(self.store.root):
            scenario = self.scenario
            names = {str(policy): policy_text(scenario, str(policy)) for policy in view.new_policies["policy"]}
            rows = view.decided[view.decided["method"] == view.method]
            return strip(rows, view.horizon, view.rule.threshold, scenario.system, names=names, play=False)

    def _scenario(self, horizons: Iterable[int] | None = None, methods: Names = None) -> Scenario:
        from shortlong.notebook.run import scenario_of

        self._keep()
        looks = None if horizons is None else sorted({int(horizon) for horizon in horizons})
        with living_in(self.store.root):
            return scenario_of(self.name, horizons=looks, methods=_names(methods))

    def _run(self, horizons: Iterable[int] | None, methods: Names, leave: Leave) -> Results:
        """All results; a sentence where these data do not allow a back-test by family or era."""
        from shortlong.compute import experiment

        chosen = self._scenario(horizons, methods)
        with living_in(self.store.root):
            results = experiment.run(chosen, self.store, jobs=1, leave=leave)
            if leave != "policy" and results.calibration(leave) is None:
                raise UserError(results.why_not_judged(leave))
            return results

    def _keep(self) -> None:
        """Store the table once; refused while it has errors."""
        from shortlong.domains.table import add
        from shortlong.words.own_data import problem_text

        if errors := self.report.errors:
            more = f" ({len(errors) - 1} more in .problems)" if len(errors) > 1 else ""
            raise UserError(f"{problem_text(errors[0])}{more}")
        if not self._content:
            self._content = add(self.report, self.name, home=self.store.root)

    def _check_new(self) -> None:
        self._keep()
        if not self.report.new:
            raise UserError(
                "The table has no new policy to predict; name them with new=[...], or let the history judge itself with .backtest()."
            )

    def _judged(self, horizons: Iterable[int] | None, leave: Leave, methods: Names) -> Results:
        results = self._run(horizons, methods, leave)
        with living_in(self.store.root):
            if (judged := results.back_test(leave)) is None:
                raise UserError(results.why_not_judged(leave))
            return judged

    def _view(self, horizon: int, methods: Names, **rule: Any) -> DecisionView:
        from shortlong.analysis.decision_view import view_of
        from shortlong.analysis.outlook import leave_of

        leave = leave_of(rule.get("kind", "together"))
        results = self._run([*self.scenario.horizons, horizon], methods, leave)
        with living_in(self.store.root):
            return view_of(results, horizon=horizon, **rule)

    def __repr__(self) -> str:
        report = self.report
        if errors := len(report.errors):
            return f"<study of {self.name}: {plural(errors, 'error')}, see .problems>"
        counts = (
            plural(len(report.old), "historical policy"),
            plural(len(report.new), "new policy"),
            plural(report.units, "unit"),
            plural(report.steps, "step"),
        )
        return f"<study of {self.name}: {', '.join(counts)}>"


def _name_of(table: Any) -> str:
    """A name that a data set can bear, from the name of the file."""
    stem = Path(table).name.split(".")[0] if isinstance(table, str | PathLike) else "table"
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-")[:LONGEST_NAME] or "table"


def _names(names: Names) -> list[str] | None:
    return None if names is None else [names] if isinstance(names, str) else [str(name) for name in names]


def _choices(kind: Any, given: Mapping[str, Any]) -> Any:
    known = [field.name for field in fields(kind)]
    if unknown := [name for name in given if name not in known]:
        raise UserError(f"There is no choice {quoted(unknown[0])}; known are {', '.join(known)}.")
    return kind.from_json({name: value for name, value in given.items() if value is not None})
