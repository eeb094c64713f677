"""The two commands that a newcomer needs stand in the README, and the checks run the second one word for word."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUN = "python -m pip install -r requirements.txt && python -m streamlit run app.py"
TEST = "python -m pip install -r requirements-dev.txt && python -m pytest"


def test_both_commands_are_printed() -> None:
    blocks = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1::2]
    assert [block.strip() for block in blocks[:2]] == [RUN, TEST]


def test_checks_take_the_command_from_the_readme() -> None:
    shown = subprocess.run([ROOT / ".ci" / "run", "--show"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"{TEST}\n"


def test_what_the_commands_name_is_there() -> None:
    for name in ("requirements.txt", "requirements-dev.txt", "app.py"):
        assert (ROOT / name).is_file()
