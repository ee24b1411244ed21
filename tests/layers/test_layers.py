"""Layers: derivatives against differences, closed forms against draws, refusals in one sentence."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.layers.solution import _solved

layers, sets = wp.layers, wp.sets
D = 5
SETS: dict[str, Any] = {
    "simplex": sets.Simplex(D),
    "capped": sets.CappedSimplex(D, 0.4),
    "hypersimplex": sets.Hypersimplex(D, 2),
    "box": sets.Box(-0.5 * np.ones(D), 0.5 * np.ones(D)),
    "linf": sets.LinfBall(D, 0.7),
    "l1": sets.L1Ball(D, 1.5),
    "weighted l1": sets.WeightedL1Ball(np.arange(1.0, D + 1.0)),
    "l2": sets.L2Ball(D, 0.8),
    "k-sparse": sets.KSparse(D, 2, 0.6),
    "spectrahedron": sets.Spectrahedron(3),
    "trace at most": sets.Spectrahedron(3, 2.0, equality=False),
    "trace norm": sets.TraceNormBall((3, 3), 1.5),
    "wide trace norm": sets.TraceNormBall((2, 4), 1.5),
    "tall trace norm": sets.TraceNormBall((4, 2), 2.5),
    "birkhoff": sets.Birkhoff(3),
    "product": sets.Product(sets.Simplex(3), sets.L2Ball(2)),
}
CLOSED = [name for name, K in SETS.items() if K.closed_forms]


def thetas(K: Any, seed: int = 1) -> np.ndarray:
    theta = np.random.default_rng(seed).normal(size=(3, *K.shape))
    return theta + theta.mT if isinstance(K, sets.Spectrahedron) else theta


def symmetric(d: int) -> np.ndarray:
    A = np.random.default_rng(4).normal(size=(d, d))
    return A @ A.T / d + np.eye(d)


def differences(f: Any, theta: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Return the gradient of a function of theta by central differences."""
    gradient = np.zeros_like(theta)
    for at in np.ndindex(*theta.shape):
        step = np.zeros_like(theta)
        step[at] = h
        gradient[at] = (f(theta + step) - f(theta - step)) / (2.0 * h)
    return gradient


@pytest.mark.parametrize("name", SETS)
def test_the_derivative_of_a_projection(name: str) -> None:
    # without any library for derivatives: what `backward` computes, on NumPy's arrays
    layer, K = layers.Solution(SETS[name]), SETS[name]
    theta = thetas(K)
    weights = np.random.default_rng(2).normal(size=theta.shape)
    _, saved = layer.forward(theta)
    expected = differences(lambda t: float((layer(t) * weights).sum()), theta)
    np.testing.assert_allclose(layer.backward(saved, weights), expected, atol=1e-5)
    for one, x in zip(theta, layer(theta), strict=True):
        np.testing.assert_allclose(x, K.project(one), atol=1e-10)


@pytest.mark.parametrize(
    "name",
    ["simplex", "box", "l1", "l2", "spectrahedron", "trace norm", "tall trace norm", "birkhoff"],
)
def test_degenerate_projections_have_finite_derivatives(name: str) -> None:
    K = SETS[name]
    layer = layers.Solution(K)
    for theta in (np.zeros((2, *K.shape)), np.ones((2, *K.shape)), np.stack([K.start()] * 2)):
        x, saved = layer.forward(theta)
        found = layer.backward(saved, np.ones_like(theta))
        assert np.isfinite(x).all()
        assert np.isfinite(found).all()


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_and_their_losses(name: str) -> None:
    K = SETS[name]
    theta, scale = thetas(K), 0.7
    layer = layers.PerturbedArgmax(K, scale=scale)
    weights = np.random.default_rng(2).normal(size=theta.shape)
    mean, saved = layer.forward(theta)
    expected = differences(lambda t: float((layer(t) * weights).sum()), theta, 1e-5)
    np.testing.assert_allclose(layer.backward(saved, weights), expected, atol=1e-7)
    target = layers.PerturbedArgmax(K)(thetas(K, 3))
    loss = layers.FenchelYoungLoss(K, scale=scale, reduction="sum")
    slope = differences(lambda t: float(loss(t, target)), theta, 1e-5)
    np.testing.assert_allclose(slope, mean - target, atol=1e-7)


