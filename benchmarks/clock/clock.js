// Opens a page again and again in its tab, and writes the times into the tab's title: when the first chart stood and when the
// whole page was ready, in milliseconds since it was opened. The address says how often: …#turns=3
const STEADY = 1500; // milliseconds without a step back before the page counts as ready
const TIMES = "shortlong-clock";
const turns = Number(new URLSearchParams(location.hash.slice(1)).get("turns") ?? sessionStorage.getItem("turns") ?? 1);
sessionStorage.setItem("turns", turns); // the app writes its own address
let chart = null;
let ready = null;

function isReady() {
  const idle = document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]");
  const waiting = document.querySelector("[data-testid=stSkeleton]");
  const charts = [...document.querySelectorAll("[data-testid=stPlotlyChart]")];
  return idle && !waiting && document.querySelector("h1") && charts.every((one) => one.querySelector(".main-svg"));
}

function look() {
  if (chart === null && document.querySelector(".js-plotly-plot .main-svg")) chart = performance.now();
  if (!isReady()) ready = null;
  else if (ready === null) ready = performance.now();
}

function finish() {
  const times = JSON.parse(sessionStorage.getItem(TIMES) ?? "[]");
  times.push([Math.round(chart ?? NaN), Math.round(ready)]);
  sessionStorage.setItem(TIMES, JSON.stringify(times));
  if (times.length < turns) location.reload();
  else document.title = `clock ${JSON.stringify(times)}`;
}

const observer = new MutationObserver(look);
observer.observe(document, { childList: true, subtree: true, attributes: true });
const timer = setInterval(() => {
  look();
  if (ready === null || performance.now() - ready < STEADY) return;
  clearInterval(timer);
  observer.disconnect();
  finish();
}, 100);
