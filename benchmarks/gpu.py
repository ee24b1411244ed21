"""How close rounds on one device come to the time that its memory needs, and what they reach.

    python benchmarks/gpu.py [--device cuda] [--scale full] [--only rounds,trace] [--json FILE]

1. Rounds of `anytime` for least squares over the simplex, float32, for several m and the closed
   form. The floor of a round is two passes over the matrix at the bandwidth of a copy, measured in
   the same run.
2. The relative gap that is certified after 200 rounds, against Frank-Wolfe, and the time to a
   relative gap of 1e-4.
3. The trace-norm ball: rounds of m = 64 against m = 1, and against the memory that the products of
   the power iterations move.
4. Matrix completion over a trace-norm ball, rank 20 and noise, by the default method: seconds to
   gaps, and seconds until f is near its last value.
5. A quadratic over the spectrahedron by the default method, to a relative gap of 1e-6.

`--only` names some of rounds, gaps, trace, completion, spectrahedron. Needs PyTorch.
`--device cpu --scale small` prints the same tables on a processor.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import wolfpack as wp

SIZES = {
    "full": {
        "simplex": [(60_000, 40_000), (20_000, 10_000)],
        "trace": [500, 2_000],
        "completion": [(5_000, 5_000, 1_250_000), (20_000, 10_000, 10_000_000)],
        "spectrahedron": [500, 2_000],
    },
    "small": {
        "simplex": [(3_000, 2_000), (1_000, 500)],
        "trace": [40, 120],
        "completion": [(400, 200, 16_000)],
        "spectrahedron": [60],
    },
}
DRAWS: list[Any] = [1, 256, 4096, "exact"]
GIB = 2**30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", choices=SIZES, default="full")
    parser.add_argument("--only", default="rounds,gaps,trace,completion,spectrahedron")
    parser.add_argument("--rounds", type=int, default=100, help="rounds that are timed")
    parser.add_argument("--fw-seconds", type=float, default=60.0, help="longest run of Frank-Wolfe")
    parser.add_argument("--completion-seconds", type=float, default=40.0, help="longest completion")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit("No GPU is visible to PyTorch here: try --device cpu --scale small.")
    machine = describe(options.device)
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    found: dict[str, Any] = {"machine": machine}
    sizes = SIZES[options.scale]
    if "rounds" in options.only or "gaps" in options.only:
        found["simplex"] = [simplex(n, d, options) for n, d in sizes["simplex"]]
    if "trace" in options.only:
        found["trace"] = [trace(n, options) for n in sizes["trace"]]
    if "completion" in options.only:
        found["completion"] = [completion(*size, options) for size in sizes["completion"]]
    if "spectrahedron" in options.only:
        found["spectrahedron"] = [spectrahedron(n, options) for n in sizes["spectrahedron"]]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


def describe(device: str) -> dict[str, str]:
    name = platform.processor() or platform.machine()
    if device.startswith("cuda"):
        name = torch.cuda.get_device_name(device)
    return {
        "date": time.strftime("%Y-%m-%d"),
        "device": name,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "wolfpack": wp.__version__,
    }


def simplex(n: int, d: int, options: Any) -> dict[str, Any]:
    """Rounds and gaps of one least-squares problem with normal data."""
    device = options.device
    generator = torch.Generator(device).manual_seed(0)
    A = torch.randn(n, d, generator=generator, device=device)
    b = torch.randn(n, generator=generator, device=device)
    f, K = wp.objectives.LeastSquares(A, b), wp.sets.Simplex(d)
    rate = bandwidth(A)
    floor = 2 * A.numel() * A.element_size() / rate
    size = A.numel() * A.element_size() / GIB
    print(f"\nLeast squares over the simplex, {n:,} x {d:,} float32, {size:.1f} GiB")
    print(f"copy {rate / 1e12:.2f} TB/s: two passes take {1e3 * floor:.3f} ms")
    found: dict[str, Any] = {"n": n, "d": d, "copy_bytes_per_second": rate, "floor": floor}
    if "rounds" in options.only:
        cases = [(m, whole) for m in DRAWS for whole in (False, True)]
        found["rounds"] = [rounds(f, K, case, floor, options) for case in cases]
    if "gaps" in options.only:
        found["gaps"] = gaps(f, K, options)
    return found


def rounds(f: Any, K: Any, case: tuple[Any, bool], floor: float, options: Any) -> dict[str, Any]:
    """The time of a round of `anytime` without certificates, over the memory floor."""
    m, whole = case

    def run(count: int) -> Any:
        return wp.minimize(
            f,
            K,
            method="anytime",
            m=m,
            compile=whole,
            tol=0.0,
            max_rounds=count,
            record_every=10**9,
        )

    seconds, looks = per_round(run, options)
    name = f"m = {m}" + (", compiled" if whole else "")
    print(
        f"  {name:19}: {1e3 * seconds:8.3f} ms a round = {seconds / floor:5.2f} x the floor "
        f"({looks:.2f} gradients a round, {seconds / looks / floor:.2f} x the floor each)"
    )
    return {
        "m": m,
        "compiled": whole,
        "seconds": seconds,
        "over_floor": seconds / floor,
        "gradients": looks,
    }


def gaps(f: Any, K: Any, options: Any) -> list[dict[str, Any]]:
    """What is certified after 200 rounds, and how long a relative gap of 1e-4 takes."""
    rows = []
    for name, method, extra in (
        ("closed form", "anytime", {"m": "exact"}),
        ("m = 256", "anytime", {"m": 256}),
        ("Frank-Wolfe", "fw", {}),
    ):
        res = wp.minimize(f, K, method=method, tol=0.0, max_rounds=200, record_every=10, **extra)
        sync(options.device)
        long = wp.minimize(
            f,
            K,
            method=method,
            tol=0.0,
            rtol=1e-4,
            max_seconds=options.fw_seconds,
            record_every=20,
            **extra,
        )
        reached = "" if long.success else ", not reached"
        print(
            f"  {name:12}: relative gap {res.gap / abs(res.fun):.1e} after 200 rounds; 1e-4 after "
            f"{long.nit} rounds, {long.seconds:.3f} s{reached} ({long.gap / abs(long.fun):.1e})"
        )
        rows.append(
            {
                "method": name,
                "relative_gap": res.gap / abs(res.fun),
                "seconds_to_1e-4": long.seconds,
                "rounds_to_1e-4": long.nit,
                "reached": long.success,
            }
        )
    factor = rows[-1]["seconds_to_1e-4"] / rows[0]["seconds_to_1e-4"]
    least = "" if rows[-1]["reached"] else "at least "
    print(f"  Frank-Wolfe takes {least}{factor:.0f} times as long as the closed form")
    return rows


def trace(n: int, options: Any) -> dict[str, Any]:
    """Rounds over the trace-norm ball of n x n matrices; the objective is nearly free."""
    generator = torch.Generator(options.device).manual_seed(0)
    target = torch.randn(n, n, generator=generator, device=options.device) / n**0.5
    f = wp.objectives.Quadratic(1.0, -target, 0.5 * float((target * target).sum()))
    K = wp.sets.TraceNormBall((n, n), radius=0.1 * n)
    law = wp.noise.Gaussian(native=True)
    rate = bandwidth(torch.zeros(64, n, n, device=options.device))
    print(f"\nTrace-norm ball, {n:,} x {n:,} float32; copy {rate / 1e12:.2f} TB/s")
    found: dict[str, Any] = {"n": n, "copy_bytes_per_second": rate}
    for m in (1, 64):
        twin, passes = counted(K, target)

        def run(count: int, m: int = m, twin: Any = twin) -> Any:
            return wp.minimize(
                f,
                twin,
                method="anytime",
                m=m,
                noise=law,
                kappa=1.0,
                L=1.0,
                tol=0.0,
                max_rounds=count,
                record_every=10**9,
            )

        seconds, _ = per_round(run, options)
        reads = float(np.mean(passes))
        floor = reads * m * n * n * 4 / rate
        ways = "one decomposition"
        if reads:
            ways = f"{reads:.0f} passes over the directions take {1e3 * floor:.3f} ms"
            ways += f": {seconds / floor:.2f} x"
        print(f"  m = {m:3}: {1e3 * seconds:8.3f} ms a round; {ways}")
        found[f"m={m}"] = {"seconds": seconds, "passes": reads, "floor": floor}
    ratio = found["m=64"]["seconds"] / found["m=1"]["seconds"]
    print(f"  m = 64 takes {ratio:.2f} times as long as m = 1")
    return found


def completion(p: int, q: int, count: int, options: Any) -> dict[str, Any]:
    """Seconds of the default method to complete a matrix of rank 20 with noise."""
    rank, device = 20, options.device
    generator = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, device=device)

    at = torch.randperm(p * q, generator=generator, device=device)[:count].sort().values
    rows, columns = at // q, at % q
    U, V = normal(p, rank), normal(q, rank) / rank**0.5
    values = 0.1 * normal(count)
    for part in torch.arange(count, device=device).split(2**20):
        values[part] += (U[rows[part]] * V[columns[part]]).sum(1)
    f = wp.objectives.MatrixCompletion(rows, columns, values, (p, q))
    K = wp.sets.TraceNormBall((p, q), radius=(p * q * rank) ** 0.5)
    f0 = 0.5 * float((values.double() ** 2).sum())
    del at, rows, columns, U, V
    limit = {"max_seconds": options.completion_seconds}
    wp.minimize(f, K, max_rounds=2)  # libraries load and choose their kernels
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)
    res = wp.minimize(f, K, tol=2e-3 * f0, **limit)
    gib = torch.cuda.max_memory_allocated(device) / GIB if device.startswith("cuda") else 0.0
    history, last = res.history, res.fun
    print(f"\nCompletion, {p:,} x {q:,}, {count:,} entries, rank {rank} and noise, float32")
    print(
        f"  {res.method}, {res.nit} rounds, {res.njev} gradients, rank {res.x.rank}, {gib:.1f} GiB"
    )
    times: dict[str, float] = {}
    for name, column, levels in (
        ("gap", history["gap"] / f0, (1e-1, 3e-2, 1e-2, 2e-3)),
        ("f - last f", (history["fun"] - last) / f0, (1e-2, 2e-3)),
    ):
        for level in levels:
            reached = np.flatnonzero(np.minimum.accumulate(column) <= level)
            seconds = float(history["seconds"][reached[0]]) if len(reached) else float("inf")
            times[f"{name} <= {level:g}"] = seconds
            print(f"  {name} <= {level:g} f(0): {seconds:.2f} s")
    return {"p": p, "q": q, "entries": count, "method": res.method, "GiB": gib, "seconds": times}


def spectrahedron(n: int, options: Any) -> dict[str, Any]:
    """Seconds of the default method for quadratics over the spectrahedron, in double precision."""
    generator = torch.Generator(options.device).manual_seed(0)
    target = torch.randn(n, n, generator=generator, device=options.device, dtype=torch.float64)
    target = (target + target.T) / (2 * n) ** 0.5
    weights = torch.rand(n, n, generator=generator, device=options.device, dtype=torch.float64)
    weights = 0.1 + weights + weights.T
    constant = 0.5 * float((weights * target * target).sum())
    problems = {
        "distance": wp.objectives.Quadratic(1.0, -target, 0.5 * float((target * target).sum())),
        "weighted": lambda x: (
            0.5 * float((weights * (x - target) ** 2).sum()),
            weights * (x - target),
        ),
    }
    print(f"\nSpectrahedron, order {n:,}, float64, relative gap 1e-6 ({constant:.3g} at 0)")
    found: dict[str, Any] = {"n": n}
    K = wp.sets.Spectrahedron(n)
    for name, f in problems.items():
        x0 = torch.eye(n, device=options.device, dtype=torch.float64) / n
        run = {"rtol": 1e-6, "tol": 0.0, "x0": x0, "max_seconds": 30, "convex": True}
        wp.minimize(f, K, **{**run, "max_rounds": 2})
        res = wp.minimize(f, K, **run)
        print(
            f"  {name}: {res.method}, {res.seconds:.3f} s, {res.nit} rounds, relative gap "
            f"{res.gap / abs(res.fun):.1e}, {res.status}"
        )
        found[name] = {"method": res.method, "seconds": res.seconds, "rounds": res.nit}
    return found


def counted(K: Any, target: torch.Tensor) -> tuple[Any, list[int]]:
    """Return the set on the device, and a list that grows by each batch's passes over it."""
    twin, passes = K.at(target), []
    ask = twin._lmo

    def count(g: torch.Tensor) -> Any:
        answers = ask(g)
        if g.ndim == 3:
            passes.append(twin.passes)
        return answers

    twin._lmo = count
    return twin, passes


def per_round(run: Callable[[int], Any], options: Any) -> tuple[float, float]:
    """Return seconds and gradients a round, of the rounds after the first few."""
    few = max(5, options.rounds // 5)
    run(few)
    times, looks = {}, {}
    for count in (few, few + options.rounds) * 2:
        sync(options.device)
        began = time.perf_counter()
        res = run(count)
        sync(options.device)
        times[count] = min(times.get(count, float("inf")), time.perf_counter() - began)
        looks[count] = res.njev
    long = few + options.rounds
    return (times[long] - times[few]) / options.rounds, (looks[long] - looks[few]) / options.rounds


def bandwidth(like: torch.Tensor) -> float:
    """Bytes a second, read and written, of a copy of up to 4 GiB."""
    count = min(like.numel(), 2**30)
    source = like.reshape(-1)[:count]
    goal = torch.empty_like(source)
    best = float("inf")
    for _ in range(8):
        sync(str(like.device))
        began = time.perf_counter()
        goal.copy_(source)
        sync(str(like.device))
        best = min(best, time.perf_counter() - began)
    return 2 * source.numel() * source.element_size() / best


def sync(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main()
