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
_FORMULA_START = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def markdown(text: object) -> str:
    """Text that Streamlit's Markdown shows as it is: no link, image, HTML, formula or colour directive."""
    in_one_line = re.sub(r"\s+", " ", str(text))
    return _MARKDOWN.sub(r"\\\1", in_one_line)


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
