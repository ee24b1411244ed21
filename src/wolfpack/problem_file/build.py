"""From a problem file to what `wolfpack.minimize` takes."""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..arrays import check_shape, like
from ..engines import Policy
from ..front.choose import Choice, choose_smoothing, explain
from ..front.integer import check_integer
from ..front.methods import METHODS, make_solver
from ..front.minimize import POLICY
from ..loop import Limits
from ..objectives import Objective
from ..objectives._move import on_device
from ..problem.checks import check_count, seed
from ..sets import Set
from . import schema
from .blocks import files_bytes, in_blocks, make_partitioned, shape_of
from .data import Access, Data
from .schema import ProblemError, check_choice, check_engine, check_keys, check_plain, check_value
from .values import Reader, section_named

_MAX_MEGABYTES = 16

_OF_INTEGER = {"tol": "gap", "rtol": "rtol", "max_rounds": "max_nodes", "engine": "engine"}
_OF_INTEGER |= {"max_seconds": "max_seconds", "max_lmo": "max_lmo", "seed": "seed"}
"""Keys of a file that `minimize_integer` has too, and what it calls them."""


@dataclass(frozen=True)
class Output:
    """Which files are written, and the folder that the problem file names."""

    folder: str | None = None
    figure: bool = True
    report: bool = True
    checkpoint: bool = True


@dataclass(frozen=True)
class Task:
    """A problem file that has been read and checked.

    ``table`` is the file's text as data. ``settings`` are the arguments of `wolfpack.minimize`
    besides objective and set. The data take ``data_bytes`` of memory. ``integer`` are the arguments
    of `wolfpack.minimize_integer` for a file that asks for integer points, None for others.
    """

    path: Path
    title: str
    table: dict[str, Any]
    objective: Objective
    set: Set
    settings: dict[str, Any]
    output: Output = field(default_factory=Output)
    data_bytes: int = 0
    integer: dict[str, Any] | None = None

    @property
    def choice(self) -> Choice | None:
        """What ``auto`` chooses, None when the file names a method or asks for integer points."""
        if self.integer is not None or self.settings["method"] != "auto":
            return None
        return explain(self.objective, self.set, **self.settings)


def read_problem(path: Path, access: Access | None = None) -> Task:
    """Read a problem file (TOML) and the data that it names, and check everything.

    A `ProblemError` names the file, the key, what was found and what is allowed, in one line.
    """
    table = _read_toml(path)
    try:
        for key in table:
            if key not in schema.SECTIONS:
                known = schema.among(key, schema.SECTIONS)
                raise ProblemError(f"no section is called {key!r}; {known}")
        if missing := [f"[{key}]" for key in ("objective", "set") if key not in table]:
            raise ProblemError(f"lacks {' and '.join(missing)}")
        return _build(path, table, access or Access())
    except ProblemError as error:
        # Names come from the file. Some characters in them would control a terminal.
        text = "".join(c if c.isprintable() else "?" for c in str(error))
        raise ProblemError(f"{path}: {text}") from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        if not path.exists():
            raise ProblemError(f"{path}: there is no such file; 'wolfpack init' writes a starter")
        if not path.is_file():
            raise ProblemError(f"{path}: a problem is a TOML file, found something else")
        if path.stat().st_size > _MAX_MEGABYTES * 2**20:
            why = f"larger than {_MAX_MEGABYTES} MB; keep the data in files of their own"
            raise ProblemError(f"{path}: {why}")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProblemError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ProblemError(f"{path}: not a text in UTF-8, hence not TOML") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ProblemError(f"{path}: not valid TOML: {error}") from None


def _build(path: Path, table: dict[str, Any], access: Access) -> Task:
    title = table.get("title", path.stem)
    if not (isinstance(title, str) and title.isprintable()):
        raise ProblemError(f"title must be a text of one line, found {schema.show(title)}")
    stop = check_plain("stop", table.get("stop", {}), schema.STOP)
    output = check_plain("output", table.get("output", {}), schema.OUTPUT)
    entries = table.get("data", {})
    data = Data(check_keys("data", entries, entries), path.parent, access)
    reader = Reader(data)
    run = check_keys("run", table.get("run", {}), schema.RUN)
    run = {key: reader.value("run", key, entry, schema.RUN[key]) for key, entry in run.items()}
    if "engine" in run:
        check_engine(run["engine"])
    _check_folder(output.get("folder"))
    method = _method(table.get("method", {}))
    if in_blocks(table["objective"]):
        objective = make_partitioned("objective", table["objective"], path.parent, access)
    else:
        objective = reader.make("objective", table["objective"], schema.OBJECTIVES)
    with section_named("objective"):
        shape = shape_of(objective)
    region = reader.make("set", table["set"], schema.SETS, shape)
    if shape is not None and tuple(shape) != tuple(region.shape):
        raise ProblemError(
            f"[objective] takes x of shape {tuple(shape)}, [set] has shape {region.shape}"
        )
    settings = {**method, **stop, **run}
    integer = _integer(table, reader, settings, region)
    _check_settings(settings, objective, region)
    objective = _placed(objective, settings)
    files = Output(**output)
    nbytes = data.bytes + files_bytes(objective)
    return Task(path, title, table, objective, region, settings, files, nbytes, integer)


