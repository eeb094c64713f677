"""The Markdown page: the paper's statements and numbers beside ours, where they differ, and where ours come from.

Every number and every "holds" is made from the results; only the paper's words and the known differences are written down.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from shortlong.domains.battery.table1 import METHODS
from shortlong.domains.battery.table1 import PAPER as PRINTED
from shortlong.paper import PartName
from shortlong.paper.checks_other import (
    HIV_PRINTED,
    KIDNEY_PRINTED,
    accuracies,
    late_example,
    limit,
    pair_example,
    printed_cells,
)
from shortlong.paper.evidence import BatteryTable, Curves, Evidence, Measured
from shortlong.paper.figures import Picture
from shortlong.paper.outcome import Claim, Outcome, Verdict
from shortlong.paper.provenance import COMPUTED, METHODS_ALONE
from shortlong.paper.reasons import reasons
from shortlong.wording import duration, number, percent, title_of

CITATION = "H. A. Nam, Y. Chandak, E. Brunskill: *Short-Long Policy Evaluation with Novel Actions*"
SIZES_SAID = {
    "demo": "This is the **demo size**: few policies and patients and a small search. It shows that everything runs; "
    "what it says about the paper is weak.",
    "standard": "This is the **standard size**: fewer policies and patients and a smaller search than the paper's.",
    "paper": "This is the **paper's size**: its numbers of policies and patients, its horizons, and its choice of settings, "
    "searched by a race where trying all of them to the end would take hours.",
    "own": "This was made with **own scenarios**, not with those of the paper's size; they are named at the end.",
}
VERDICT_MARKS: dict[Verdict, str] = {
    "holds": "✓ holds",
    "does not hold": "✗ does not hold",
    "cannot tell": "? cannot tell",
}
VERDICT_COUNTED: dict[Verdict, str] = {"holds": "hold", "does not hold": "do not hold", "cannot tell": "cannot be told"}
PART_TITLES: dict[PartName, str] = {
    "figure2": "Figure 2: can long-term values be predicted?",
    "figure3": "Figure 3: can unsafe policies be detected early?",
    "table1": "Table 1: batteries and skewed training data",
    "examples": "Examples: misleading early rewards",
}
DOMAIN_TITLES = {"hiv": "HIV", "kidney": "Kidney", "both": "Both domains", "battery": "Battery"}
MEANINGS = (
    "Words such as “small” or “poorly” have to be given a meaning before code can check them; it stands under “Checked”. These "
    "meanings are ours. They were chosen without the results of paper size, but with early trials on HIV known, and another "
    "meaning could give another verdict: read the numbers beside it."
)
NO_PRINTED_NUMBERS = (
    "The paper prints no numbers of this figure, only the picture and the statements below; they stand beside ours."
)


@dataclass(frozen=True)
class Origin:
    """How the results were made."""

    command: str
    machine: str
    versions: str
    scenarios: pd.DataFrame  # as provenance.scenario_table makes it

    @property
    def shipped(self) -> list[str]:
        """Scenarios whose results came with the project."""
        return list(self.scenarios["scenario"][self.scenarios["origin"] != COMPUTED])

    @property
    def partly_timed(self) -> list[str]:
        """Scenarios of which only the methods' time is known."""
        return list(self.scenarios["scenario"][self.scenarios["cpu_of"] == METHODS_ALONE])


def markdown(
    size: str,
    measured: Measured,
    checked: Sequence[tuple[Claim, Outcome]],
    pictures: Sequence[Picture],
    origin: Origin,
    folder: str,
    no_images: str | None = None,
) -> str:
    """The page; ``folder`` holds its pictures and tables, ``no_images`` says why there are no pictures."""
    parts = [part for part in PART_TITLES if any(claim.part == part for claim, _ in checked)]
    blocks = [
        "# The paper beside our results",
        f"{CITATION}. {SIZES_SAID[size]} Made by `{origin.command}`; written by hand are only the paper's words, "
        "the known differences, and what is checked of each statement.",
        *_shipped(origin),
        MEANINGS,
        *([no_images] if no_images else []),
        *_summary(checked),
    ]
    for part in parts:
        blocks.append(f"## {PART_TITLES[part]}")
        blocks += _numbers(part, measured)
        for domain in ("hiv", "kidney", "both", "battery"):
            blocks += _domain(part, domain, checked, pictures, folder, no_images is None)
    blocks += ["## Where and why ours differ", *_why(measured, checked), *_origin(origin, folder)]
    return "\n\n".join(blocks) + "\n"


