"""Numbers as people write them: three digits, shares in percent, durations, counts."""

import math


def number(value: float, unit: str = "") -> str:
    """Three significant digits, thousands separated, never in scientific notation."""
    if not math.isfinite(value):
        return "unknown"
    if value == 0:
        text = "0"
    else:
        digits = 2 - math.floor(math.log10(abs(value)))
        rounded = round(value, digits)
        text = f"{rounded:,.{max(digits, 0)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    text = text.replace("-", "−")
    return f"{text} {unit}" if unit else text


def bound(value: float) -> str:
    """One end of an interval, which may be missing or infinite."""
    return number(value) if math.isfinite(value) else "no bound"


def percent(share: float) -> str:
    """0.0333 -> 3.3 %, 0.856 -> 86 %: one digit after the point below 10 %, none above."""
    value = share * 100
    rounded = round(value) if abs(value) >= 10 else round(value, 1)
    return f"{number(rounded) if rounded else '0'} %"


def duration(seconds: float) -> str:
    """How long something takes: 18 s, 2 min 5 s, 1 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def expectation(seconds: float) -> str:
    """An expected time, rounded as it deserves: about 4 s, about 1 h 19 min."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 60:
        return f"about {math.ceil(seconds)} s"
    return f"about {duration(round(seconds / 60) * 60)}"


def rough_time(seconds: float) -> str:
    """An expected time in a word or two, for a label: 10 s, ½ min, 9 min, 3 h."""
    if seconds < 20:
        return f"{max(5 * math.ceil(seconds / 5), 5)} s"
    if seconds < 45:
        return "½ min"
    if seconds < 100 * 60:
        return f"{max(round(seconds / 60), 1)} min"
    return f"{round(seconds / 3600)} h"


def count(part: int, whole: int) -> str:
    """A count never goes without what it is out of: 45 of 45."""
    return f"{part} of {whole}"


def plural(amount: int, noun: str) -> str:
    """1 seed, 3 seeds, 2 policies."""
    return f"1 {noun}" if amount == 1 else f"{amount:,} {many(noun)}"


def many(noun: str) -> str:
    """The plural alone: seeds, policies, days."""
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2:-1] not in "aeou" else noun + "s"


def on_scale(value: float, largest: float) -> str:
    """A value beside a much larger one, no more exact than it: 0.781 beside 464 is 1; what would be 0 keeps a digit."""
    if not math.isfinite(value) or not largest:
        return number(value)
    digits = max(2 - math.floor(math.log10(abs(largest))), 0)
    rounded = round(value, digits)
    if rounded == 0 and value:
        rounded = round(value, -math.floor(math.log10(abs(value))))
    return number(rounded)


def inside(title: str) -> str:
    """A title as it stands inside a sentence: HIV treatment, but battery charging."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]
