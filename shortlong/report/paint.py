"""Charts on a sheet: paints the SVG drawings of ``report.drawing``, which use only a few kinds of element."""

import re
from typing import Any
from xml.etree import ElementTree

import plotly.graph_objects as go
from reportlab.lib.colors import Color, toColor

from shortlong.figures.markers import FILLED
from shortlong.report.drawing import drawing
from shortlong.report.sheet import INK, Sheet

PIXEL = 0.72  # points of a pixel of a drawing
NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
STEPS = re.compile(r"([MLHVZhv])|(-?[\d.]+)")
ALIGNED = {"start": "left", "middle": "middle", "end": "right"}


def chart(sheet: Sheet, figure: go.Figure) -> None:
    """A figure as wide as the text and as high as its layout says."""
    size = PIXEL * sheet.scale
    svg = drawing(go.Figure(figure).update_layout(width=(sheet.right - sheet.left) / size))
    canvas = sheet.canvas
    canvas.saveState()
    canvas.translate(sheet.left, sheet.y)
    canvas.scale(size, size)
    for element in ElementTree.fromstring(NOT_IN_XML.sub("", svg)):
        _paint(sheet, element, 1.0)
    canvas.restoreState()
    sheet.y += float(figure.layout.height) * size


def _paint(sheet: Sheet, element: ElementTree.Element, opacity: float) -> None:
    kind = element.tag.rpartition("}")[2]
    opacity *= float(element.get("opacity", 1))
    if kind == "g":
        for inner in element:
            _paint(sheet, inner, opacity)
    elif kind == "text":
        _words(sheet, element)
    elif kind in ("line", "rect", "path"):
        _shape(sheet, element, kind, opacity)


def _shape(sheet: Sheet, element: ElementTree.Element, kind: str, opacity: float) -> None:
    canvas, filled, stroked = sheet.canvas, _colour(element, "fill", opacity), _colour(element, "stroke", opacity)
    canvas.saveState()
    for name, values in re.findall(r"(\w+)\(([^)]*)\)", element.get("transform", "")):
        x, y = (float(value) for value in (values.split() * 2)[:2])
        (canvas.translate if name == "translate" else canvas.scale)(x, y)
    canvas.setLineWidth(float(element.get("stroke-width", 1)))
    canvas.setDash([float(part) for part in element.get("stroke-dasharray", "").split()])
    if filled:
        canvas.setFillColor(filled)
    if stroked:
        canvas.setStrokeColor(stroked)
    if kind == "line":
        canvas.line(*(float(element.get(name, 0)) for name in ("x1", "y1", "x2", "y2")))
    elif kind == "rect":
        place = (float(element.get(name, 0)) for name in ("x", "y", "width", "height"))
        canvas.rect(*place, stroke=int(stroked is not None), fill=int(filled is not None))
    elif element.get("d"):
        path = _path(canvas.beginPath(), element.get("d", ""))
        canvas.drawPath(path, stroke=int(stroked is not None), fill=int(filled is not None))
    canvas.restoreState()


def _colour(element: ElementTree.Element, name: str, opacity: float) -> Color | None:
    given = element.get(name)
    if given in (None, "none", "transparent"):
        return None
    colour = toColor(given)
    return Color(colour.red, colour.green, colour.blue, alpha=colour.alpha * opacity)


def _path(path: Any, steps: str) -> Any:
    """The outline of lines and markers; the only curve among them is the circle."""
    if steps == FILLED["circle"]:
        path.circle(7, 7, 5)
        return path
    command, x, y = "M", 0.0, 0.0
    numbers: list[float] = []
    for letter, digits in STEPS.findall(steps):
        if letter == "Z":
            path.close()
        if letter:
            command, numbers = letter, []
            continue
        numbers.append(float(digits))
        if command in "HhVv":
            along, value = command.lower(), numbers.pop()
            before = (x if along == "h" else y) if command.islower() else 0.0
            x, y = (before + value, y) if along == "h" else (x, before + value)
        elif len(numbers) < 2:
            continue
        else:
            (x, y), numbers = numbers, []
        (path.moveTo if command == "M" else path.lineTo)(x, y)
        command = "L" if command == "M" else command
    return path


def _words(sheet: Sheet, element: ElementTree.Element) -> None:
    size, colour = float(element.get("font-size", 12)), element.get("fill", INK)
    x, y = float(element.get("x", 0)), float(element.get("y", 0))
    canvas = sheet.canvas
    canvas.saveState()
    canvas.translate(x, y)
    if "rotate" in element.get("transform", ""):
        canvas.rotate(-90)
    down = 0.0
    for line in element:
        down += float(line.get("dy", 0))
        bold, align = line.get("font-weight") == "bold", ALIGNED[element.get("text-anchor", "start")]
        sheet.text(line.text or "", 0, down, size, colour, bold=bold, align=align)
    canvas.restoreState()
