"""The app as it is, but its quick illustration takes seconds, and jobs do not give way to whatever else runs on the machine.

``python -m tests.app.small_demo run app.py`` instead of ``python -m streamlit run app.py``.
"""

import sys

from streamlit.web.cli import main

from shortlong.scenario.preset_table import PRESETS
from shortlong.ui import jobs

START = (sys.executable, "-m", "tests.app.small_demo", "run", "app.py")

DEMO = PRESETS["hiv-demo"]
SMALL = {
    **DEMO,
    "data": {
        **DEMO["data"],
        "train_discounts": (0.7, 0.98),
        "test_discounts": (0.9,),
        "rounds": 2,
        "patients": 5,
        "trees": 2,
        "rebuilds": 1,
        "backups": 5,
        "learning_patients": 3,
    },
    "methods": ("slev", "mean_reward", "last_reward", "off_policy_mean"),
}

if __name__ == "__main__":
    PRESETS["hiv-demo"] = SMALL
    jobs.POLITENESS = 0
    main()
