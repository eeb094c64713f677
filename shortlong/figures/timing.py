"""When is a reward earned: a small picture of the two ways in which tables are written, as SVG."""

from functools import cache

from shortlong.figures.style import NEUTRAL

WORDS = "Arriving: a row holds the reward of the step that ended there. Leaving: a row holds the reward of the step that follows."
PLACES = (70, 220, 370, 520)  # of the rows
TITLES = {"arriving": "arriving: the step that ended there", "leaving": "leaving: the step that follows"}


@cache
def timing_svg(dark: bool = False) -> str:
    """Both ways one above the other: rows as dots, the rewarded step and the row that holds it in colour."""
    colour, ink = ("#3A9BD9", "#FAFAFA") if dark else ("#0072B2", "#31333F")
    shapes = [*_row("arriving", 60, colour, ink), *_row("leaving", 175, colour, ink)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 225" width="600" height="225" role="img" aria-label="{WORDS}" '
        f'fill="none" text-anchor="middle" font-size="17" font-family="&apos;Source Sans 3&apos;, sans-serif">{"".join(shapes)}</svg>'
    )


def _row(kind: str, y: int, colour: str, ink: str) -> list[str]:
    first, second = PLACES[1], PLACES[2]
    holder = second if kind == "arriving" else first
    label = (first + second) / 2
    return [
        f'<text x="20" y="{y - 38}" fill="{ink}" text-anchor="start" font-weight="700">{TITLES[kind]}</text>',
        f'<path d="M{PLACES[0]} {y}H{PLACES[-1]}" stroke="{NEUTRAL}" stroke-width="2"/>',
        f'<path d="M{first} {y}H{second}" stroke="{colour}" stroke-width="7"/>',
        f'<text x="{label}" y="{y - 12}" fill="{colour}">reward</text>',
        *(
            f'<circle cx="{x}" cy="{y}" r="{11 if x == holder else 7}" fill="{colour if x == holder else ink}"/>'
            for x in PLACES
        ),
        *(f'<text x="{x}" y="{y + 30}" fill="{ink}">row {number}</text>' for number, x in enumerate(PLACES, start=1)),
    ]
