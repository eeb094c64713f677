"""The questions that the page *Your data* asks about a table, and remedies told by these controls instead of by command options."""

import re

COLUMN_TITLES = {
    "policy": "Policy",
    "unit": "Unit",
    "step": "Step",
    "time": "Time instead of steps",
    "states": "States",
    "actions": "Actions",
    "reward": "Reward of each step",
    "outcome": "Outcome of each unit",
    "role": "Role",
    "rollout": "Repetition",
    "family": "Family",
    "era": "Era",
}
TIMING = {"auto": "as the table suggests", "arriving": "arriving", "leaving": "leaving"}
LEAVING = {"lost": "left out", "ended": "nothing more is earned", "carried": "the last value goes on"}
MISSING = {"refuse": "an error", "carry": "the value before", "drop": "the unit is left out"}
GRID = {
    "": "as it is",
    "nearest": "nearest point of an even grid",
    "interpolate": "interpolated on an even grid",
    "last": "last value before each point",
    "schedule": "one step per planned visit",
}
START = {"auto": "as the table suggests", "common": "a common start", "own": "each unit's first row"}
DATES = {"": "not needed", "day-first": "day first", "month-first": "month first"}
DELIMITERS = {"": "detected", ",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
DECIMALS = {"": "detected", ".": "point", ",": "comma"}
THOUSANDS = {"": "detected", ",": "comma", ".": "point", "'": "apostrophe", " ": "space"}
NEW = "New policies"
TITLES = {
    "leaving": "Historical units that leave early are",
    "missing": "A missing number or step is",
    "timing": "A row holds the reward of a step that is",
    "grid": "Irregular times",
    "step-length": "Length of one step",
    "start": "Steps are counted from",
    "dates": "Dates such as 03/04/2021",
    "length": "Full length in steps",
    "paired": "The same unit under two policies is one unit",
    "formula": "Reward as a formula of state columns",
    "delimiter": "Between columns",
    "decimal": "Decimal sign",
    "thousands": "Thousands separator",
    "new": NEW,
}
_VALUES = {
    "leaving": LEAVING,
    "missing": MISSING,
    "grid": GRID,
    "start": START,
    "dates": DATES,
    "decimal": DECIMALS,
    "thousands": THOUSANDS,
}
_BETWEEN = r"(?:, | or |, or )"
_COLUMNS = re.compile(r"--columns (\w+=…(?:,\w+=…)*)")
_OTHER = "|".join(option for option in TITLES if option not in _VALUES)
_PLAIN = re.compile(rf"--({_OTHER})(?: A,B)?\b")
_FIXED = {
    "--columns does not need ": "no drop-down needs ",
    "Say which: --decimal , or --thousands , on the command line.": "Say which with “Decimal sign” or “Thousands separator”.",
    "--dates day-first or --dates month-first": f"“{TITLES['dates']}”",
    "Leave --delimiter out, so that it is detected": f"Set “{TITLES['delimiter']}” to detected",
    "Correct the names in --new": "Choose the new policies again",
    "add --paired": f"switch on “{TITLES['paired']}”",
}


def on_page(text: str) -> str:
    """A remedy as somebody reads it who has controls and no command line: ``--missing drop`` becomes a choice of the page."""
    for words, others in _FIXED.items():
        text = text.replace(words, others)
    text = _COLUMNS.sub(lambda found: _titles(found[1]), text)
    for option, values in _VALUES.items():
        value = "|".join(re.escape(name) for name in values if name)
        pattern = rf"--{option}((?: (?:{value})(?:{_BETWEEN}(?:{value}))*)?)(?![\w-])"
        text = re.sub(pattern, lambda found, own=option: _choice(own, found[1].strip()), text)  # type: ignore[misc]
    return _PLAIN.sub(lambda found: f"“{TITLES[found[1]]}”", text)


def _titles(named: str) -> str:
    return " and ".join(f"“{COLUMN_TITLES[part.partition('=')[0]]}”" for part in named.split(","))


def _choice(option: str, said: str) -> str:
    """One value is named; of several only the question is."""
    value = _VALUES[option].get(said)
    return f"“{TITLES[option]}: {value}”" if said and value else f"“{TITLES[option]}”"
