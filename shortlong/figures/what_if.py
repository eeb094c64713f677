"""Charts of a what-if: outcomes, error and decisions of two runs, small enough to stand beside each other."""

import plotly.graph_objects as go

from shortlong.analysis.decisions import DECISIONS
from shortlong.analysis.what_if import Side, WhatIf
from shortlong.figures.decide_look import COLOURS
from shortlong.figures.style import NEUTRAL, TEXT, finish, method_line, method_marker, time_axis, time_ticks, with_room
from shortlong.words.decide import DECISION_TITLES
from shortlong.words.scenario import class_words

SMALL = 250  # pixels: three charts and the choices above them fit into a small window
BEFORE, NOW, HISTORY = "before", "now", "history"
COLOUR = "#0072B2"  # of this run's outcomes
MARGINS = {"l": 58, "r": 10, "t": 8, "b": 44}


def outcome_strip(found: WhatIf, height: int = SMALL) -> go.Figure:
    """Every policy as a mark at its value: this run, the one compared with, and the history of this run."""
    if words := class_words(found.now.scenario):
        return _class_bars(found, words, height)
    figure = go.Figure()
    rows = ((HISTORY, found.now.history, NEUTRAL, 7), (BEFORE, found.before.outcomes, NEUTRAL, 11))
    for name, values, colour, size in (*rows, (NOW, found.now.outcomes, COLOUR, 11)):
        figure.add_scatter(
            x=values,
            y=[name] * len(values),
            mode="markers",
            marker={"size": size, "color": colour, "opacity": 0.55, "line": {"width": 1, "color": colour}},
            hovertemplate=f"{name}: %{{x:,.3r}}<extra></extra>",
        )
        if len(values) and name != HISTORY:
            figure.add_scatter(
                x=[values.mean()], y=[name], mode="markers", hovertemplate=f"{name}, average: %{{x:,.3r}}<extra></extra>",
                marker={"symbol": "line-ns", "size": 26, "line": {"width": 3, "color": colour}},
            )  # fmt: skip
    if found.threshold is not None:
        figure.add_vline(x=found.threshold, line={"dash": "dot", "width": 1.5, "color": NEUTRAL})
    unit = found.now.scenario.domain.value_unit(found.now.scenario.data)
    everything = [value for side in found.sides for value in (*side.outcomes, *side.history)]
    figure.update_xaxes(
        title=f"outcome ({unit})" if unit else "outcome", range=with_room(min(everything), max(everything))
    )
    figure.update_yaxes(categoryarray=[HISTORY, BEFORE, NOW], range=[-0.5, 2.5])
    return finish(figure, height, legend=False, margin=MARGINS)


def _class_bars(found: WhatIf, words: tuple[str, str], height: int) -> go.Figure:
    """Yes/no outcomes: how many are a yes."""
    parts = {words[1]: [float(side.outcomes.sum()) for side in found.sides]}
    parts[f"not {words[1]}"] = [
        len(side.outcomes) - yes for side, yes in zip(found.sides, parts[words[1]], strict=True)
    ]
    return _bars(parts, {words[1]: COLOUR, f"not {words[1]}": NEUTRAL}, words[0], height)


def error_lines(found: WhatIf, height: int = SMALL) -> go.Figure:
    """The typical error of one method by observation period: this run solid, the one compared with dotted."""
    figure = go.Figure()
    for name, side, dash in ((NOW, found.now, "solid"), (BEFORE, found.before, "dot")):
        figure.add_scatter(
            x=side.curve["horizon"],
            y=side.curve["error"],
            mode="lines+markers",
            line=method_line(found.method, 2.5, dash=dash),
            marker=method_marker(found.method, 7),
            hovertemplate=f"{name}<br>%{{x}} steps: error %{{y:,.3r}}<extra></extra>",
        )
        if len(side.curve):
            figure.add_annotation(
                x=side.curve["horizon"].iloc[-1], y=side.curve["error"].iloc[-1], text=name, showarrow=False,
                xanchor="left", xshift=7, yshift=_apart(side, found), font={"size": TEXT - 1},
            )  # fmt: skip
    figure.add_vline(x=found.horizon, line={"dash": "dash", "width": 1.5, "color": NEUTRAL})
    top = max((float(side.error.max()) for side in found.sides if len(side.curve)), default=1.0)
    system = found.now.scenario.system
    figure.update_yaxes(title="error (RMSE)", range=[0, 1.1 * top])
    figure.update_xaxes(title=time_axis(system).partition(",")[0], **time_ticks(system, found.now.curve["horizon"], 4))
    return finish(figure, height, legend=False, margin={**MARGINS, "b": 62, "r": 50})


def _apart(side: Side, found: WhatIf) -> int:
    """Pixels by which a name moves away from the other one, if both curves end at about the same height."""
    other = found.before if side is found.now else found.now
    if not len(other.curve) or abs(side.error[-1] - other.error[-1]) > 0.12 * max(side.error[-1], other.error[-1]):
        return 0
    return 8 if (side.error[-1], side is found.now) >= (other.error[-1], other is found.now) else -8


def decision_bars(found: WhatIf, height: int = SMALL) -> go.Figure:
    """How many new policies are continued, stopped and watched on, in both runs."""
    parts = {d: [float((side.decisions or {}).get(d, 0)) for side in found.sides] for d in DECISIONS}
    titled = {DECISION_TITLES[d]: amounts for d, amounts in parts.items() if any(amounts)}
    colours = {DECISION_TITLES[d]: COLOURS[d] for d in DECISIONS}
    return _bars(titled, colours, "new policies", height, faint=(DECISION_TITLES[DECISIONS[-1]],))


def _bars(
    parts: dict[str, list[float]], colours: dict[str, str], unit: str, height: int, faint: tuple[str, ...] = ()
) -> go.Figure:
    """Two stacked bars, the run compared with below this one; each part has its number inside."""
    figure = go.Figure()
    for name, amounts in parts.items():
        figure.add_bar(
            y=[BEFORE, NOW],
            x=amounts,
            orientation="h",
            name=name,
            marker={"color": colours[name], "opacity": 0.45 if name in faint else 1.0},
            text=[f"{amount:g}" if amount else "" for amount in amounts],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": "#FFFFFF", "size": TEXT},
            hovertemplate=f"%{{y}}: %{{x:g}} {name}<extra></extra>",
        )
    figure.update_layout(barmode="stack", bargap=0.35, legend={"traceorder": "normal"})  # in the order of the parts
    figure.update_xaxes(title=unit, range=[0, max(map(sum, zip(*parts.values(), strict=True)), default=1)])
    return finish(figure, height, margin={**MARGINS, "t": 34})
