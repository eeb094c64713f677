"""What is said of a person's own table, whatever it is about."""

from shortlong.domains.words import Words

WORDS = Words(
    question="How will your own new policies do in the long run?",
    choice="Your own data cannot be simulated again; the table holds what happened.",
    glossary={
        "Old policy": "A policy of your table that is known to its full length; methods learn from it.",
        "New policy": "A policy of your table that has just begun; its long-term outcome is predicted.",
        "Full length": "The number of steps after which the outcome counts.",
        "Novelty report": "Actions and states that occur under new policies only, and how often they were seen so far.",
    },
)