def _placed(objective: Objective, settings: dict[str, Any]) -> Objective:
    """Return the objective on the device that the file names, where x0 is put too."""
    device = settings.pop("device", None)
    if device is None:
        return objective
    try:
        with section_named("run"):
            objective = on_device(objective, device)
    except ImportError as error:
        raise ProblemError(f"[run] {error}") from None
    if "x0" in settings:
        settings["x0"] = like(settings["x0"], objective.like)
    return objective


def _method(table: object) -> dict[str, Any]:
    """Return the method's name and options as arguments of `minimize`."""
    if not isinstance(table, dict):
        raise ProblemError(f"[method] must be a table, found {schema.show(table)}")
    name = check_choice("method", "name", table.get("name", "auto"), ["auto", *METHODS])
    own = [] if name == "auto" else list(inspect.signature(METHODS[name]).parameters)
    known = dict.fromkeys(["name", "m", "L", *schema.SMOOTHING, *own])
    options = dict(check_keys("method", table, known))
    for key, value in options.items():
        if key in schema.SMOOTHING:
            check_value("method", key, value, schema.SMOOTHING[key])
        elif not isinstance(value, str | int | float | bool):
            raise ProblemError(
                f"[method] {key} must be a number, a text or true/false, found {schema.show(value)}"
            )
    options.pop("name", None)
    if options.get("noise") == "none":
        options["noise"] = None
    return {"method": name, **options}


def _integer(
    table: dict[str, Any], reader: Reader, settings: dict[str, Any], region: Set
) -> dict[str, Any] | None:
    """Return the arguments of `minimize_integer`, None if the file asks for no integers."""
    given = check_keys("solve", table.get("solve", {}), schema.SOLVE)
    known = dict(given)
    marked = known.pop("integrality", None)
    known = check_plain("solve", known, schema.SOLVE)
    if not known.pop("integer", False):
        if given and given.get("integer") is not False:
            raise ProblemError(f"[solve] {next(iter(given))} needs integer = true beside it")
        return None
    if "method" in table:
        raise ProblemError("[method] has no use beside [solve] integer = true: leave it out")
    unused = [key for key in settings if key not in _OF_INTEGER and key != "method"]
    if unused:
        raise ProblemError(f"[run] {unused[0]} has no use beside [solve] integer = true")
    if marked is not None:
        known["integrality"] = reader.value("solve", "integrality", marked, "number or array")
    renamed = {_OF_INTEGER[key]: value for key, value in settings.items() if key in _OF_INTEGER}
    known = {**renamed, **known}
    with section_named("solve"):
        check_integer(region, **known)
    return known


def _check_settings(settings: dict[str, Any], objective: Objective, region: Set) -> None:
    """Raise for values that `minimize` would refuse, naming the section."""
    given = {key: value for key, value in settings.items() if key in POLICY}
    with section_named("run"):
        Policy(**given)
        seed(settings.get("seed", 0), "seed")
        check_count("record_every", settings.get("record_every", 1))
        if "x0" in settings:
            check_shape(settings["x0"], region.shape, "x0")
    with section_named("stop"):
        Limits(**{key: value for key, value in settings.items() if key in schema.STOP})
    if settings["method"] == "auto":
        return
    others = {*schema.STOP, *schema.RUN, *schema.SMOOTHING, "method", "L"}
    options = {key: value for key, value in settings.items() if key not in others}
    with section_named("method"):
        name, solver = make_solver(settings["method"], options, METHODS, [])
        noise, kind = settings.get("noise", "auto"), settings.get("smoothing")
        choose_smoothing(name, solver, objective, region, noise, kind)


def _check_folder(folder: str | None) -> None:
    if folder is not None and (Path(folder).is_absolute() or ".." in Path(folder).parts):
        raise ProblemError(
            f"[output] folder must lie below the current folder, found {folder!r}; "
            "name another place with --out"
        )
