"""The step rules by name."""

from __future__ import annotations

from collections.abc import Callable

from ...problem.checks import shown
from .open_loops import Fixed, LogOpenLoop, Monotone, PowerLoop
from .single_sided import AdaptiveStep, GoldenSection
from .step_rules import Backtracking, LineSearch, OpenLoop, Rule, Secant, ShortStep

RULES: dict[str, Callable[[], Rule]] = {
    "open-loop": OpenLoop,
    "log-open-loop": LogOpenLoop,
    "power-loop": PowerLoop,
    "fixed": Fixed,
    "monotone": Monotone,
    "short-step": ShortStep,
    "backtracking": Backtracking,
    "adaptive": AdaptiveStep,
    "secant": Secant,
    "golden-section": GoldenSection,
    "line-search": LineSearch,
}
"""The rules that need no argument."""


def as_rule(rule: object, name: str = "rule") -> Rule:
    """Return a step rule: a rule as it is, or the one of that name."""
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str) and rule in RULES:
        return RULES[rule]()
    known = ", ".join(map(repr, RULES))
    raise TypeError(f"{name} must be one of {known} or a Rule, found {shown(rule)}")
