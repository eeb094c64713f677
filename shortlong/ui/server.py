"""What the server loads when it starts, so that the first visitors do not wait for it.

``streamlit run app.py`` finds the server in app.py and imports that file before it answers.
"""

from shortlong.domains import PRESET_DOMAINS
from shortlong.ui import modes
from shortlong.ui.home import answer_of
from shortlong.ui.serving import preloading


def _draw_home() -> None:
    modes.open_desk()
    for domain in PRESET_DOMAINS:
        answer_of(domain)


def _load_what_some_pages_need() -> None:
    """Shift and Battery fit small models; their library takes a second or two, and the battery table as long again."""
    from sklearn import decomposition, linear_model, metrics, neighbors, pipeline, preprocessing  # noqa: F401

    from shortlong.ui.battery import table_of_newcomers

    table_of_newcomers()


with_shipped_results = preloading(_draw_home, _load_what_some_pages_need, modes.close)
