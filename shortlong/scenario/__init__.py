"""A scenario: everything that defines an analysis, in one frozen object."""

from shortlong.scenario.scenario import Scenario, flatten, load_scenario

__all__ = ["Scenario", "flatten", "load_scenario"]