@pytest.mark.parametrize("sampling", ["iid", "antithetic", "sobol"])
@pytest.mark.parametrize("noise", ["gumbel", "gaussian"])
def test_draws_estimate_the_mean_and_its_derivative(sampling: str, noise: str) -> None:
    K = sets.Box(np.zeros(3), np.ones(3))
    theta = np.array([[0.3, -0.5, 1.0]])
    exact = layers.PerturbedArgmax(K, noise=noise)
    drawn = layers.PerturbedArgmax(K, noise=noise, m=8192, sampling=sampling)
    weights = np.array([[1.0, -2.0, 0.5]])
    mean, saved = exact.forward(theta)
    estimate, drawn_saved = drawn.forward(theta)
    np.testing.assert_allclose(estimate, mean, atol=0.03)
    expected = exact.backward(saved, weights)
    np.testing.assert_allclose(drawn.backward(drawn_saved, weights), expected, atol=0.12)


def test_the_estimate_of_the_derivative_has_no_bias() -> None:
    # few draws, many calls: with the draws' own mean taken off, but not given back, it is half
    K, theta, weights = sets.Simplex(3), np.zeros((4000, 3)), np.zeros((4000, 3))
    weights[:, 0] = 1.0
    layer = layers.PerturbedArgmax(K, m=2, noise="gumbel")
    found = layer.backward(layer.forward(theta)[1], weights).mean(axis=0)
    np.testing.assert_allclose(found, [2 / 9, -1 / 9, -1 / 9], atol=0.03)


@pytest.mark.parametrize("name", CLOSED)
def test_a_batch_has_the_closed_form_of_each_row(name: str) -> None:
    K = SETS[name]
    theta, target = thetas(K), layers.PerturbedArgmax(K)(thetas(K, 3))
    losses = layers.FenchelYoungLoss(K, scale=0.7, reduction="none")(theta, target)
    for one, x, y, loss in zip(
        theta, layers.PerturbedArgmax(K, scale=0.7)(theta), target, losses, strict=True
    ):
        np.testing.assert_allclose(x, K.smoothed(one, 0.7), atol=1e-12)
        expected = K.smoothed_support(one, 0.7) - float((one * y).sum())
        assert loss == pytest.approx(expected, abs=1e-12)


def test_the_draws_of_a_batch_are_one_question_to_the_oracle() -> None:
    asked = []
    K = sets.Simplex(3)

    def lmo(g: np.ndarray) -> np.ndarray:
        asked.append(len(g))
        return K.lmo(g).to_dense()

    layer = layers.PerturbedArgmax(sets.Oracle(lmo, 3, 1.0, batched=True), m=4, noise="gumbel")
    asked.clear()
    _, saved = layer.forward(np.zeros((5, 3)))
    layer.backward(saved, np.ones((5, 3)))
    assert asked == [20]


@pytest.mark.parametrize(
    ("name", "engine", "sizes"),
    [
        ("birkhoff", "processes:2", (3, 1)),
        ("l2", "threads:2", (2, 3, 1)),
        ("product", "local", (2, 3, 1)),
    ],
)
def test_engines_give_the_same_numbers(name: str, engine: str, sizes: tuple[int, ...]) -> None:
    K = SETS[name]
    theta = thetas(K)
    settings = {"m": 10, "noise": "gaussian", "seed": 3}
    here = layers.PerturbedArgmax(K, **settings)
    there = layers.PerturbedArgmax(K, **settings, engine=engine)
    for size in sizes:
        x, saved = here.forward(theta[:size])
        x_there, saved_there = there.forward(theta[:size])
        np.testing.assert_array_equal(x_there, x)
        weights = np.ones_like(x)
        np.testing.assert_array_equal(
            there.backward(saved_there, weights), here.backward(saved, weights)
        )
    there.close()


