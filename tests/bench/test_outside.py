"""Adapters of other libraries: clocks, counts and certificates."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack.bench import CASES
from wolfpack.bench.penalised import liblinear, multiplier
from wolfpack.bench.referee import Referee, gap


def test_points_outside_the_set_have_no_gap():
    case = CASES["simplex-sparse"]()
    referee = Referee(case, target=0.0, limit=60.0)
    points = referee.follow(lambda r: [r.see(x) for x in (np.full(50, 0.5), case.K.start())])
    assert [point.rounds for point in points] == [1, 2]
    assert points[0].gap == np.inf
    assert 0 < points[1].gap <= gap(case.f, case.K, case.K.start()) * (1 + 1e-12)


def test_runs_made_anew_are_timed_by_themselves():
    case = CASES["simplex-sparse"]()
    referee = Referee(case, target=0.0, limit=60.0)

    def run(_: Referee) -> None:
        for rounds in (10, 100):
            referee.start_clock()
            referee.spent += rounds
            referee.see(case.K.start(), rounds)

    points = referee.follow(run)
    assert [(point.rounds, int(point.seconds)) for point in points] == [(10, 10), (100, 100)]


@pytest.mark.extras
def test_the_multiplier_makes_the_penalised_problem_the_same():
    pytest.importorskip("sklearn")
    case = CASES["l1-logistic"]()
    first = gap(case.f, case.K, case.K.start())
    points = Referee(case, 1e-6 * first, 60.0).follow(liblinear)
    assert points[-1].gap <= 1e-6 * first
    assert multiplier(case) > 0
