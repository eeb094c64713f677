"""Text that comes from data, files and links, made harmless wherever people read it.

Pages write Markdown, reports HTML, tables go to spreadsheets, and charts know a few HTML tags: in each of them a name such as
``![](https://…)``, ``<img …>`` or ``=HYPERLINK(…)`` would do something instead of being shown.
"""

import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|$~:&])")
_SENTENCE = re.compile(r"([\\*_\[\]<>#$~])")
WORD_JOINER = "\N{WORD JOINER}"  # takes no room and keeps what it stands in from being recognised
# Places in addresses (http://, www., a@b), icons (:material/delete:) and arrows that Streamlit recognises even when escaped.
_STILL_ACTIVE = re.compile(
    r"(?<=:)(?=[A-Za-z_/])|(?<=www)(?=\.)|(?<=\S)(?=@)|(?<=[<>~!-])(?=[=-])|(?<=-)(?=>)", re.IGNORECASE
)
_BLOCK_START = re.compile(rf"^(\d*)([-.)=])(?=[ {WORD_JOINER}=]|$)")  # a list, a line, a heading
_FORMULA_START = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def markdown(text: object) -> str:
    """Text that Streamlit's Markdown shows as it is: no link, image, HTML, formula or colour directive."""
    unlinked = _STILL_ACTIVE.sub(WORD_JOINER, re.sub(r"\s+", " ", str(text)))
    return _BLOCK_START.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", unlinked))


def sentence(text: object) -> str:
    """A sentence of ours that may quote names and values, for Markdown: only `code` stays what it is."""
    parts = str(text).split("`")
    if len(parts) % 2 == 0 or "``" in str(text):  # not ours, or a quoted name has such marks
        return markdown(text)
    parts[::2] = [_SENTENCE.sub(r"\\\1", _STILL_ACTIVE.sub(WORD_JOINER, part)) for part in parts[::2]]
    return "`".join(parts)


def figure_text(text: object) -> str:
    """Text that a plotly chart shows as it is: neither its HTML subset nor ``$…$`` formulas are interpreted."""
    return escape(str(text), quote=False).replace("$", "&#36;")


def spreadsheet(table: "pd.DataFrame") -> "pd.DataFrame":
    """A copy whose texts and column names no spreadsheet takes for a formula: an apostrophe stands before them."""
    import pandas as pd  # late: the command line starts without heavy libraries

    safe = table.copy(deep=False)
    for position in range(len(table.columns)):
        column = table.iloc[:, position]
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(object)
        if column.dtype == object or pd.api.types.is_string_dtype(column.dtype):
            safe.isetitem(position, column.map(_no_formula).to_numpy())
    safe.columns = pd.Index([_no_formula(name) for name in table.columns], name=table.columns.name)
    return safe


def shorten(text: object, most: int = 200) -> str:
    """At most ``most`` characters, the last of them dots where something was cut."""
    whole = str(text)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def _no_formula(value: object) -> object:
    """A text that begins like a formula gets an apostrophe; a number written as text stays a number."""
    if isinstance(value, str) and value.startswith(_FORMULA_START) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value
