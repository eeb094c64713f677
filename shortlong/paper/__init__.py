"""The paper in one command: its figures and tables from our results, and its statements checked against them."""

from typing import Literal

PartName = Literal["figure2", "figure3", "table1", "examples"]
AskedPart = Literal["figure2", "figure3", "table1", "examples", "differences"]  # of the command
Size = Literal["demo", "standard", "paper"]
Search = Literal["usual", "quick"]  # of SLEV
Whose = Literal["all", "paper"]  # methods: those of the scenarios, or only those that the paper compares
DOMAIN_TITLES = {"hiv": "HIV", "kidney": "Kidney", "both": "Both domains", "battery": "Battery"}
