"""What the examples share: where pictures go, and what to say where a package is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def need(package: str, extra: str) -> None:
    """End with one line where a package is missing that the example cannot do without."""
    if find_spec(package) is None:
        sys.exit(f"this example needs {package}: pip install 'wolfpack[{extra}]'")


def picture(
    script: str, draw: Callable[..., None], *answer: Any, columns: int = 2, dpi: int = 150
) -> Path | None:
    """Draw an example's answer on a row of axes; write it to the folder named on the command line.

    Parameters
    ----------
    script : str
        The example's ``__file__``, which names the picture.
    draw : callable
        ``draw(axes, *answer)`` fills a list of axes.
    columns, dpi : int
        How many axes, and points per inch.
    """
    if find_spec("matplotlib") is None:
        print("no picture: pip install 'wolfpack[plots]'")
        return None
    import matplotlib
    from matplotlib.figure import Figure

    from wolfpack.report.plots import style

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else f"{Path(script).stem}-out")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{Path(script).stem}.png"
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(3.4 * columns, 3.0), layout="constrained")
        draw(list(figure.subplots(1, columns, squeeze=False)[0]), *answer)
        figure.savefig(path, dpi=dpi)
    print(f"picture: {path}")
    return path
