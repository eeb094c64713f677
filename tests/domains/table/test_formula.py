"""Reward formulas: worked out as written, never executed."""

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.domains.table.formula import Formula

COLUMNS = ("level", "debt", "heart rate")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2*level - debt/4", lambda s, d, h: 2 * s - d / 4),
        ("-level**2 + 1e-3", lambda s, d, h: -(s**2) + 1e-3),
        ("max(level, 0) + min(debt, 1)", lambda s, d, h: np.maximum(s, 0) + np.minimum(d, 1)),
        ("where(level > 0.5, exp(debt), abs(level))", lambda s, d, h: np.where(s > 0.5, np.exp(d), np.abs(s))),
        ("sqrt(debt) * log(1 + debt)", lambda s, d, h: np.sqrt(d) * np.log(1 + d)),
        ("`heart rate` - 60", lambda s, d, h: h - 60),
        ("level >= 0", lambda s, d, h: s >= 0),
        ("3", lambda s, d, h: np.full(s.shape, 3.0)),
    ],
)
def test_values(text: str, expected: object) -> None:
    states = np.random.default_rng(0).uniform(-1, 1, size=(4, 5, 3))
    states[..., 1] = np.abs(states[..., 1])
    np.testing.assert_allclose(Formula(text, COLUMNS)(states), expected(*np.moveaxis(states, -1, 0)))  # type: ignore[operator]


@pytest.mark.parametrize("text", ["2*level", "max(level, 0)", "where(level > 0, 1, debt)", "exp(min(level, debt))"])
def test_tensors_are_like_arrays(text: str) -> None:
    import torch

    states = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    formula = Formula(text, COLUMNS)
    np.testing.assert_allclose(formula(torch.from_numpy(states)).numpy(), formula(states), rtol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch x')",
        "level.__class__",
        "(lambda: 1)()",
        "[level for level in (1,)]",
        "open('x')",
        "level if level else 1",
        "level and debt",
        "9**9**9**9",
        "level**debt",
        "2**1000",
        "max(level)",
        "exp(x=level)",
        "'a'*9",
        "f'{level}'",
        "level[0]",
        "level := 1",
        "1e999",
        "",
        "level;debt",
        "-" * 200 + "level",
        "(" * 500 + "level" + ")" * 500,
        "+".join(["level"] * 900),
        "virus",
        "True",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        Formula(text, COLUMNS)
