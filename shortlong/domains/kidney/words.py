"""What the kidney domain calls things."""

from shortlong.domains.words import Words

WORDS = Words(
    amount="dose",
    question="Will a new dosing rule keep haemoglobin in range?",
    limits=(
        "**The kidney simulator is a substitute.** The paper's simulator is not public. Ours has the same form and is built "
        "from published pharmacology; its numbers cannot be expected to match.",
    ),
    glossary={
        "Haemoglobin": "The oxygen carrier in the blood; in renal anaemia it is kept in range with a drug, in g/dL.",
        "Epsilon (ε)": "The probability that a dosing policy gives a random dose in a month.",
    },
)
