"""Reports as files, in the format that the name of the file asks for."""

from pathlib import Path

from shortlong.analysis.decision_view import DecisionView
from shortlong.compute.results import Results
from shortlong.core.errors import UserError, quoted
from shortlong.report.decision import decision_report
from shortlong.report.pdf import decision_pdf, run_pdf
from shortlong.report.run import report
from shortlong.report.slides import decision_slides
from shortlong.scenario import Scenario


def write_run(results: Results, file: Path) -> None:
    """The report of a run as HTML, or its page as PDF."""
    kept = results.without_failed()
    _write(file, {".html": lambda: report(kept).encode(), ".pdf": lambda: run_pdf(kept)}[file.suffix.lower()]())


def write_decision(view: DecisionView, scenario: Scenario, file: Path) -> None:
    """The page of a decision as HTML or PDF, or its slides; outcomes are in it where they are known."""
    made = {
        ".html": lambda: decision_report(view, scenario, reveal=True).encode(),
        ".pdf": lambda: decision_pdf(view, scenario, reveal=True),
        ".pptx": lambda: decision_slides(view, scenario),
    }
    _write(file, made[file.suffix.lower()]())


def _write(file: Path, content: bytes) -> None:
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UserError(f"The report could not be written to {quoted(str(file))}: {error.strerror}.") from error