def _shipped(origin: Origin) -> list[str]:
    if not origin.shipped:
        return []
    return [
        f"**Not computed again:** {'; '.join(origin.shipped)}. These results come with the project; the same command without "
        "`--shipped` computes them."
    ]


def _summary(checked: Sequence[tuple[Claim, Outcome]]) -> list[str]:
    counts = Counter(outcome.verdict for _, outcome in checked)
    told = ", ".join(f"{counts[verdict]} {word}" for verdict, word in VERDICT_COUNTED.items())
    lines = ["| | where | statement | ours |", "|---|---|---|---|"]
    lines += [
        f"| {number_of + 1} | {claim.place} | {DOMAIN_TITLES[claim.domain]}: {_cell(_shortened(claim.text))} | "
        f"{VERDICT_MARKS[outcome.verdict]} |"
        for number_of, (claim, outcome) in enumerate(checked)
    ]
    return ["## In short", f"Of {len(checked)} statements: {told}.", "\n".join(lines)]


def _shortened(text: str, most: int = 110) -> str:
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"


def _domain(
    part: PartName,
    domain: str,
    checked: Sequence[tuple[Claim, Outcome]],
    pictures: Sequence[Picture],
    folder: str,
    images: bool,
) -> list[str]:
    """The pictures of a domain in a part, then its statements."""
    claims = [(i, *pair) for i, pair in enumerate(checked, 1) if (pair[0].part, pair[0].domain) == (part, domain)]
    blocks = []
    for picture in pictures:
        if (picture.part, picture.domain) == (part, domain):
            blocks += [f"### {picture.title}", picture.sentence]
            blocks += [f"![{picture.title}]({folder}/{picture.name}.svg)"] if images else []
    if claims and not blocks:
        blocks.append(f"### {DOMAIN_TITLES[domain]}")
    for place, claim, outcome in claims:
        blocks.append(
            f"**{place}. {VERDICT_MARKS[outcome.verdict]}** ({claim.place})\n\n> {claim.text}\n\n"
            f"*Checked:* {claim.asked}  \n*Ours:* {outcome.measured}"
        )
    return blocks


def _numbers(part: PartName, measured: Measured) -> list[str]:
    """The numbers of a part as tables, with the paper's beside ours where it prints any."""
    if part == "figure2":
        found = [NO_PRINTED_NUMBERS]
        for title, evidence in (("HIV", measured.hiv), ("Kidney", measured.kidney)):
            if evidence is not None:
                found += [
                    f"Typical error (RMSE per policy, mean over seeds), {title}:",
                    _by_horizon(evidence.errors, evidence, number),
                ]
        return found
    if part == "figure3":
        if measured.hiv is None or (unsafe := limit(measured.hiv)) is None:
            return [NO_PRINTED_NUMBERS]
        right = accuracies(measured.hiv, unsafe.value)
        return [
            NO_PRINTED_NUMBERS,
            "Policies classified correctly, predictions averaged over seeds first:",
            _by_horizon(right, measured.hiv, percent),
        ]
    if part == "table1":
        return [_battery(measured.battery)] if measured.battery else []
    return [_pair(measured.kidney), _late(measured.hiv)]


def _by_horizon(curves: Curves, evidence: Evidence, said: Callable[[float], str]) -> str:
    """A row per method, a column per horizon."""
    rows = [
        [title_of(method), *(said(curves[method][h]) for h in evidence.horizons)]
        for method in evidence.methods
        if method in curves
    ]
    return table_lines(["l =", *map(str, evidence.horizons)], rows)


def _battery(table: BatteryTable) -> str:
    rows = []
    for method, card in METHODS.items():
        ours = [_of(table.correct(method, training), table.total) for training in ("full", "filtered")]
        printed = [
            f"{n} of 83 = {share:g} %" for n, share in zip(printed_cells(method), PRINTED.get(method, ()), strict=True)
        ]
        shown = printed or ["–", "–"]
        rows.append([card.title, ours[0], shown[0], ours[1], shown[1]])
    kind = "synthetic cells, no evidence" if table.synthetic else "measured cells"
    return table_lines(["", f"full training, ours ({kind})", "paper", "filtered training, ours", "paper"], rows)


