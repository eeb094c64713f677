"""Drawing on slides with PowerPoint's own shapes and charts, so that people can edit what they present.

Places are in inches on a slide of 13.33 by 7.5; needs python-pptx, which is imported only here and only when it is used.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shortlong.core.errors import UserError, printable

WIDE, HIGH = 13.333, 7.5
INK, QUIET = "1A1A1A", "555555"
INSTALL = "pip install 'shortlong[slides]'"


class Deck:
    """A presentation that is being made."""

    def __init__(self, title: str) -> None:
        try:
            from pptx import Presentation  # late: optional
            from pptx.util import Inches
        except ImportError as error:
            raise UserError(f"Slides need python-pptx, which is not installed ({INSTALL}).") from error
        self.file = Presentation()
        self.file.slide_width, self.file.slide_height = Inches(WIDE), Inches(HIGH)
        self.file.core_properties.title = printable(title)
        self.file.core_properties.author = "shortlong"

    def slide(self, title: str) -> "Drawing":
        """A new slide; its title is a real title, so that outlines and screen readers find it."""
        made = self.file.slides.add_slide(self.file.slide_layouts[5])  # title only
        heading = made.shapes.title
        _place(heading, 0.6, 0.3, WIDE - 1.2, 0.9)
        _write(heading.text_frame, [title], 24, INK, bold=True)
        return Drawing(made)

    def content(self) -> bytes:
        """The file."""
        whole = io.BytesIO()
        self.file.save(whole)
        return whole.getvalue()


class Drawing:
    """One slide."""

    def __init__(self, slide: Any) -> None:
        self.shapes = slide.shapes

    def words(
        self,
        text: str | Sequence[str],
        x: float,
        y: float,
        wide: float,
        high: float,
        size: float = 18,
        colour: str = INK,
        *,
        bold: bool = False,
        align: str = "left",
        middle: bool = False,
    ) -> None:
        """A box of text without a frame, one paragraph for each string."""
        from pptx.util import Inches

        box = self.shapes.add_textbox(Inches(x), Inches(y), Inches(wide), Inches(high)).text_frame
        box.word_wrap = not middle  # labels of rows stay on one line
        box.margin_left = box.margin_right = box.margin_top = box.margin_bottom = 0
        _write(box, [text] if isinstance(text, str) else text, size, colour, bold=bold, align=align, middle=middle)

    def line(
        self, x: float, y: float, to_x: float, to_y: float, colour: str = INK, width: float = 1.5, dash: bool = False
    ) -> None:
        """A straight line; its width is in points."""
        from pptx.dml.color import RGBColor
        from pptx.enum.dml import MSO_LINE_DASH_STYLE
        from pptx.enum.shapes import MSO_CONNECTOR
        from pptx.util import Inches, Pt

        drawn = self.shapes.add_connector(MSO_CONNECTOR.STRAIGHT, Inches(x), Inches(y), Inches(to_x), Inches(to_y)).line
        drawn.color.rgb, drawn.width = RGBColor.from_string(colour), Pt(width)
        if dash:
            drawn.dash_style = MSO_LINE_DASH_STYLE.DASH

    def mark(self, kind: str, x: float, y: float, size: float, colour: str, *, filled: bool = True) -> None:
        """A marker around a point: circle, square, diamond, cross, left or right (arrows)."""
        from pptx.dml.color import RGBColor
        from pptx.enum.shapes import MSO_SHAPE
        from pptx.util import Inches, Pt

        kinds = {
            "circle": MSO_SHAPE.OVAL,
            "square": MSO_SHAPE.RECTANGLE,
            "diamond": MSO_SHAPE.DIAMOND,
            "cross": MSO_SHAPE.MATH_MULTIPLY,
            "left": MSO_SHAPE.ISOSCELES_TRIANGLE,
            "right": MSO_SHAPE.ISOSCELES_TRIANGLE,
        }
        half = size / 2
        shape = self.shapes.add_shape(kinds[kind], Inches(x - half), Inches(y - half), Inches(size), Inches(size))
        shape.rotation = {"left": 270.0, "right": 90.0}.get(kind, 0.0)
        shape.shadow.inherit = False
        shape.line.color.rgb, shape.line.width = RGBColor.from_string(colour), Pt(1)
        shape.fill.solid()
        shape.fill.fore_color.rgb = RGBColor.from_string(colour if filled else "FFFFFF")

    def chart(
        self,
        kind: str,
        categories: Sequence[str],
        series: Mapping[str, tuple[Iterable[float | None], str]],
        place: tuple[float, float, float, float],
        *,
        axis: str = "",
        share: bool = False,
    ) -> None:
        """A chart that PowerPoint can edit: ``line`` or ``area`` (stacked); ``series`` gives values and a colour."""
        from pptx.chart.data import CategoryChartData
        from pptx.dml.color import RGBColor
        from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION
        from pptx.util import Inches, Pt

        data = CategoryChartData()
        data.categories = [printable(category) for category in categories]
        for name, (values, _) in series.items():
            data.add_series(printable(name), list(values))
        types = {"line": XL_CHART_TYPE.LINE_MARKERS, "area": XL_CHART_TYPE.AREA_STACKED}
        chart = self.shapes.add_chart(types[kind], *(Inches(part) for part in place), data).chart
        chart.has_legend = len(series) > 1
        if chart.has_legend:
            chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.TOP, False
        chart.font.size = Pt(14)
        if share:
            chart.value_axis.tick_labels.number_format = "0 %"
            chart.value_axis.tick_labels.number_format_is_linked = False
            chart.value_axis.minimum_scale, chart.value_axis.maximum_scale = 0.0, 1.0
        if axis:
            chart.value_axis.axis_title.text_frame.text = axis
        for drawn, (_, colour) in zip(chart.plots[0].series, series.values(), strict=True):
            if kind == "area":
                drawn.format.fill.solid()
                drawn.format.fill.fore_color.rgb = RGBColor.from_string(colour)
            else:
                drawn.smooth = False
                drawn.format.line.color.rgb = RGBColor.from_string(colour)
                drawn.marker.format.fill.solid()
                drawn.marker.format.fill.fore_color.rgb = RGBColor.from_string(colour)


def _place(shape: Any, x: float, y: float, wide: float, high: float) -> None:
    from pptx.util import Inches

    shape.left, shape.top, shape.width, shape.height = (Inches(part) for part in (x, y, wide, high))


def _write(
    frame: Any,
    texts: Iterable[str],
    size: float,
    colour: str,
    *,
    bold: bool = False,
    align: str = "left",
    middle: bool = False,
) -> None:
    from pptx.dml.color import RGBColor
    from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
    from pptx.util import Pt

    if middle:
        frame.vertical_anchor = MSO_ANCHOR.MIDDLE
    for number, text in enumerate(texts):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.alignment = PP_ALIGN.RIGHT if align == "right" else PP_ALIGN.LEFT
        if number:
            paragraph.space_before = Pt(size * 0.5)
        run = paragraph.add_run()
        run.text = printable(text)
        run.font.size, run.font.bold = Pt(size), bold
        run.font.color.rgb = RGBColor.from_string(colour)
