"""Reads the YAML of a scenario with limits: nothing twice, nothing that refers to itself, nothing that grows when read."""

from typing import Any

import yaml

from shortlong.core.errors import UserError
from shortlong.core.reading import shown

MOST_VALUES = 50_000  # also after aliases are written out; a scenario with 20,000 seeds has 20,100
EXAMPLE = "compare it with the output of `python -m shortlong scenario hiv-demo`"


class _RefusedError(Exception):
    """What is wrong and, where known, in which line."""

    def __init__(self, problem: str, mark: Any = None):
        super().__init__(problem)
        self.line = f", line {mark.line + 1}" if mark is not None else ""


class _Loader(yaml.SafeLoader):
    """A safe loader that gives up on files with too many values."""

    composed = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.composed += 1
        if self.composed > MOST_VALUES:
            raise _RefusedError(f"has more than {MOST_VALUES:,} values; remove some of them")
        return super().compose_node(parent, index)


def read_yaml(text: str, source: str) -> Any:
    """The content of a YAML text; ``source`` names it in the sentence that refuses it."""
    try:
        return _read(text)
    except _RefusedError as refusal:
        raise UserError(f"{shown(source)}{refusal.line} {refusal}.") from refusal
    except RecursionError as error:
        raise UserError(f"{shown(source)} is nested too deeply to be a scenario; {EXAMPLE}.") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: such as the 45th of a month
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        problem = shown(getattr(error, "problem", None) or "a date or a number that does not exist, or a syntax error")
        raise UserError(f"{shown(source)}{where} is not readable as YAML ({problem}); {EXAMPLE}.") from error


def _read(text: str) -> Any:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check(node, {})
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _check(node: yaml.Node, sizes: dict[int, int | None]) -> int:
    """Number of values below a node, aliases written out; refuses what is doubled, endless or too much."""
    if id(node) in sizes:
        size = sizes[id(node)]
        if size is None:
            raise _RefusedError("refers to itself; write the values out", node.start_mark)
        return size
    sizes[id(node)] = None  # being counted
    total = 1
    for child in _children(node):
        total += _check(child, sizes)
        if total > MOST_VALUES:
            raise _RefusedError(
                f"has more than {MOST_VALUES:,} values once its aliases are written out; use fewer aliases"
            )
    sizes[id(node)] = total
    return total


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if not isinstance(node, yaml.MappingNode):
        return []
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if (name := (key.tag, key.value)) in lines:
            raise _RefusedError(
                f"has the key '{shown(key.value, 60)}' a second time (first in line {lines[name]}); remove one of them",
                key.start_mark,
            )
        lines[name] = key.start_mark.line + 1
    return [part for pair in node.value for part in pair]