def _of(value: float | None, whole: int) -> str:
    return "–" if value is None else f"{number(value)} of {whole} = {100 * value / whole:.1f} %"


def _pair(evidence: Evidence | None) -> str:
    if (
        evidence is None
        or not {"slev", "mean_reward"} <= set(evidence.methods)
        or (pair := pair_example(evidence)) is None
    ):
        return "The kidney example has nothing to show here."
    rows = [
        ["true value", *map(number, pair.true), *map(str, KIDNEY_PRINTED["true"])],
        ["SLEV", *map(number, pair.slev), *map(str, KIDNEY_PRINTED["slev"])],
        ["Mean reward", *map(number, pair.early), "–", "–"],
    ]
    headings = [
        f"kidney, l = {evidence.example_horizon}",
        "ours, better",
        "ours, worse",
        "paper, better",
        "paper, worse",
    ]
    return table_lines(headings, rows)


def _late(evidence: Evidence | None) -> str:
    if evidence is None or "mean_reward" not in evidence.methods:
        return "The HIV example has nothing to show here."
    found = late_example(evidence)
    ours = {"true": found.true, **found.predicted}
    names = [*HIV_PRINTED, *(m for m in found.predicted if m not in HIV_PRINTED)]
    rows = [
        [
            "true value" if m == "true" else title_of(m),
            number(ours[m]),
            str(HIV_PRINTED[m]) if m in HIV_PRINTED else "–",
        ]
        for m in names
        if m in ours
    ]
    return table_lines([f"HIV, l = {evidence.example_horizon}", "ours", "paper (l not printed)"], rows)


def _why(measured: Measured, checked: Sequence[tuple[Claim, Outcome]]) -> list[str]:
    blocks = []
    for domain in ("hiv", "kidney", "battery"):
        about = [
            (i, outcome)
            for i, (c, outcome) in enumerate(checked, 1)
            if c.domain in (domain, "both" if domain != "battery" else "")
        ]
        if not about:
            continue
        different = [str(i) for i, outcome in about if outcome.verdict == "does not hold"]
        lead = (
            f"Not as in the paper: statements {', '.join(different)}." if different else "No statement is contradicted."
        )
        lines = "\n".join(f"- {sentence}" for sentence in reasons(measured, domain))
        blocks.append(f"**{DOMAIN_TITLES[domain]}.** {lead} What is known of it:\n\n{lines}")
    return blocks


def _origin(origin: Origin, folder: str) -> list[str]:
    rows = [
        [
            row["scenario"],
            f"`{row['key']}`",
            row["seeds"],
            str(row["results"]),
            f"`{row['checksum']}`",
            duration(row["cpu_seconds"]) + (f", {METHODS_ALONE}" if row["cpu_of"] == METHODS_ALONE else ""),
            row["origin"],
        ]
        for row in origin.scenarios.to_dict("records")
    ]
    total = float(origin.scenarios["cpu_seconds"].sum())
    less = f" but the histories and preparations of {'; '.join(origin.partly_timed)}" if origin.partly_timed else ""
    here = " here" if origin.shipped else ""
    seal = (
        " The checksum of a shipped scenario is the seal of its files, whose own checksums stand there."
        if origin.shipped
        else ""
    )
    return [
        "## Where these numbers come from",
        f"- Command: `{origin.command}`\n- Machine{here}: {origin.machine}\n- Versions{here}: {origin.versions}\n"
        f"- CPU time of everything{less}: {duration(total)} (the paper: about a day “if run in series”)",
        table_lines(["scenario", "key", "seeds", "results", "checksum of the predictions", "CPU time", "where"], rows),
        f"`{folder}/checksums.csv` has the checksum of every single prediction table; the other tables there are the numbers "
        f"above with all digits.{seal}",
    ]


def table_lines(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is left-aligned, numbers to the right."""
    lines = [[_cell(word) for word in line] for line in (headings, *rows)]
    rule = "|---|" + "---:|" * (len(headings) - 1)
    shown = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([shown[0], rule, *shown[1:]])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
