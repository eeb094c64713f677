"""The server as `streamlit run app.py` starts it: what it has loaded before anybody comes, and what it says."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.app.server import ROOT, running_server
from tests.saying import says

pytestmark = pytest.mark.heavy

FIRST_VISIT = """
import asyncio, sys
import app

async def started():
    async with app.with_shipped_results(app.app):
        return set(sys.modules)

before = asyncio.run(started())
from streamlit.testing.v1 import AppTest
home = AppTest.from_file(app.__file__, default_timeout=240).run()
assert not home.exception and len(home.get("plotly_chart")) == 3
late = {name for name in set(sys.modules) - before if not name.startswith("plotly.io")}  # that is small
print(*sorted({name.partition(".")[0] for name in late}))
"""

HASTY = """
import sys
from shortlong.ui import serving
from streamlit.web.cli import main

serving.PAUSE = 0.1
sys.exit(main())
"""


def test_the_first_visitor_of_home_does_not_wait_for_libraries(tmp_path: Path) -> None:
    environment = {**os.environ, "SHORTLONG_HOME": str(tmp_path)}
    command = [sys.executable, "-c", FIRST_VISIT]
    found = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    late = set(found.stdout.split())
    assert late, "nothing at all was loaded by the page: the test looks at the wrong process"
    assert not late & {"shortlong", "plotly", "pydantic", "yaml", "typer", "torch"}


def test_a_server_says_its_address_and_nothing_else(tmp_path: Path) -> None:
    with running_server(tmp_path, (sys.executable, "-c", HASTY, "run", "app.py")) as server:
        assert server.read("_stcore/health") == "ok"
        time.sleep(4)  # what it loads later is not worth a line either
    lines = [line.strip() for line in (tmp_path / "server.log").read_text().splitlines() if line.strip()]
    assert says(lines[0], "Streamlit app", "browser")
    assert lines[1] == f"URL: {server.address}"
    assert [line for line in lines[2:] if "topping" not in line] == []
