"""Changes of the set-up and their effects on the statements, in words: for the terminal, the page and the document."""

from collections.abc import Mapping, Sequence

from shortlong.paper import DOMAIN_TITLES
from shortlong.paper.checks_other import HIV_PRINTED
from shortlong.paper.claims import CLAIMS
from shortlong.paper.differences import AS_PRINTED
from shortlong.paper.outcome import Claim, Outcome, listed
from shortlong.paper.reasons import changes_tried
from shortlong.paper.tried import SHOWN, Differences, Errors, Tried
from shortlong.words.numbers import duration, number
from shortlong.words.scenario import title_of

NUMBERS: dict[str, int] = {claim.key: place for place, claim in enumerate(CLAIMS, 1)}  # as pages count the statements
MEANING = (
    "Each change was made alone, and every statement of the changed domains checked again. “Would suffice” means that with this "
    "one change the statement comes out here; it does not mean that the paper's authors did so."
)
NOW, SMALL_NOW = "As it is", "The smaller run on HIV as it is"
SMALLER = "On HIV a smaller run with fewer horizons, compared with the same run without the change."


def statements(keys: Sequence[str]) -> str:
    """1, 3 and 8; none."""
    return listed(str(n) for n in sorted(NUMBERS[key] for key in keys)) or "none"


def effect(change: Tried) -> tuple[list[str], list[str]]:
    """Statements that would hold, and that would no longer hold."""
    return [k for k in change.verdicts if change.suffices(k)], [k for k in change.verdicts if change.breaks(k)]


def errors_said(errors: Mapping[str, Errors]) -> str:
    """HIV: SLEV 147, Fitted Q 264, Historical average 178."""
    parts = []
    for domain, found in errors.items():
        shown = ", ".join(f"{title_of(m)} {number(found.errors[m])}" for m in SHOWN if m in found.errors)
        parts.append(
            f"{DOMAIN_TITLES[domain]}: {shown}; new policies end at {number(found.lowest)} to {number(found.highest)}"
        )
    return ". ".join(parts)


def lines(found: Differences, checked: Sequence[tuple[Claim, Outcome]]) -> list[str]:
    """For the terminal: cause and effect of each change, then what would suffice for each statement that does not hold."""
    told = [f"{NOW}. {errors_said(found.now)}."]
    if found.smaller:
        told.append(f"{SMALL_NOW}. {errors_said(found.smaller)}.")
    for change in found.tried:
        hold, broken = effect(change)
        size = f" {SMALLER}" if change.smaller else ""
        told.append(
            f"{_capital(change.name)}.{size} {errors_said(change.changed)}.\n"
            f"  -> would hold: {statements(hold)}; would no longer hold: {statements(broken)}"
        )
    told.append("")
    told += [
        f"{NUMBERS[claim.key]}. {claim.domain}, {claim.place}: {sentence}"
        for claim, outcome in checked
        if (sentence := changes_tried(found, claim, outcome))
    ]
    return told


def markdown(found: Differences | None) -> list[str]:
    """The section of the document; nothing where nothing was tried."""
    if found is None:
        return []
    rows: list[tuple[str, Mapping[str, Errors], list[str], list[str]]] = [(NOW, found.now, [], [])]
    rows += [(SMALL_NOW, found.smaller, [], [])] if found.smaller else []
    rows += [(f"{_capital(c.name)}{' *' if c.smaller else ''}", c.changed, *effect(c)) for c in found.tried]
    head = [
        "| change | HIV: SLEV / fitted Q / historical average | Kidney: the same | would hold | would no longer hold |",
        "|---|---:|---:|---|---|",
    ]
    body = [
        f"| {title} | {_errors(errors.get('hiv'))} | {_errors(errors.get('kidney'))} | {_of(title, hold)} | "
        f"{_of(title, broken)} |"
        for title, errors, hold, broken in rows
    ]
    smaller = any(change.smaller for change in found.tried)
    return [
        "## Which change would suffice",
        f"{MEANING} Errors are means over the horizons. Made by `{found.command}`, {duration(found.cpu_seconds)} of CPU time on "
        f"{found.machine}.",
        "\n".join([*head, *body]),
        *([f"\\* {SMALLER}"] if smaller else []),
        *_example(found),
    ]


def _of(title: str, keys: Sequence[str]) -> str:
    return "" if title in (NOW, SMALL_NOW) else statements(keys)


def _errors(errors: Errors | None) -> str:
    return " / ".join(number(errors.errors[m]) for m in SHOWN if m in errors.errors) if errors else "as it is"


def _example(found: Differences) -> list[str]:
    """How much of the true value fitted Q predicts in the paper's own example, and with each printed recipe here."""
    printed = [c for c in found.tried if c.family.startswith(AS_PRINTED) and "hiv" in c.changed]
    shares = {c.name.removeprefix(AS_PRINTED).strip(): c.changed["hiv"].example_share for c in printed}
    now = (found.smaller or found.now)["hiv"].example_share
    shown = [f"{share:.2f} {name}" for name, share in shares.items() if share is not None]
    if now is None or not shown:
        return []
    theirs = HIV_PRINTED["fqe"] / HIV_PRINTED["true"]
    return [
        f"One printed number helps to tell them apart: in the paper's HIV example fitted Q predicts {theirs:.2f} of the true "
        f"value. In ours it predicts {now:.2f} as it is; as printed, {listed(shown)}."
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