def test_a_copy_of_a_layer_starts_its_own_workers() -> None:
    settings = {"m": 4, "engine": "threads:2"}
    loss = layers.FenchelYoungLoss(SETS["simplex"], **settings)
    theta, target = np.zeros((1, D)), np.eye(D)[:1]
    first = loss(theta, target)
    again = copy.deepcopy(loss)  # as models are copied
    assert again(theta, target) == loss(theta, target) != first  # the second call draws anew
    loss.close()
    assert again(theta, target) == loss(theta, target)


def test_layers_that_share_an_engine_get_their_own_answers() -> None:
    engine = wp.engines.Threads(2)
    first, second = sets.Simplex(3), sets.LinfBall(3)
    one, other = (layers.PerturbedArgmax(K, m=4, engine=engine) for K in (first, second))
    theta = thetas(first)
    expected = [layers.PerturbedArgmax(K, m=4)(theta) for K in (first, second)]
    np.testing.assert_array_equal(one(theta), expected[0])
    np.testing.assert_array_equal(other(theta), expected[1])
    assert (one(theta) >= 0).all()
    engine.close()


def test_calls_are_reproducible_and_differ() -> None:
    K, theta = sets.Birkhoff(3), thetas(sets.Birkhoff(3))
    first, second = (layers.PerturbedArgmax(K, m=4, seed=5) for _ in range(2))
    assert np.array_equal(first(theta), second(theta))
    assert not np.array_equal(first(theta), layers.PerturbedArgmax(K, m=4, seed=5)(theta))


