"""Every example runs at a small size, its answer is right, and its picture can be drawn."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import wolfpack as wp

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("[!_]*.py"))


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


def drawn(module: ModuleType, *answer: Any, columns: int = 2) -> Any:
    """Draw the answer as the script does, and render it."""
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    module.draw(list(figure.subplots(1, columns, squeeze=False)[0]), *answer)
    FigureCanvasAgg(figure).draw()
    return figure


def test_paper(example: Any) -> None:
    module = example("paper")
    answers = module.solve(rounds=300)
    for results in answers.values():
        # the point of the paper: many oracles a round prove more in the same number of rounds
        assert results["R-PFW, m = 100"].gap < results["R-PFW, m = 1"].gap
        bounds = [result.lower_bound for result in results.values()]
        assert max(bounds) <= min(result.fun for result in results.values())
    drawn(module, answers)


def test_inpainting(example: Any) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("PIL")
    module = example("inpainting")
    Y, known, result = module.solve(step=12, share=0.4)
    assert result.success
    flat = np.full_like(Y, Y[known].mean())
    assert module.error(result.x, Y, known) < 0.7 * module.error(flat, Y, known)
    drawn(module, Y, known, result, columns=3)


@pytest.mark.extras
def test_digits(example: Any) -> None:
    pytest.importorskip("sklearn")
    module = example("digits")
    answers = module.solve(radii=(2.0, 20.0), tol=1e-3)
    (few, many_errors), (more, few_errors) = answers.values()
    assert few.success
    assert more.success
    assert np.count_nonzero(abs(few.x) > 1e-9) < np.count_nonzero(abs(more.x) > 1e-9)
    assert few_errors < many_errors < 30
    drawn(module, answers)


def test_assignment(example: Any) -> None:
    module = example("assignment")
    answer = module.solve(n=12, noise=0.2, tol=1e-6)
    K = wp.sets.Birkhoff(12)
    # f is 1-strongly convex: the distance to the projection is at most sqrt(2 gap)
    distance = np.linalg.norm(answer.result.x - K.project(answer.W))
    assert distance <= np.sqrt(2 * answer.result.gap) + 1e-8
    assert (answer.hard.argmax(axis=1) == answer.truth).all()
    drawn(module, answer, columns=3)


def test_portfolio(example: Any) -> None:
    module = example("portfolio")
    C, result = module.solve(shares=40, cap=0.1)
    assert result.success
    # optimality by hand: marginal risk is equal inside the caps, higher at 0, lower at the cap
    risk, inside = C @ result.x, (result.x > 1e-3) & (result.x < 0.1 - 1e-3)
    level = risk[inside].mean()
    assert (risk[result.x < 1e-9] > level - 1e-3).all()
    assert (risk[result.x > 0.1 - 1e-9] < level + 1e-3).all()
    drawn(module, C, result)


def test_synthetic_controls(example: Any) -> None:
    module = example("synthetic_controls")
    data = module.panel(states=15)
    differences, result = module.solve(data)
    assert result.success.all()
    sizes = module.ratios(differences, data.start)
    assert sizes.argmax() == 0  # the state with the tax differs most
    assert abs(-differences[0] - data.effect).max() < 6.0
    # one mixture against the fit of that state alone
    before = data.sales[: data.start]
    f = wp.objectives.LeastSquares(np.delete(before, 3, axis=1), before[:, 3])
    alone = wp.minimize(f, wp.sets.Simplex(14), tol=1e-6)
    assert abs(alone.fun - result.fun[3]) < 1e-6
    mixture = np.delete(data.sales, 3, axis=1) @ result.x[3]
    np.testing.assert_allclose(differences[3], data.sales[:, 3] - mixture, atol=1e-10)
    drawn(module, data, differences)


def test_design(example: Any) -> None:
    module = example("design")
    points, variance, result = module.solve(size=21)
    assert result.success
    # Kiefer and Wolfowitz: the largest variance of the best design is the number of coefficients
    assert variance.max() == pytest.approx(6.0, abs=1e-3)
    measured = points[result.x > 1e-3]
    assert {tuple(abs(point)) for point in measured} <= {(0, 0), (0, 1), (1, 0), (1, 1)}
    drawn(module, points, variance, result)


def test_grid_flow(example: Any) -> None:
    module = example("grid_flow")
    edges, result, K = module.solve(n=4, tol=1e-2)
    assert result.success
    assert np.exp(K.log_count) == pytest.approx(20)  # (3 + 3 choose 3) paths
    assert K.contains(result.x)
    drawn(module, edges, result, K)


def test_probit_two_links(example: Any) -> None:
    module = example("probit_two_links")
    x = module.solve()
    np.testing.assert_allclose(x, [967.711645, 1032.288355], rtol=0, atol=1e-6)
    assert module.answer(x[:1])[0] == pytest.approx(x[0], abs=1e-6)
    drawn(module, x, columns=1)


def test_probit_grid(example: Any) -> None:
    module = example("probit_grid")
    answer = module.solve(n=3, m=300, rounds=150, asked=4000)
    # PFW's own sampling error comes on top of the check's
    assert (abs(answer.x - answer.drivers) <= 5 * answer.error + 0.03 * module.DEMAND).all()
    drawn(module, answer)


def test_milp(example: Any) -> None:
    module = example("milp")
    asked, results = module.solve(customers=6, ms=(1, 2), engine="threads:2")
    one, two = results.values()
    assert one.success
    assert two.success
    assert abs(one.fun - two.fun) <= max(one.gap, two.gap) + 1e-12
    assert two.nit <= one.nit
    drawn(module, asked, results)


def test_own_set(example: Any) -> None:
    module = example("own_set")
    b, result = module.solve(n=30)
    assert result.success
    # between the bounds 0 and 1 the answer is that of pooling adjacent violators
    np.testing.assert_allclose(result.x, np.clip(isotonic_regression(b).x, 0, 1), atol=2e-3)
    drawn(module, b, result)


def test_own_objective(example: Any) -> None:
    module = example("own_objective")
    results = module.solve(aversions=(0.1, 5.0), shares=10)
    low, high = results.values()
    assert low.success
    assert high.success
    assert high.x.max() < low.x.max()  # who fears losses spreads them
    drawn(module, results)


@pytest.mark.extras
def test_own_objective_torch(example: Any) -> None:
    pytest.importorskip("torch")
    result = example("own_objective_torch").solve(shares=10)
    plain = example("own_objective").solve(aversions=(1.0,), shares=10)[1.0]
    assert abs(result.fun - plain.fun) <= result.gap + plain.gap


def test_scripts_are_short_and_listed() -> None:
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    for name in SCRIPTS:
        lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").count("\n")
        assert lines < 80, f"{name}.py has {lines} lines"
        assert f"examples/{name}.py" in page


def test_script_writes_its_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    command = [sys.executable, str(EXAMPLES / "probit_two_links.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "967.711645 and 1032.288355" in done.stdout
    assert (tmp_path / "probit_two_links.png").stat().st_size > 1000


@pytest.mark.extras
def test_composite_digits(example: Any) -> None:
    pytest.importorskip("sklearn")
    module = example("composite_digits")
    best, traces = module.solve(rows=300, passes=15)
    for _, values, gaps in traces.values():
        assert (values >= best - 1e-6).all()
        assert gaps[-1] >= values.min() - best - 1e-6
    last = {name: values[-1] - best for name, (_, values, _) in traces.items()}
    assert last["32 rows, reduced"] < 0.7 * min(last["all rows"], last["32 rows, converging"])
    drawn(module, best, traces)


@pytest.mark.extras
def test_composite_penalties(example: Any) -> None:
    pytest.importorskip("sklearn")
    module = example("composite_penalties")
    answers, right = module.solve(rows=300, tol=1e-3)
    ridge, net, groups = (result.x for result in answers.values())
    assert module.pixels_used(groups) < module.pixels_used(ridge)
    assert np.count_nonzero(net) < 0.7 * ridge.size
    assert min(right.values()) > 0.9
    drawn(module, answers, right, columns=3)


def test_an_example_says_in_one_line_what_to_install(
    example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = example("_picture")
    monkeypatch.setattr(shared, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as ended:
        shared.need("sklearn", "sklearn")
    assert ended.value.code == "this example needs sklearn: pip install 'wolfpack[sklearn]'"
    monkeypatch.setattr(shared, "find_spec", lambda name: name)
    shared.need("sklearn", "sklearn")


def test_examples_write_into_folders_of_their_own(
    example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["some.py"])
    path = example("_picture").picture("some.py", lambda axes: None)
    assert path == Path("some-out/some.png")
    assert path.exists()
