"""The page of sets: its code runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "sets.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_example_runs():
    exec(BLOCKS[0], {})


def test_a_set_of_ones_own_takes_ten_lines():
    code = BLOCKS[1]
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    found: dict = {}
    exec(code, found)
    result, K, target = found["result"], found["K"], found["target"]
    assert result.success
    assert result.gap <= 1e-3
    assert abs(np.diff(result.x)).max() <= 1 + 1e-9
    # the oracle against all 2^4 choices of steps in small
    steps = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    points = np.concatenate([np.zeros((16, 1)), np.cumsum(steps, axis=1)], axis=1)
    for g in np.random.default_rng(0).standard_normal((20, 5)):
        assert g @ found["steepest"](g) == pytest.approx((points @ g).min())
    assert K.radius >= np.linalg.norm(K.lmo(target).to_dense())
