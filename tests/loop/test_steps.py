"""What histories say of each round: its step, the active vertices, those taken up and let go."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.loop.history import History

RNG = np.random.default_rng(0)
A = RNG.standard_normal((30, 12))
INSIDE = np.concatenate([np.zeros(3), np.full(3, 0.1), RNG.uniform(0.02, 0.08, 6)])
F = wp.objectives.LeastSquares(A, A @ INSIDE + np.linspace(-0.05, 0.05, 30))
SMOOTH = wp.objectives.Huber(A, A @ INSIDE + np.linspace(-0.2, 0.2, 30), delta=0.1)
K = wp.sets.Box(np.zeros(12), np.full(12, 0.1))
KINDS = {
    "away": {"start", "fw", "away"},
    "pairwise": {"start", "pairwise"},
    "bpcg": {"start", "fw", "pairwise"},
    "lazy": {"start", "fw", "cached"},
    "fcfw": {"start", "correction"},
    "corrective": {"start", "correction"},
    "dicg": {"start", "fw", "pairwise"},
}


def run(method, f=F, **options):
    states = []
    res = wp.minimize(
        f,
        K,
        method=method,
        record_every=1,
        max_rounds=60,
        tol=1e-9,
        callback=states.append,
        **options,
    )
    return res, [seen.state for seen in states]


@pytest.mark.parametrize("f", [F, SMOOTH], ids=["quadratic", "smooth"])
@pytest.mark.parametrize("method", KINDS)
def test_columns_are_what_the_states_hold(method, f):
    res, states = run(method, f)
    table = res.history
    assert {*table["step"].tolist()} <= KINDS[method]
    assert table["step"][0] == "start"
    assert len({*table["step"].tolist()}) >= 2
    if method == "dicg":
        return
    hulls = [getattr(state, "hull", None) or state.active for state in states]
    assert (table["added"] - table["dropped"]).tolist() == [len(hull.keys) for hull in hulls]
    changes = zip(np.diff(table["added"]), np.diff(table["dropped"]), strict=True)
    for (before, after), (added, dropped) in zip(itertools.pairwise(hulls), changes, strict=True):
        assert added >= len({*after.keys} - {*before.keys})
        assert dropped >= len({*before.keys} - {*after.keys})
        assert added <= 1
    counts = [
        len(hull.keys) if method == "lazy" else int((hull.weights > 0).sum()) for hull in hulls
    ]
    assert table["active"].tolist() == counts


def test_steps_are_called_what_they_do():
    res, states = run("away")
    for before, after, step in zip(states, states[1:], res.history["step"][1:], strict=False):
        d, g = after.x - before.x, before.at.gradient
        if not d.any():
            continue
        towards = np.where(g < 0, 0.1, 0.0) - before.x
        cosine = d @ towards / (np.linalg.norm(d) * np.linalg.norm(towards))
        assert (cosine >= 1.0 - 1e-9) == (step == "fw")


def test_a_table_of_pandas_and_a_file_hold_the_names(tmp_path):
    res, _ = run("away")
    back = wp.load(res.save(tmp_path / "run"))
    assert back.history["step"].tolist() == res.history["step"].tolist()
    assert back.history["dropped"].tolist() == res.history["dropped"].tolist()
    copy = History.from_columns(dict(res.history.items()))
    assert copy["step"].tolist() == res.history["step"].tolist()
    assert res.to_dict()["history"]["step"][0] == "start"
    res.history.to_csv(tmp_path / "run.csv")
    assert ",start," in (tmp_path / "run.csv").read_text().replace("'", "")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(res.history)
    assert (frame["step"] == "away").any()
    assert frame.groupby("step")["round"].count().sum() == len(frame)


def test_a_resumed_run_counts_on(tmp_path):
    settings = {"method": "away", "tol": 0, "record_every": 1}
    whole = wp.minimize(F, K, max_rounds=40, **settings)
    wp.minimize(F, K, max_rounds=20, checkpoint=tmp_path / "run", **settings)
    again = wp.resume(tmp_path / "run", F, K, max_rounds=40)
    for column in ("step", "active", "added", "dropped"):
        assert again.history[column].tolist() == whole.history[column].tolist()


def test_methods_with_one_kind_of_step_have_no_columns():
    assert "step" not in wp.minimize(F, K, method="fw", max_rounds=5, tol=0).history


def test_a_solver_of_your_own_may_name_its_steps():
    class Named(wp.solvers.AwayStep):
        def step(self, problem, state, oracles):
            return super().step(problem, state, oracles)._replace(step="sideways")

    res = wp.minimize(F, K, method=Named(), max_rounds=3, tol=0, record_every=1)
    assert res.history["step"].tolist() == ["start", "other", "other", "other"]


def test_engines_and_turns_keep_their_columns():
    res = wp.minimize(F, K, method="corrective", m=4, engine="threads:2", max_rounds=5, tol=0)
    assert {"step", "workers"} <= {*res.history}
    assert (res.history["workers"] == 2).any()
    history = History()
    row = (0, 0.0, 1.0, 0.0, 1.0, 1, 1, 1, float("nan"), 0)
    history.add(row)
    history.add(row, step=(2, 3, 4, 1))
    history.add(row, engine=(2, 0, 0, 10, 0.5))
    assert history["step"].tolist() == ["", "fw", ""]
    assert history["active"].tolist() == [0, 3, 0]
    assert history["workers"].tolist() == [0, 0, 2]
    assert history["m"].tolist() == [0, 0, 0]


def test_the_table_of_rounds_shows_the_last_step(capsys):
    wp.minimize(F, K, method="away", max_rounds=3, tol=0, verbose=True)
    printed = capsys.readouterr().out.splitlines()
    assert "start, 1 active" in printed[1]
    wp.minimize(F, K, method="fw", max_rounds=3, tol=0, verbose=True)
    assert "active" not in capsys.readouterr().out


@pytest.mark.parametrize("method", ["away", "pairwise"])
@pytest.mark.parametrize("f", [F, SMOOTH], ids=["quadratic", "smooth"])
def test_lazy_methods_find_the_minimum_with_fewer_calls(method, f):
    eager = wp.minimize(f, K, method=method, tol=1e-7)
    lazy = wp.minimize(f, K, method=method, lazy=True, tol=1e-7)
    assert lazy.success
    assert abs(lazy.fun - eager.fun) <= 1e-7
    assert lazy.lower_bound <= eager.fun
    assert lazy.nlmo < 0.7 * lazy.nit
    assert lazy.nlmo < eager.nlmo
    patient = wp.minimize(f, K, method=method, lazy=True, J=8.0, tol=1e-7)
    assert patient.success
    assert patient.nlmo != lazy.nlmo


@pytest.mark.parametrize("method", ["away", "pairwise"])
def test_a_lazy_round_without_the_oracle_promises_phi(method):
    res, states = run(method, lazy=True)
    asked = np.diff(res.history["nlmo"])
    assert {0, 1} == {*asked.tolist()}
    for before, after, calls in zip(states[1:], states[2:], asked[1:], strict=False):
        scores = before.active.scores(before.at.gradient)
        used = before.active.weights > 0
        here = float(before.at.gradient @ before.x)
        worst, best = scores[used].max(), scores[used].min()
        local = max(here - best, worst - here) if method == "away" else worst - best
        assert (local >= before.phi) == (calls == 0)
        if calls == 0:
            assert after.phi == before.phi
        else:
            gap = here - float(np.where(before.at.gradient < 0, 0.1, 0.0) @ before.at.gradient)
            halved = 0.5 * gap if gap < before.phi / 2.0 else before.phi
            assert after.phi == pytest.approx(halved)


def test_each_round_of_a_lazy_method_goes_down():
    _, states = run("away", lazy=True)
    values = [state.at.value for state in states]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(values))
