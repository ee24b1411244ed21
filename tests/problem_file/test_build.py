"""From problem files to objectives, sets and settings; and what is said of bad ones."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint
from scipy.optimize import minimize as scipy_minimize

import wolfpack as wp
from wolfpack.problem_file import STARTERS, Access, ProblemError, read_problem, write_starter
from wolfpack.problem_file.schema import OBJECTIVES, PARAMETERS, SETS

EXAMPLES = Path(__file__).parents[2] / "examples"

GOOD = """
[data]
A = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
[objective]
type = "LeastSquares"
A = "A"
b = [0.9, 0.4, 0.1]
[set]
type = "Simplex"
[method]
name = "fw-ls"
[stop]
tol = 1e-3
[run]
seed = 3
[output]
folder = "there"
"""


def task(folder, text):
    path = folder / "problem.toml"
    path.write_text(text, encoding="utf-8")
    return read_problem(path)


def refused(folder, text) -> str:
    with pytest.raises(ProblemError) as caught:
        task(folder, text)
    message = str(caught.value)
    assert "\n" not in message
    assert "problem.toml: " in message
    return message


def test_a_file_says_what_minimize_is_asked(tmp_path):
    found = task(tmp_path, GOOD)
    assert isinstance(found.objective, wp.objectives.LeastSquares)
    assert isinstance(found.set, wp.sets.Simplex)
    assert found.set.shape == (3,)  # taken from the objective
    assert found.settings == {"method": "fw-ls", "tol": 1e-3, "seed": 3}
    assert found.output.folder == "there"
    assert found.data_bytes == 72
    assert found.choice is None
    result = wp.minimize(found.objective, found.set, **found.settings)
    np.testing.assert_allclose(result.x, [0.75, 0.25, 0.0], atol=0.05)


def test_auto_is_explained(tmp_path):
    found = task(tmp_path, GOOD.replace('"fw-ls"', '"auto"\nm = 4'))
    assert str(found.choice) == str(wp.explain(found.objective, found.set, **found.settings))
    assert "m given" in str(found.choice)


@pytest.mark.parametrize(
    ("c", "text", "expected"),
    [
        ("[1, 1, 1]", 'type = "L1Ball"\nradius = 2', wp.sets.L1Ball(3, 2.0)),
        ("[[1, 1], [1, 1]]", 'type = "TraceNormBall"', wp.sets.TraceNormBall((2, 2))),
        ("[[1, 1], [1, 1]]", 'type = "Birkhoff"', wp.sets.Birkhoff(2)),
        ("[[1, 1], [1, 1]]", 'type = "Spectrahedron"\ntrace = 2.0', wp.sets.Spectrahedron(2, 2.0)),
        ("[1, 1]", 'type = "Box"\nlower = [0, 0]\nupper = 2', wp.sets.Box([0, 0], 2.0)),
        ("[1, 1]", 'type = "KSparse"\nk = 1', wp.sets.KSparse(2, 1)),
        (
            "[1, 1, 1]",
            'type = "GroupL1Ball"\ngroups = [[0, 2], [1]]',
            wp.sets.GroupL1Ball([[0, 2], [1]]),
        ),
        (
            "[1, 1, 1]",
            'type = "GroupL1Ball"\ngroups = [5, 7, 5]',
            wp.sets.GroupL1Ball(np.array([5, 7, 5])),
        ),
        (
            "[1, 1, 1]",
            'type = "SpanningTree"\ngraph = [[0, 1], [1, 2], [0, 2]]',
            wp.sets.SpanningTree([(0, 1), (1, 2), (0, 2)]),
        ),
        (
            "[1, 1, 1]",
            'type = "FlowPolytope"\ngraph = [[0, 1], [1, 2], [0, 2]]\ndemands = [[0, 2, 3.0]]',
            wp.sets.FlowPolytope([(0, 1), (1, 2), (0, 2)], [(0, 2, 3.0)]),
        ),
        (
            "[1, 1]",
            'type = "LinearProgram"\nA_ub = [[1, 1]]\nb_ub = [1]\nbounds = [[0, 1], [0, 1]]',
            wp.sets.LinearProgram([[1, 1]], [1], bounds=[(0, 1), (0, 1)]),
        ),
        (
            "[1, 1, 1]",
            'type = "Product"\nsets = [{type = "Simplex", n = 2}, {type = "L2Ball", n = 1}]',
            wp.sets.Product(wp.sets.Simplex(2), wp.sets.L2Ball(1)),
        ),
        (
            "[1, 1]",
            'type = "Ellipsoid"\ncenter = [0, 1]\nmatrix = [[2, 1], [1, 2]]',
            wp.sets.Ellipsoid([0.0, 1.0], [[2.0, 1.0], [1.0, 2.0]]),
        ),
        (
            "[1, 1]",
            'type = "Knapsack"\nweights = [1, 2]\ncapacity = 2\nupper = [1, 3]',
            wp.sets.Knapsack([1.0, 2.0], 2.0, [1.0, 3.0]),
        ),
        (
            "[1, 1]",
            'type = "Matching"\ngraph = [["a", 1], ["b", 2]]\nperfect = true',
            wp.sets.Matching([("a", 1), ("b", 2)], perfect=True),
        ),
        (
            "[1, 1, 1]",
            'type = "Symmetric"\ngroup = [[1, 0, 2]]\nK = {type = "Simplex", n = 3}',
            wp.sets.Symmetric(wp.sets.Simplex(3), [[1, 0, 2]]),
        ),
        (
            "[1, 1]",
            'type = "Image"\nA = [[1, 2], [0, 1]]\nK = {type = "Simplex", n = 2}',
            wp.sets.Image([[1.0, 2.0], [0.0, 1.0]], wp.sets.Simplex(2)),
        ),
        (
            "[1, 1]",
            'type = "Scale"\nfactor = 3.0\nK = {type = "Simplex", n = 2}',
            wp.sets.Scale(wp.sets.Simplex(2), 3.0),
        ),
    ],
)
def test_sets_are_those_of_python(tmp_path, c, text, expected):
    found = task(tmp_path, f'[objective]\ntype = "Quadratic"\nQ = 1.0\nc = {c}\n[set]\n{text}').set
    assert type(found) is type(expected)
    rng = np.random.default_rng(0)
    for _ in range(5):
        g = rng.standard_normal(expected.shape)
        assert found.support(g) == expected.support(g)


def test_graphs_from_data_files(tmp_path):
    np.savetxt(tmp_path / "edges.csv", [[0, 1], [1, 2], [0, 2]], delimiter=",")
    np.savetxt(tmp_path / "demands.csv", [[0, 2, 1.5]], delimiter=",")
    sparse.save_npz(tmp_path / "graph.npz", sparse.csr_array(np.triu(np.ones((3, 3)), 1)))
    for graph in ("edges.csv", "graph.npz"):
        found = task(
            tmp_path,
            f'data = {{ g = "{graph}", d = "demands.csv" }}\n'
            '[objective]\ntype = "Quadratic"\nQ = 1.0\nc = [1, 1, 1]\n'
            '[set]\ntype = "FlowPolytope"\ngraph = "g"\ndemands = "d"',
        ).set
        assert found.support(np.ones(3)) == 3.0  # 1.5 over two edges


def test_every_parameter_that_a_file_can_give_has_a_kind():
    for maker in (*OBJECTIVES.values(), *SETS.values()):
        for p in inspect.signature(maker).parameters.values():
            assert p.name in PARAMETERS or p.name == "batch", (maker, p.name)


def test_observed_entries_need_whole_positions(tmp_path):
    text = (EXAMPLES / "completion.toml").read_text(encoding="utf-8")
    found = task(tmp_path, text)
    assert found.objective.value(np.zeros((5, 4))) == pytest.approx(6.545)
    assert "[objective] rows must hold integers" in refused(
        tmp_path, text.replace("[0, 0, 1,", "[0, 0.5, 1,")
    )


def test_scales_of_a_completion_are_counts_or_a_pair(tmp_path):
    text = (EXAMPLES / "completion.toml").read_text(encoding="utf-8")

    def scaled(entry: str) -> str:
        return text.replace(
            'type = "MatrixCompletion"', f'type = "MatrixCompletion"\nscales = {entry}'
        )

    plain = task(tmp_path, text).objective
    pair = task(tmp_path, scaled("[[2, 1, 1, 1, 1], [1, 1, 1, 1]]")).objective
    assert pair.value(np.ones((5, 4))) != plain.value(np.ones((5, 4)))
    assert pair.scales[0].tolist() == [2, 1, 1, 1, 1]
    assert task(tmp_path, scaled('"counts"')).objective.scales is not None
    assert "must be 'counts' or a list of two arrays" in refused(tmp_path, scaled("[1, 2, 3]"))
    assert "found 'count'" in refused(tmp_path, scaled('"count"'))


CHANGES = [
    ("[set]", "[sett]", "no section is called 'sett'; did you mean 'set'?"),
    ('type = "Simplex"', 'type = "Simplx"', "did you mean 'Simplex'?"),
    ('type = "Simplex"', 'type = "simplex"', "did you mean 'Simplex'?"),
    ('type = "Simplex"', 'type = "Oracle"', "no such name 'Oracle'"),
    ('type = "Simplex"', "type = 3", "no such name 3"),
    ('type = "Simplex"', "", "must be a table with the key 'type'"),
    (
        'type = "Simplex"',
        'type = "Simplex"\nradis = 2',
        "did you mean 'radius'? allowed: n, radius",
    ),
    ('type = "Simplex"', 'type = "Simplex"\nradius = "2"', "radius must be a number, found '2'"),
    ('type = "Simplex"', 'type = "Simplex"\nradius = -2', "[set] radius must be a positive"),
    ('type = "Simplex"', 'type = "Simplex"\nradius = true', "radius must be a number, found True"),
    ('type = "Simplex"', 'type = "Simplex"\nn = 2', "takes x of shape (3,), [set] has shape (2,)"),
    ('type = "Simplex"', 'type = "Simplex"\nn = -2', "a positive integer or a list"),
    ('type = "Simplex"', 'type = "KSparse"', "[set] lacks 'k'"),
    ('type = "Simplex"', 'type = "Product"\nsets = 3', "sets must be a list of sets"),
    ('type = "Simplex"', 'type = "Product"\nsets = [{type = "Sphere"}]', "[set.sets.0] type"),
    ('type = "Simplex"', 'type = "DagFlow"\nedges = 3\nsource=0\ntarget=1', "edges must be"),
    ('type = "Simplex"', 'type = "DagFlow"\nedges = [[0]]\nsource=0\ntarget=1', "[set] edges"),
    ('A = "A"', 'A = "B"', "[objective] A must name an entry of [data], found 'B'"),
    ('A = "A"', "A = 3", "A must be the name of an entry of [data] or a list of numbers"),
    ("b = [0.9, 0.4, 0.1]", "", "[objective] lacks 'b'"),
    ("b = [0.9, 0.4, 0.1]", "b = [0.9]", "[objective] b must have shape (3,)"),
    ("b = [0.9, 0.4, 0.1]", "b = [0.9, nan, 0.1]", "1 NaN or infinite entries of 3"),
    ("b = [0.9, 0.4, 0.1]", "b = [1, 2, 3]\nbatch = 4", "batch must be between 1 and the 3"),
    ('"fw-ls"', '"fw-sl"', "did you mean 'fw-ls'?"),
    ('"fw-ls"', '"fw-ls"\nm = 3', "has no option 'm'"),
    ('"fw-ls"', '"fw-ls"\nnoise = "gumbel"', "draws no noise"),
    ('"fw-ls"', '"pfw"\nalpha = [1]', "alpha must be a number, a text or true/false"),
    ('"fw-ls"', '"pfw"\nalpha = -1.0', "[method] alpha must be"),
    ('"fw-ls"', '"pfw"\nnoise = "gumble"', "[method]"),
    ("tol = 1e-3", "tol = -1", "[stop] tol must be a number >= 0"),
    ("tol = 1e-3", 'tol = "small"', "[stop] tol must be a number, found 'small'"),
    ("tol = 1e-3", "max_rounds = 1.5", "max_rounds must be an integer, found 1.5"),
    ("tol = 1e-3", "max_round = 5", "did you mean 'max_rounds'?"),
    ("seed = 3", "seed = -3", "seed must be an integer >= 0"),
    ("seed = 3", "x0 = [1.0]", "x0 must have shape (3,)"),
    ("seed = 3", 'engine = "thread"', "[run] engine must be auto"),
    ("seed = 3", 'engine = "processes:100000"', "between 1 and 256 workers"),
    ("seed = 3", 'engine = "dask:tcp://evil.example:8786"', "only be given with --engine"),
    ("seed = 3", 'stragglers = "kill"', "[run] stragglers must be"),
    ("seed = 3", 'device = "abacus"', "[run] device='abacus' "),
    ("seed = 3", "device = 0", "[run] device must be a text, found 0"),
    ("seed = 3", "record_every = 0", "record_every must be an integer >= 1"),
    ('folder = "there"', 'folder = "../there"', "below the current folder"),
    ('folder = "there"', 'folder = "/there"', "below the current folder"),
    ('folder = "there"', "figure = 1", "figure must be true or false"),
    ("[data]", "title = 3\n[data]", "title must be a text of one line, found 3"),
    ("[data]", 'title = "\\u001b[31m"\n[data]', "title must be a text of one line"),
    ("[data]", '[data]\n"\\u001b[31m" = 3', "[data] ?[31m must be a file name"),
    ("[run]", "[run", "not valid TOML"),
]


@pytest.mark.parametrize(("old", "new", "said"), CHANGES)
def test_bad_files_are_one_line_that_helps(tmp_path, old, new, said):
    assert old in GOOD
    assert said in refused(tmp_path, GOOD.replace(old, new))


def test_integers_may_be_written_as_floats(tmp_path):
    text = GOOD.replace("tol = 1e-3", "tol = 1e-3\nmax_rounds = 1e3").replace(
        "seed = 3", "seed = 3.0"
    )
    settings = task(tmp_path, text).settings
    assert (settings["max_rounds"], settings["seed"]) == (1000, 3)
    assert type(settings["max_rounds"]) is type(settings["seed"]) is int


def test_a_file_without_its_main_parts(tmp_path):
    assert "lacks [objective] and [set]" in refused(tmp_path, "")
    assert "[stop] must be a table" in refused(tmp_path, "stop = 3\nset = {}\nobjective = {}")
    assert "must be a table with the key 'type'" in refused(tmp_path, "set = {}\nobjective = 3")
    assert "[data] must be a table" in refused(tmp_path, "data = 3\nset = {}\nobjective = {}")
    assert "[method] must be a table" in refused(tmp_path, "method = 3\nset = {}\nobjective = {}")


def test_files_that_are_no_toml(tmp_path):
    path = tmp_path / "problem.toml"
    with pytest.raises(ProblemError, match="wolfpack init"):
        read_problem(path)
    with pytest.raises(ProblemError, match="found something else"):
        read_problem(tmp_path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProblemError, match="UTF-8"):
        read_problem(path)
    path.write_text("a = " + "[" * 50_000)
    with pytest.raises(ProblemError, match="not valid TOML"):
        read_problem(path)
    path.write_bytes(b"#" * (2**24 + 1))
    with pytest.raises(ProblemError, match="larger than 16 MB"):
        read_problem(path)


@pytest.mark.parametrize("kind", STARTERS)
def test_starters_run_as_they_are_and_every_comment_is_true(tmp_path, kind):
    path, data = write_starter(tmp_path / "first.toml", kind)
    assert data.parent == tmp_path
    found = read_problem(path)
    result = wp.minimize(found.objective, found.set, **found.settings)
    assert result.success
    assert found.set.contains(result.x)
    # the settings that are commented out must be ones that the file could have
    lines = path.read_text(encoding="utf-8").splitlines()
    freed = [
        line.removeprefix("# ") if line.startswith("# ") and " = " in line else line
        for line in lines
    ]
    assert freed != lines
    path.write_text("\n".join(freed), encoding="utf-8")
    freed_task = read_problem(path, Access())
    assert set(tomllib.loads(path.read_text())["stop"]) <= freed_task.settings.keys()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.stem)
def test_examples_reach_their_tolerance(path):
    found = read_problem(path)
    result = wp.minimize(found.objective, found.set, **found.settings)
    assert result.success
    assert found.set.contains(result.x, 1e-7)


def test_the_portfolio_agrees_with_another_solver():
    found = read_problem(EXAMPLES / "portfolio.toml")
    result = wp.minimize(found.objective, found.set, **found.settings)
    other = scipy_minimize(
        found.objective.value_and_gradient,
        np.full(10, 0.1),
        jac=True,
        bounds=[(0, 0.25)] * 10,
        constraints=LinearConstraint(np.ones((1, 10)), 1, 1),
        options={"ftol": 1e-12},
    )
    assert result.lower_bound <= other.fun <= result.fun + 1e-9


@pytest.mark.extras
def test_a_file_names_a_device(tmp_path):
    torch = pytest.importorskip("torch")
    text = GOOD.replace("seed = 3", 'seed = 3\ndevice = "cpu"\nx0 = [1.0, 0.0, 0.0]')
    found = task(tmp_path, text)
    assert "device" not in found.settings
    res = wp.minimize(found.objective, found.set, **found.settings)
    assert isinstance(res.x, torch.Tensor)
    assert res.success
