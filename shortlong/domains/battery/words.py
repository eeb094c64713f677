"""What the battery domain calls things: its policies are cells, each charged in one way for life."""

from shortlong.domains.words import Words

WORDS = Words(
    judged="cell",
    question="Will a new charging protocol shorten battery life?",
    choice="Choose which cells to learn from and which cells to predict.",
    line="Each line is one cell under its charging policy; it ends with the cell's last recorded cycle.",
    sides={"train": "training", "test": "test"},
    presets="Prediction target",
    preset_titles={"battery-demo": "long or short life", "battery-life": "cycle life"},
    low="it is short-lived",
    no_course=(
        "A cell is charged in the same way for its whole life and has one outcome, at its end: there are no rewards over time "
        "to follow. Look at single cells on the Battery page."
    ),
    no_shift=(
        "This page compares states and actions over time, which battery cells do not have: each cell follows one charging "
        "protocol for life."
    ),
    own_chart=(
        "**Battery bars:** further right is better. The dotted line assumes that every cell is long-lived; a method to the left "
        "of it does worse than that. Whiskers show the range over simulated fleets."
    ),
    own_page="Battery",
    own_page_link="single cells, and the effect of training data",
    limits=(
        "**The battery cells are simulated,** for illustration only. They are calibrated to published statistics and are no "
        "evidence about real cells. Measured cells can be read from a folder on the Battery page.",
    ),
    glossary={
        "Cycle": "One charge and one discharge of a battery cell.",
        "Cycle life": "The number of cycles until a cell has lost a fifth of its nominal capacity.",
        "C rate": "Charging speed: at 1C a cell is full in one hour, at 4C in a quarter of an hour.",
        "ΔQ": "The difference of two discharge curves of a cell; its variance after a few cycles is related to its life.",
        "Long-lived": "Said of a cell that lives at least as many cycles as the threshold of the scenario.",
        "SLEV, chosen by log-loss": "SLEV on battery cells, with its settings chosen by the quality of its probabilities.",
        "SLEV, weighted for shift": "SLEV on battery cells, with cells that resemble the new ones counted more.",
        "Balanced SLEV (ours)": "Our variant of SLEV on battery cells that counts long and short lives equally.",
        "Regression of log life": "Predicts the logarithm of a cell's life from its first cycles by linear regression.",
        "Naive Bayes": "Here: gives every cell the class that most training cells have.",
        "Assume all long-lived": "Assumes that every cell is long-lived, without looking at it.",
    },
)
