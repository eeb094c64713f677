"""Writing on one sheet of A4, as a PDF file: text that wraps, tables, marks and the charts of the HTML reports.

What is written flows from top to bottom. ``one_sheet`` writes it again a little smaller until all of it is on one page.
Sizes are in points. Text is drawn, never interpreted.

Letters come from the fonts in ``fonts`` (Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic letters, signs).
Chinese, Japanese and Korean text uses the fonts that PDF readers have for it. Anything else is drawn as a box.
"""

import io
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import groupby
from pathlib import Path

from reportlab.lib.colors import toColor
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from shortlong.core.errors import printable

WIDE, HIGH = A4
SIDE, TOP, BOTTOM = 34.0, 30.0, 26.0  # margins
INK, QUIET, RULE = "#1a1a1a", "#555555", "#cccccc"
REGULAR, BOLD = "shortlong", "shortlong-bold"
FILES = {REGULAR: "DejaVuSansCondensed.ttf", BOLD: "DejaVuSansCondensed-Bold.ttf"}
CHINESE, JAPANESE, KOREAN = "STSong-Light", "HeiseiMin-W3", "HYSMyeongJo-Medium"  # names that every PDF reader knows
BOX = "□"  # where no font has a character
LEADING = 1.32  # height of a line, as a multiple of the letters
SCALES = [1 - 0.04 * step for step in range(16)]  # down to 0.4


class Sheet:
    """A page that is being written; ``y`` is how far down it is."""

    def __init__(self, title: str, now: datetime, scale: float = 1.0) -> None:
        _register_fonts()
        self.file = io.BytesIO()
        self.canvas = Canvas(self.file, pagesize=A4, bottomup=0, invariant=1, lang="en")
        self.canvas.setTitle(printable(title))
        self.canvas.setAuthor("shortlong")
        self.canvas.setCreator("shortlong")
        self.canvas.setSubject("")
        self.canvas.setDateFormatter(lambda *_: f"D:{now:%Y%m%d%H%M%S}Z")
        self.scale, self.y = scale, TOP
        self.left, self.right = SIDE, WIDE - SIDE

    @property
    def fits(self) -> bool:
        return self.y <= HIGH - BOTTOM

    def content(self) -> bytes:
        self.canvas.showPage()
        self.canvas.save()
        return self.file.getvalue()

    def paragraph(
        self, text: str, size: float = 9, colour: str = INK, *, bold: bool = False, after: float = 4, indent: float = 0
    ) -> None:
        """Text between the margins, in as many lines as it needs; nothing where it is empty."""
        if not text:
            return
        letters = size * self.scale
        for line in wrapped(text, self.right - self.left - 2 * indent, letters, bold):
            self.text(line, self.left + indent, self.y + letters, letters, colour, bold=bold)
            self.y += LEADING * letters
        self.y += after * self.scale

    def heading(self, text: str, size: float = 11) -> None:
        self.y += 3 * self.scale
        self.paragraph(text, size, bold=True, after=2)

    def notice(self, text: str) -> None:
        """A warning with a coloured bar beside it."""
        start = self.y
        self.paragraph(text, indent=8, bold=True)
        self.line(self.left + 1.5, start, self.left + 1.5, self.y - 3 * self.scale, "#D55E00", 3)

    def framed(self, texts: Sequence[str], colour: str = "#2B7BBA") -> None:
        """Paragraphs in a box."""
        start = self.y
        self.y += 5 * self.scale
        for text in texts:
            self.paragraph(text, indent=8, after=2)
        self.y += 2 * self.scale
        self.canvas.setStrokeColor(toColor(colour))
        self.canvas.setLineWidth(1.2)
        self.canvas.roundRect(self.left, start, self.right - self.left, self.y - start, 3)
        self.y += 5 * self.scale

    def text(
        self, text: str, x: float, y: float, size: float, colour: str = INK, *, bold: bool = False, align: str = "left"
    ) -> None:
        """One line whose letters stand on ``y``."""
        parts = list(_runs(text, bold))
        x -= {"left": 0.0, "middle": 0.5, "right": 1.0}[align] * sum(_wide(part, font, size) for part, font in parts)
        self.canvas.setFillColor(toColor(colour))
        for part, font in parts:
            self.canvas.setFont(font, size)
            self.canvas.drawString(x, y, part)
            x += _wide(part, font, size)

    def line(
        self, x: float, y: float, to_x: float, to_y: float, colour: str = INK, width: float = 1, dash: str = ""
    ) -> None:
        self.canvas.setStrokeColor(toColor(colour))
        self.canvas.setLineWidth(width)
        self.canvas.setDash([float(part) for part in dash.split()])
        self.canvas.line(x, y, to_x, to_y)
        self.canvas.setDash([])

    def dot(self, x: float, y: float, radius: float, colour: str, *, filled: bool = True) -> None:
        self.canvas.setStrokeColor(toColor(colour))
        self.canvas.setFillColor(toColor(colour if filled else "#ffffff"))
        self.canvas.setLineWidth(1)
        self.canvas.circle(x, y, radius, fill=1)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], wide_first: float, size: float = 8) -> None:
        """A table whose first column takes ``wide_first`` points and whose others, aligned right, share the rest."""
        letters = size * self.scale
        step = (self.right - self.left - wide_first) / max(len(head) - 1, 1)
        for place, cells in enumerate([head, *rows]):
            self.text(
                shortened(cells[0], wide_first - 4, letters), self.left, self.y + letters, letters, bold=place == 0
            )
            for column, cell in enumerate(cells[1:]):
                x = self.left + wide_first + (column + 1) * step
                self.text(
                    shortened(cell, step - 3, letters), x, self.y + letters, letters, bold=place == 0, align="right"
                )
            self.y += 1.45 * letters
            self.line(self.left, self.y - 0.1 * letters, self.right, self.y - 0.1 * letters, RULE, 0.5)
        self.y += 4 * self.scale


