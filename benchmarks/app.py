"""CPU time of the server for one move of a slider or number, on every page that has one, with results in the store.

A page is run as the server runs it (Streamlit's AppTest), first a few times to warm up, then with each value of each of them
in turn; the median counts. The demo is computed first if the result folder lacks it.

    python -m benchmarks.app
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[1]
PAGES = (
    "pages/0_Decide.py", "pages/1_Simulate.py", "pages/2_Horizon.py", "pages/3_Policies.py", "pages/4_Safety.py", "pages/5_Shift.py", "pages/6_Battery.py",
)  # fmt: skip
KINDS = ("select_slider", "slider", "number_input")
MOVES = 15
ASKED = 150  # milliseconds in the median


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    subprocess.run([sys.executable, "-m", "shortlong", "run", "hiv-demo"], cwd=ROOT, check=True, capture_output=True)
    slow = False
    for file in PAGES:
        page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        page.switch_page(file).run()
        page.run()
        sliders = [(kind, s.key) for kind in KINDS for s in getattr(page, kind) if not s.disabled]
        if not sliders:
            print(f"{file:24} no slider")
        for kind, key in sliders:
            median = _median_move(page, kind, key)
            slow |= median > ASKED
            print(f"{file:24} {key:24} {median:6.0f} ms CPU in the median of {MOVES} moves (asked for: {ASKED})")
    raise SystemExit(1 if slow else 0)


def _median_move(page: AppTest, kind: str, key: str) -> float:
    times = []
    for number in range(-3, MOVES):
        slider = getattr(page, kind)(key=key)
        slider.set_value(_values(slider)[number % len(_values(slider))])
        start = time.process_time()
        page.run()
        if number >= 0:
            times.append(1000 * (time.process_time() - start))
        assert not page.exception, f"{key} led to an error"
    return statistics.median(times)


def _values(slider: Any) -> list[Any]:
    """Some values to move to: the options, or steps through the range."""
    if slider.type == "select_slider":  # texts that begin with the number they stand for
        return [int(text.split()[0].replace(",", "")) for text in slider.options]
    whole = isinstance(slider.min, int) and isinstance(slider.step, int)
    low, high = (slider.min, slider.max) if slider.max is not None else (slider.value, slider.value + 10 * slider.step)
    steps = [low + (high - low) * i / 8 for i in range(1, 8)]
    return [round(v) if whole else v for v in steps]


if __name__ == "__main__":
    main()
