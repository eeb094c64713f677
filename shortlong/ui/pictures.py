"""Pictures of charts to take away, made in the browser: PNG and SVG with a title, the scenario, the date and the notice.

The toolbar of a chart shows when the pointer is over it or the chart has the focus. Its camera makes a PNG; beside it stands a
button for SVG. A copy of the chart is made for the picture, with room for the words and without buttons; the page stays as it is.
"""

import json
import re
from datetime import UTC, datetime

import streamlit as st

from shortlong.domains.base import notice_of
from shortlong.scenario import Scenario
from shortlong.words.scenario import scenario_title

# Only pictures and the whole screen: charts with fixed axes have nothing to zoom.
TAKE_AWAY = {
    "displaylogo": False,
    "modeBarButtonsToRemove": [
        "zoom2d",
        "pan2d",
        "zoomIn2d",
        "zoomOut2d",
        "autoScale2d",
        "resetScale2d",
        "select2d",
        "lasso2d",
    ],
}
SCRIPT = """
window.shortlongAbout = %s;
if (!window.shortlongPictures) {
    window.shortlongPictures = true;
    const words = text => (text || "").replace(/\\s+/g, " ").trim();
    const wrapped = (text, most) => {
        const lines = [""];
        for (const word of text.split(" ")) {
            if ((lines.at(-1) + " " + word).length > most && lines.at(-1)) lines.push("");
            lines[lines.length - 1] = (lines.at(-1) + " " + word).trim();
        }
        return lines;
    };
    const harmless = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
    const headingOf = chart => {  // the last heading before the chart
        const before = [...document.querySelectorAll("[data-testid=stMain] :is(h1, h2, h3)")].filter(
            heading => heading.compareDocumentPosition(chart) & Node.DOCUMENT_POSITION_FOLLOWING);
        return before.length ? words(before.at(-1).innerText) : document.title;
    };
    const alternative = chart => words(chart.closest("[role=figure]")?.getAttribute("aria-label")).split(/[.;] /)[0];
    const prepare = (chart, format) => {
        const about = window.shortlongAbout, layout = chart.layout, full = chart._fullLayout;
        const wide = Math.max(full.width, 720), most = Math.floor(wide / 10.5);
        const title = wrapped(headingOf(chart), most), below = wrapped(alternative(chart), Math.floor(wide / 6.5));
        const named = (layout.annotations || []).some(note => note.showarrow);
        const legend = !layout.showlegend && !named && chart.data.filter(t => t.showlegend !== false && t.name).length > 1;
        const above = 18 + 22 * title.length, under = 14 + 15 * (below.length + 1);
        const margin = {l: 80, r: 80, t: 60, b: 60, ...(layout.margin || {})};
        const colours = getComputedStyle(document.querySelector("[data-testid=stApp]"));
        const note = (text, shift, size) => ({xref: "paper", yref: "paper", x: 0, y: 0, xanchor: "left", yanchor: "top",
            xshift: 10 - margin.l, yshift: -margin.b - shift, align: "left", showarrow: false, text: text, font: {size: size, color: colours.color}});
        const letters = "Arial, 'DejaVu Sans', sans-serif";  // a picture has no fonts of the page
        const kept = {layout: chart.layout, options: chart._context.toImageButtonOptions};
        chart.layout = {...layout, autosize: false, width: wide, height: full.height + above + under,
            margin: {...margin, t: margin.t + above, b: margin.b + under}, updatemenus: [], sliders: [],
            font: {...(layout.font || {}), family: letters},
            paper_bgcolor: colours.backgroundColor, plot_bgcolor: colours.backgroundColor,
            title: {text: "<b>" + title.map(harmless).join("<br>") + "</b>", x: 0, xanchor: "left", y: 1, yanchor: "top",
                yref: "container", pad: {t: 10, l: 10}, font: {size: 17, color: colours.color}},
            annotations: [...(layout.annotations || []),
                note(below.map(harmless).join("<br>"), 0, 11),
                note("<b>" + harmless(about.notice) + "</b>", 15 * below.length + 4, 11)]};
        if (legend) Object.assign(chart.layout, {showlegend: true, legend: {x: 1.02, y: 1, font: {size: 12, family: letters}, entrywidth: 145},
            margin: {...chart.layout.margin, r: Math.max(margin.r, 190)}});
        const key = [...(chart.closest("[class*=st-key-]")?.classList || [])].find(c => c.startsWith("st-key-")) || "chart";
        chart._context.toImageButtonOptions = {format: format, scale: format === "png" ? 2 : 1,
            width: chart.layout.width, height: chart.layout.height,
            filename: [about.file, key.replace("st-key-", "")].join("-")};
        setTimeout(() => { chart.layout = kept.layout; chart._context.toImageButtonOptions = kept.options; }, 0);
    };
    let format = "png";
    document.addEventListener("click", event => {
        const button = event.target.closest?.(".modebar-btn");
        const chart = button?.closest(".js-plotly-plot");
        if (!chart) return;
        if (button.classList.contains("as-svg")) {
            event.stopPropagation();
            format = "svg";
            chart.querySelector(".modebar-btn[data-title*='ownload'], .modebar-btn[data-attr=toImage]")?.click();
            format = "png";
        } else if (/download/i.test(button.getAttribute("data-title") || "")) prepare(chart, format);
    }, true);
    const addSvg = event => {
        const chart = event.target.closest?.(".js-plotly-plot");
        const camera = chart && [...chart.querySelectorAll(".modebar-btn")].find(
            b => /download/i.test(b.getAttribute("data-title") || ""));
        if (!camera || chart.querySelector(".as-svg")) return;
        camera.setAttribute("data-title", "Download as PNG");
        const copy = camera.cloneNode(false);
        copy.classList.add("as-svg");
        copy.setAttribute("data-title", "Download as SVG");
        copy.innerHTML = "<span style='font:600 11px sans-serif;line-height:20px;padding:0 2px;color:inherit'>SVG</span>";
        camera.after(copy);
    };
    document.addEventListener("pointerover", addSvg, true);
    document.addEventListener("focusin", addSvg, true);
}
"""


def pictures_with_notice(scenario: Scenario) -> None:
    """Lets every chart of the page be saved as a picture that says what it shows and what it is not."""
    notice = notice_of(scenario.domain, scenario.data)
    about = {"file": f"shortlong-{scenario.preset or scenario.data.domain}-{scenario.key[:6]}"}
    about["notice"] = f"{notice} {scenario_title(scenario)}, run {scenario.key[:6]}. {datetime.now(UTC):%Y-%m-%d}"
    st.html(f"<script>{_safe(SCRIPT % json.dumps(about))}</script>", unsafe_allow_javascript=True)


def _safe(script: str) -> str:
    """Without signs that look like tags: no text can end the script, and Streamlit's cleaning of HTML leaves it alone."""
    return re.sub(r"<(?=[/\w!])", r"\\u003c", script)