MISTAKES: list[tuple[Any, str]] = [
    (lambda: layers.PerturbedArgmax(sets.Birkhoff(3)), "pass a number of draws"),
    (lambda: layers.PerturbedArgmax(SETS["simplex"], noise="gaussian"), "closed forms for gumbel"),
    (lambda: layers.PerturbedArgmax(SETS["simplex"], m=0), "m must be"),
    (lambda: layers.PerturbedArgmax(SETS["simplex"], scale=-1.0), "scale must be positive|scale"),
    (lambda: layers.PerturbedArgmax(SETS["box"], m=3, sampling="antithetic"), "m must be even"),
    (
        lambda: layers.PerturbedArgmax(SETS["simplex"], engine="threads:2"),
        "m='exact' does not need: leave engine out",
    ),
    (
        lambda: layers.PerturbedArgmax(SETS["simplex"], m=2, engine="fast")(np.ones((1, D))),
        "unknown engine 'fast'",
    ),
    (lambda: layers.Solution(3), "K must be a set"),
    (lambda: layers.Solution([sets.L2Ball(2), sets.L1Ball(2)]), r"K\[1\] must be of the kind"),
    (lambda: layers.Solution(sets.LpBall(3, 3))(np.ones((1, 3))), "choose PerturbedArgmax"),
    (lambda: layers.Solution(SETS["simplex"])(np.ones(D)), "theta must be a batch of shape"),
    (lambda: layers.Solution(SETS["simplex"])(np.ones((0, D))), "batch >= 1"),
    (lambda: layers.Solution(SETS["simplex"])(np.full((1, D), np.nan)), "theta has 5 NaN"),
    (
        lambda: layers.Solution(SETS["simplex"], lambda x, t: x[:, 0])(np.ones((1, D))),
        "theta must be an array of PyTorch or JAX",
    ),
    (
        lambda: layers.FenchelYoungLoss(SETS["simplex"])(np.ones((1, D)), np.ones((2, D))),
        "target must have theta's shape",
    ),
]


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES)
def test_mistakes_get_one_sentence(mistake: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        mistake()


@pytest.mark.extras
@pytest.mark.parametrize("name", SETS)
def test_pytorch_checks_the_gradients(name: str) -> None:
    torch = pytest.importorskip("torch")
    K = SETS[name]
    theta = torch.tensor(thetas(K), requires_grad=True)
    Q = torch.tensor(symmetric(K.dimension))

    def objective(x: Any, t: Any) -> Any:
        x, t = x.reshape(len(x), -1), t.reshape(len(t), -1)
        bent = torch.nn.functional.softplus(x * t).sum(1)
        return 0.5 * ((x @ Q) * x).sum(1) - (x * t).sum(1) + 0.1 * bent

    check = torch.autograd.gradcheck
    assert check(layers.Solution(K), (theta,), atol=1e-5)
    two = theta.detach()[:1].requires_grad_(True)
    assert check(layers.Solution(K, objective), (two,), eps=1e-5, atol=1e-5)
    if K.closed_forms:
        assert check(layers.PerturbedArgmax(K), (theta,), eps=1e-5, atol=1e-5)


@pytest.mark.extras
def test_a_quadratic_objective_needs_few_evaluations() -> None:
    torch = pytest.importorskip("torch")
    K, asked = sets.Simplex(6), []
    A = torch.tensor(np.random.default_rng(5).normal(size=(4, 9, 6)))
    b = torch.tensor(np.random.default_rng(6).normal(size=(4, 9)), requires_grad=True)

    def objective(x: Any, t: Any) -> Any:
        asked.append(len(x))
        return 0.5 * ((A @ x[:, :, None])[:, :, 0] - t).square().sum(1)

    x = layers.Solution(K, objective)(b)
    x.square().sum().backward()
    assert len(asked) <= 12  # a solver that takes gradient steps asks hundreds of times
    for i in range(4):
        f = wp.objectives.LeastSquares(A[i].numpy(), b[i].detach().numpy())
        alone = wp.minimize(f, K, tol=1e-13, method="corrective")
        np.testing.assert_allclose(x[i].detach(), alone.x, atol=1e-8)


@pytest.mark.extras
@pytest.mark.parametrize("name", ["simplex", "box", "l2", "trace norm"])
def test_steps_of_models_are_shortened_where_f_rises(name: str) -> None:
    # far from the minimum a Newton step of log-cosh overshoots by far
    torch = pytest.importorskip("torch")
    K = SETS[name]
    theta = torch.tensor(3.0 * thetas(K), requires_grad=True)
    asked: list[int] = []

    def objective(x: Any, t: Any) -> Any:
        r = 30.0 * (x - t).reshape(len(x), -1)
        asked.append(len(x))
        bent = r.abs() + torch.nn.functional.softplus(-2.0 * r.abs())
        return bent.sum(1) + 1e-3 * r.square().sum(1)

    x = layers.Solution(K, objective)(theta)
    assert len(asked) < 300  # gradient steps alone ask more often
    g = torch.autograd.functional.jacobian(lambda x: objective(x, theta).sum(), x.detach())
    for at, slope in zip(x.detach().numpy(), g.numpy(), strict=True):
        assert K.contains(at)
        gap = float((slope * at).sum() - (slope * np.asarray(K.lmo(slope))).sum())
        assert gap < 1e-6
    x.sum().backward()
    assert torch.isfinite(theta.grad).all()


@pytest.mark.extras
def test_each_problem_may_have_a_set_of_its_own() -> None:
    torch = pytest.importorskip("torch")
    radii = np.array([0.5, 1.0, 2.0])
    stacks = {
        "stack": (
            sets.TraceNormBall((3, 3), radii),
            [sets.TraceNormBall((3, 3), r) for r in radii],
        ),
        "list": ([sets.L1Ball(D, r) for r in radii], [sets.L1Ball(D, r) for r in radii]),
    }
    for K, parts in stacks.values():
        theta = torch.tensor(2.0 * thetas(parts[0]), requires_grad=True)
        for objective in (None, lambda x, t: 0.5 * (x - t).reshape(len(x), -1).square().sum(1)):
            layer = layers.Solution(K, objective)
            assert torch.autograd.gradcheck(layer, (theta,), eps=1e-6, atol=1e-5)
            for i, part in enumerate(parts):
                alone = layers.Solution(part, objective)(theta[i : i + 1])
                np.testing.assert_allclose(layer(theta)[i].detach(), alone[0].detach(), atol=1e-10)
        with pytest.raises(ValueError, match="one row for each of the 3 sets, found a batch of 2"):
            layer(theta[:2])


@pytest.mark.parametrize("row", [0, 2])
def test_one_singular_system_is_solved_by_singular_values_alone(row: int) -> None:
    rng = np.random.default_rng(0)
    M, v = rng.normal(size=(3, 4, 4)) + 4.0 * np.eye(4), rng.normal(size=(3, 4))
    for tiny in (0.0, 1e-14):
        M[row, :, 3] = M[row, :, 2] + tiny * rng.normal(size=4)
        found = _solved(M, v)
        for i in range(3):
            expected = np.linalg.pinv(M[i], rtol=1e-11) @ v[i]
            np.testing.assert_allclose(found[i], expected, atol=1e-10)


@pytest.mark.extras
def test_pytorch_modules_types_and_refusals() -> None:
    torch = pytest.importorskip("torch")
    K = SETS["simplex"]
    model = torch.nn.Sequential(torch.nn.Linear(2, D), layers.Solution(K).module())
    x = model(torch.ones(3, 2))
    assert x.dtype == torch.float32
    x.square().sum().backward()
    assert torch.isfinite(model[0].weight.grad).all()
    loss = layers.FenchelYoungLoss(K)(model[0](torch.ones(3, 2)), x.detach())
    loss.backward()
    theta = torch.ones(1, D, dtype=torch.float64, requires_grad=True)
    (once,) = torch.autograd.grad(
        layers.Solution(K)(theta * theta).square().sum(), theta, create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        once.sum().backward()
    with pytest.raises(TypeError, match="theta must be a real floating-point array"):
        layers.Solution(K)(torch.ones(1, D, dtype=torch.int64))
    with pytest.raises(ValueError, match="one value per problem"):
        layers.Solution(K, lambda x, t: x.sum())(theta)
    one = torch.tensor([[1.0], [float("inf")], [1.0]])
    for bad in (lambda x, t: (x - t).square().sum(1) * one[:, 0], lambda x, t: (x[:, 0] - 3).log()):
        with pytest.raises(ValueError, match=r"NaN or infinite ones in problem [01]"):
            layers.Solution(K, bad)(theta.detach().repeat(3, 1))


@pytest.mark.extras
def test_jax_gives_the_gradients_of_pytorch() -> None:
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    K = sets.Simplex(3)
    theta, weights, Q = thetas(K)[:1], thetas(K, 2)[:1], symmetric(3)

    def energy(x: Any, t: Any, Q: Any) -> Any:
        return 0.5 * ((x @ Q) * x).sum(-1) - (x * t * t).sum(-1)

    def in_torch(x: Any, t: Any) -> Any:
        return energy(x, t, torch.tensor(Q))

    def in_jax(x: Any, t: Any) -> Any:
        return energy(x, t, jax.numpy.asarray(Q))

    with jax.enable_x64(True):
        for one, other in (
            (layers.Solution(K), layers.Solution(K)),
            (layers.PerturbedArgmax(K), layers.PerturbedArgmax(K)),
            (layers.Solution(K, in_torch), layers.Solution(K, in_jax)),
        ):
            t = torch.tensor(theta, requires_grad=True)
            (expected,) = torch.autograd.grad((one(t) * torch.tensor(weights)).sum(), t)
            found = jax.grad(lambda t, f=other: (f(t) * weights).sum())(jax.numpy.asarray(theta))
            np.testing.assert_allclose(np.asarray(found), expected.numpy(), atol=1e-8)
        with pytest.raises(TypeError, match="theta must hold numbers"):
            jax.jit(layers.Solution(K))(jax.numpy.asarray(theta))
