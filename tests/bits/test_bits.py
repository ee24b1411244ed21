"""Results keep their bits: every case has the digest that the table has for it.

On the table's machine (processor, BLAS, versions) digests are compared; on others a few numbers
are, to a tolerance. Runs on engines and resumed runs have the digest of the plain run everywhere.
"""

from __future__ import annotations

import pytest

from bits import stored
from bits.cases import CASES, NEEDS, SAME
from bits.digest import bits_of

TABLE = stored.read()
OWN = [name for name in CASES if name not in SAME]
SERVERS = ("distributed", "ray")


def marked(names):
    """Return the names as parameters; those that need an optional module are extras."""
    quiet = [
        pytest.mark.filterwarnings(f"ignore::{kind}")
        for kind in (
            "ResourceWarning",
            "FutureWarning",
            "DeprecationWarning",
            "pytest.PytestUnraisableExceptionWarning",
        )
    ]
    parameters = []
    for name in names:
        module = NEEDS.get(name)
        marks = [] if module is None else [pytest.mark.extras]
        marks += quiet if module in SERVERS else []
        parameters.append(pytest.param(name, id=name, marks=marks))
    return parameters


def need(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])


@pytest.mark.parametrize("name", marked(OWN))
def test_a_case_keeps_its_bits(name):
    need(name)
    found = bits_of(CASES[name])
    if not stored.same_machine(TABLE, name):
        far = stored.distance(TABLE["numbers"][name], found, name)
        assert not far, f"{name!r} gives other numbers than the table: {far}. {stored.ADVICE}"
    elif found.digest != TABLE["digests"][name]:
        what = stored.difference(TABLE["parts"][name], found.parts) or "the digest differs"
        old, new = TABLE["numbers"][name], found.numbers
        pytest.fail(
            f"{name!r} has other bits than the table: {what}. "
            f"Its numbers were {old} and are {new}. {stored.ADVICE}"
        )


@pytest.mark.parametrize("name", marked(SAME))
def test_a_run_elsewhere_has_the_bits_of_the_plain_run(name):
    need(name)
    plain, found = bits_of(CASES[SAME[name]]), bits_of(CASES[name])
    what = stored.difference(stored.digits(plain.parts), found.parts)
    assert found.digest == plain.digest, f"{name!r} is not {SAME[name]!r} to the last bit: {what}."


def test_every_case_has_a_digest_and_every_digest_a_case():
    for kind in ("digests", "parts", "numbers"):
        missing = sorted(set(OWN) - set(TABLE[kind]))
        assert not missing, f"{missing[0]!r} has no entry in {kind!r}: run tests/bits/update.py."
        idle = sorted(set(TABLE[kind]) - set(OWN))
        assert not idle, f"{idle[0]!r} is in {kind!r} and no case: run tests/bits/update.py."
    assert set(SAME.values()) <= set(OWN)


def test_a_difference_is_told_by_the_part_that_differs_first():
    names, old = ["x", "fun", "history gap"], "11 22 33"
    assert stored.difference(old, dict(zip(names, ["11", "22", "33"], strict=True))) == ""
    found = dict(zip(names, ["11", "20", "33"], strict=True))
    assert stored.difference(old, found) == "fun differs first"
    found = dict(zip(names[:2], ["11", "22"], strict=True))
    assert stored.difference(old, found) == "it has 2 parts, and had 3"
