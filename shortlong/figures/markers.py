"""Plotly's marker symbols as small pictures, for legends outside a figure."""

from urllib.parse import quote

from shortlong.methods.looks import Looks

# Outlines on a field of 14 x 14. A symbol of plotly is one of these names, with "-open" or "-dot" after it for a variant.
FILLED = {
    "circle": "M7 2A5 5 0 1 1 7 12A5 5 0 1 1 7 2Z",
    "square": "M2 2H12V12H2Z",
    "diamond": "M7 1 13 7 7 13 1 7Z",
    "diamond-tall": "M7 0 10.5 7 7 14 3.5 7Z",
    "diamond-wide": "M0 7 7 3.5 14 7 7 10.5Z",
    "cross": "M5 1h4v4h4v4H9v4H5V9H1V5h4Z",
    "x": "M3.5 1 7 4.5 10.5 1 13 3.5 9.5 7 13 10.5 10.5 13 7 9.5 3.5 13 1 10.5 4.5 7 1 3.5Z",
    "triangle-up": "M7 1.5 13 12.5H1Z",
    "triangle-down": "M7 12.5 13 1.5H1Z",
    "triangle-left": "M1.5 7 12.5 1V13Z",
    "triangle-right": "M12.5 7 1.5 1V13Z",
    "pentagon": "M7 1 13 5.5 10.5 13H3.5L1 5.5Z",
    "hexagon": "M7 1 12.5 4V10L7 13 1.5 10V4Z",
    "hexagon2": "M1 7 4 1.5H10L13 7 10 12.5H4Z",
    "octagon": "M4.5 1H9.5L13 4.5V9.5L9.5 13H4.5L1 9.5V4.5Z",
    "star": "M7 0 9 5H14L10 8.5 11.5 14 7 10.5 2.5 14 4 8.5 0 5H5Z",
    "hexagram": "M7 0 9 3.5H13L11 7 13 10.5H9L7 14 5 10.5H1L3 7 1 3.5H5Z",
    "hourglass": "M2 1H12L7 7 12 13H2L7 7Z",
    "bowtie": "M1 2 7 7 1 12ZM13 2 7 7 13 12Z",
}
STROKED = {
    "line-ew": "M0 7H5M9 7H14",  # broken, as the line of the historical average
    "line-ns": "M7 0V14",
    "cross-thin": "M7 0V14M0 7H14",
    "x-thin": "M2 2 12 12M12 2 2 12",
    "asterisk": "M7 1V13M1 7H13M3 3 11 11M11 3 3 11",
    "y-up": "M1 11 7 7 13 11M7 7V0",
    "y-down": "M1 3 7 7 13 3M7 7V14",
}


def marker_svg(looks: Looks) -> str:
    """The marker as the address of a picture; a circle where a symbol is not drawn here."""
    symbol = looks.marker
    base = symbol.removesuffix("-dot").removesuffix("-open")
    stroke = f'fill="none" stroke="{looks.colour}"'
    if base in STROKED:
        shape = f'<path d="{STROKED[base]}" {stroke} stroke-width="3"/>'
    else:
        style = f'{stroke} stroke-width="2.5"' if "-open" in symbol else f'fill="{looks.colour}"'
        shape = f'<path d="{FILLED.get(base, FILLED["circle"])}" {style}/>'
    if symbol.endswith("-dot"):
        shape += f'<circle cx="7" cy="7" r="2" fill="{looks.colour if "-open" in symbol else "white"}"/>'
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" width="14" height="14" viewBox="0 0 14 14">{shape}</svg>'
    return "data:image/svg+xml," + quote(picture)
