"""What the HIV domain calls things."""

from shortlong.domains.words import Words

NOT_MEDICAL_ADVICE = (
    "**Not medical advice.** All patients are simulated by equations. The pages show how prediction methods behave, not what "
    "happens to people; they are not to be used for treatment decisions."
)
WORDS = Words(
    question="Will a new drug schedule control the virus?",
    limits=(NOT_MEDICAL_ADVICE,),
    glossary={
        "RTI": "Reverse-transcriptase inhibitor: a drug that keeps the virus from entering the genes of new cells.",
        "PI": "Protease inhibitor: a drug that keeps infected cells from releasing working virus.",
        "Discount": "How much a policy cares about later rewards while it learns: near 1 it is patient, near 0 it is short-sighted.",
        "CD4 cells": "Immune cells that HIV infects; their number falls as the infection progresses.",
        "Immune effectors": "Immune cells that kill infected cells and so control the virus.",
    },
)
