"""One's own table in a real browser: a good file, a broken one, a European one; reload and link."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlong.words.scenario import title_of
from tests.app.browsing import MARKS, new_session, see, settled
from tests.app.server import running_server
from tests.domains.table.tables import trial

pytestmark = MARKS
QUICK = ("mean_reward", "off_policy_mean", "surrogate_index")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("own")) as server:
        yield server.address


def write(folder: Path, name: str, rename: dict[str, str] | None = None, **options: Any) -> Path:
    file = folder / name
    trial(old=6, new=2, units=3).rename(columns=rename or {}).to_csv(file, index=False, **options)
    return file


def drop(page: Any, file: Path) -> None:
    see(page.get_by_role("heading", name="Your data", level=1))
    page.locator("input[type=file]").set_input_files(str(file))
    see(page.get_by_role("heading", name="Which column is which?"))
    settled(page)


def choose(page: Any, title: str, option: str) -> None:
    box = page.get_by_role("combobox", name=title)
    box.first.click()
    box.first.fill(option)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    settled(page)


def start(page: Any) -> None:
    page.get_by_role("button", name="Start", exact=True).click()
    see(page.get_by_text("the history trusts most"))
    settled(page)


@pytest.mark.slow  # a whole run
def test_a_good_file_to_predictions_reload_and_link(address, browser, tmp_path):
    page = new_session(browser, f"{address}/Your_data")
    drop(page, write(tmp_path, "good.csv"))
    for method in QUICK:
        choose(page, "Methods", title_of(method))
    start(page)
    assert "good.csv" not in page.url
    assert "data.content=" in page.url
    link = page.url
    page.reload()
    see(page.get_by_text("the history trusts most"))
    other = new_session(browser, link)
    see(other.get_by_text("the history trusts most"))
    other.get_by_role("button", name="Horizon").click()
    see(other.get_by_role("heading", name="How early can we tell?"))
    settled(other)
    gone = new_session(browser, link.replace("preset=good", "preset=gone"))
    see(gone.get_by_text("is not on this machine"))


def test_a_broken_file_is_corrected_by_drop_downs(address, browser, tmp_path):
    page = new_session(browser, f"{address}/Your_data")
    drop(page, write(tmp_path, "broken.csv", {"unit": "who", "step": "number"}))
    assert page.get_by_role("button", name="Start", exact=True).is_disabled()
    choose(page, "Unit", "who")
    choose(page, "Step", "number")
    see(page.get_by_text("6 historical policies", exact=True))
    assert page.get_by_role("button", name="Start", exact=True).is_enabled()


def test_semicolons_and_decimal_commas(address, browser, tmp_path):
    page = new_session(browser, f"{address}/Your_data")
    drop(page, write(tmp_path, "european.csv", sep=";", decimal=","))
    see(page.get_by_text("decimal comma"))
    see(page.get_by_text("6 historical policies", exact=True))
    assert page.get_by_role("button", name="Start", exact=True).is_enabled()
