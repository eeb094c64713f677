"""The reward as a formula of state columns, such as ``(1000*immune - 0.1*virus) / 1e8``; it is never executed as code.

The text is parsed, every part of it must be on a short list, and the parts are then worked out one by one. That makes
the reward of any state known, which methods that play states to the end need.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shortlong.core.errors import UserError, quoted

LONGEST = 1000  # characters
DEEPEST = 40  # levels of parentheses
LARGEST_POWER = 16
_NAME = re.compile(r"`([^`]+)`")  # a column whose name is no single word
_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS = {"min": 2, "max": 2, "abs": 1, "exp": 1, "log": 1, "sqrt": 1, "where": 3}  # and their arguments
ALLOWED = "numbers, column names, + - * / ** ( ), comparisons, and min, max, abs, exp, log, sqrt, where(test, a, b)"


class Formula:
    """A checked expression of columns. Columns whose name is no single word stand in backquotes.

    Examples
    --------
    >>> import numpy as np
    >>> Formula("2*level - max(debt, 0)", ["level", "debt"])(np.array([[1.0, 3.0], [2.0, -1.0]])).tolist()
    [-1.0, 4.0]
    """

    def __init__(self, text: str, columns: Sequence[str]):
        self.text = text
        self.columns = tuple(columns)
        self._aliases: dict[str, str] = {}
        self._tree = self._parse()
        self.used = tuple(dict.fromkeys(_names(self._tree, self._column)))

    def __call__(self, states: Any) -> Any:
        """The reward (...) of states (..., dim): numpy arrays or torch tensors."""
        places = {name: states[..., place] for place, name in enumerate(self.columns)}
        value = self._value(self._tree, places)
        return value if getattr(value, "shape", None) else value + 0 * states[..., 0]  # a number alone

    def _parse(self) -> ast.expr:
        if len(self.text) > LONGEST:
            raise UserError(f"The reward formula has more than {LONGEST:,} characters; shorten it.")

        def alias(found: re.Match[str]) -> str:
            name = f"column{len(self._aliases)}_of_table"
            self._aliases[name] = found[1]
            return name

        source = _NAME.sub(alias, self.text.strip())
        try:
            tree = ast.parse(source, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UserError(f"The reward formula {quoted(self.text)} cannot be read; write {ALLOWED}.") from error
        self._check(tree, 0)
        return tree

    def _check(self, node: ast.AST, depth: int) -> None:
        if depth > DEEPEST:
            raise UserError(f"The reward formula {quoted(self.text)} is nested too deeply; write it more simply.")
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            self._check_power(node)
            children: list[ast.AST] = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            children = [node.operand]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
            children = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if _FUNCTIONS.get(node.func.id) != len(node.args):
                raise self._refusal(node)
            children = list(node.args)
        elif isinstance(node, ast.Name):
            self._column(node.id)
            children = []
        elif isinstance(node, ast.Constant) and _is_modest(node.value):
            children = []
        else:
            raise self._refusal(node)
        for child in children:
            self._check(child, depth + 1)

    def _check_power(self, node: ast.BinOp) -> None:
        """Powers only of a small number: 9**9**9 would never end."""
        if not isinstance(node.op, ast.Pow):
            return
        power = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
        if not (
            isinstance(power, ast.Constant) and isinstance(power.value, int | float) and power.value <= LARGEST_POWER
        ):
            raise UserError(
                f"The reward formula {quoted(self.text)} has a power that is not a number up to {LARGEST_POWER}; use one."
            )

    def _refusal(self, node: ast.AST) -> UserError:
        part = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        return UserError(f"The reward formula may not contain {quoted(part)}; write {ALLOWED}.")

    def _column(self, name: str) -> str:
        column = self._aliases.get(name, name)
        if column not in self.columns:
            raise UserError(
                f"The reward formula names {quoted(column)}, which is no state column; the states are "
                f"{', '.join(self.columns[:8])}. Names that are no single word stand in `backquotes`."
            )
        return column

    def _value(self, node: ast.AST, places: Mapping[str, Any]) -> Any:
        if isinstance(node, ast.BinOp):
            return _BINARY[type(node.op)](self._value(node.left, places), self._value(node.right, places))
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, places)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.Compare):
            left, right = self._value(node.left, places), self._value(node.comparators[0], places)
            return _COMPARISONS[type(node.ops[0])](left, right)
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            return _call(node.func.id, [self._value(argument, places) for argument in node.args])
        if isinstance(node, ast.Name):
            return places[self._column(node.id)]
        assert isinstance(node, ast.Constant)
        return node.value


def _is_modest(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _names(tree: ast.AST, column: Callable[[str], str]) -> list[str]:
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return [column(node.id) for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id not in calls]


def _call(name: str, values: Sequence[Any]) -> Any:
    """A function of arrays or tensors; numbers among the values become like the others."""
    if all(isinstance(value, int | float | bool) for value in values):
        import numpy as np  # late: the command line starts without heavy libraries

        values = [np.asarray(value, dtype=float) for value in values]
    like = next(value for value in values if not isinstance(value, int | float | bool))
    if type(like).__module__.partition(".")[0] == "torch":
        import torch as library

        if name == "where":
            return library.where(values[0] > 0 if values[0].dtype != library.bool else values[0], *values[1:])
        given = [value if isinstance(value, library.Tensor) else library.full_like(like, value) for value in values]
        functions: dict[str, Any] = {"min": library.minimum, "max": library.maximum}
        functions |= {"abs": library.abs, "exp": library.exp, "log": library.log, "sqrt": library.sqrt}
        return functions[name](*given)
    import numpy as np

    own: dict[str, Any] = {"min": np.minimum, "max": np.maximum, "where": np.where, "abs": np.abs}
    own |= {"exp": np.exp, "log": np.log, "sqrt": np.sqrt}
    return own[name](*values)