def one_sheet(title: str, now: datetime, write: Callable[[Sheet], None]) -> bytes:
    """The PDF of what ``write`` writes, as large as it fits on one page."""
    for scale in SCALES:
        sheet = Sheet(title, now, scale)
        write(sheet)
        if sheet.fits:
            break
    return sheet.content()


# --- text -----------------------------------------------------------------------------------------------------------
def wrapped(text: str, wide: float, size: float, bold: bool = False) -> Iterator[str]:
    """The lines of a text; a word that is longer than a line is broken."""
    line = ""
    for word in printable(text).split():
        joined = f"{line} {word}" if line else word
        if text_width(joined, size, bold) <= wide:
            line = joined
            continue
        if line:
            yield line
        while text_width(word, size, bold) > wide and len(word) > 1:
            most = max(1, next(n for n in range(1, len(word) + 1) if text_width(word[:n], size, bold) > wide) - 1)
            yield word[:most]
            word = word[most:]
        line = word
    if line:
        yield line


def shortened(text: str, wide: float, size: float, bold: bool = False) -> str:
    """As much of a text as fits in one line, with dots where something was cut."""
    text = printable(text)[:200]
    if text_width(text, size, bold) <= wide:
        return text
    while text and text_width(f"{text}…", size, bold) > wide:
        text = text[:-1]
    return f"{text.rstrip()}…"


def text_width(text: str, size: float, bold: bool = False) -> float:
    return sum(_wide(part, font, size) for part, font in _runs(text, bold))


def _wide(part: str, font: str, size: float) -> float:
    return float(pdfmetrics.stringWidth(part, font, size))


def _runs(text: str, bold: bool) -> Iterator[tuple[str, str]]:
    """Pieces of a line, each with a font that has its characters."""
    _register_fonts()
    own = BOLD if bold else REGULAR
    text = unicodedata.normalize("NFC", printable(text))
    asian = _asian_font(text)
    known = pdfmetrics.getFont(own).face.charToGlyph
    fonts = [own if ord(letter) in known else asian if _is_asian(letter) else "" for letter in text]
    for (font, backwards), pairs in groupby(
        zip(text, fonts, strict=True), lambda pair: (pair[1], _is_backwards(pair[0]))
    ):
        letters = "".join(letter for letter, _ in pairs)
        if not font:
            yield BOX * len(letters), own
        else:
            yield letters[::-1] if backwards else letters, font


def _is_asian(letter: str) -> bool:
    return 0x2E80 <= ord(letter) <= 0xFFEF and unicodedata.east_asian_width(letter) in "WF"


def _is_backwards(letter: str) -> bool:
    """Hebrew and Arabic run from right to left."""
    return unicodedata.bidirectional(letter) in ("R", "AL")


def _asian_font(text: str) -> str:
    names = {unicodedata.name(letter, "").split(" ")[0] for letter in text if _is_asian(letter)}
    return JAPANESE if names & {"HIRAGANA", "KATAKANA"} else KOREAN if "HANGUL" in names else CHINESE


@cache
def _register_fonts() -> None:
    for name, file in FILES.items():
        pdfmetrics.registerFont(TTFont(name, str(Path(__file__).parent / "fonts" / file)))
    for name in (CHINESE, JAPANESE, KOREAN):
        pdfmetrics.registerFont(UnicodeCIDFont(name))
