"""The guide to the command line: its commands run in their order, its file is a good one."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

from wolfpack import cli
from wolfpack.problem_file import read_problem
from wolfpack.problem_file.blocks import PARTS
from wolfpack.problem_file.data import READERS
from wolfpack.problem_file.schema import OBJECTIVES, OUTPUT, RUN, SECTIONS, STOP

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "command-line.md").read_text("utf-8")


def test_the_commands_run_and_the_file_is_good(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.M | re.S)
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(commands) == 6
    assert commands[3] == ["wolfpack", "watch", "problem-out"]  # goes on until Ctrl-C
    for name, *arguments in commands[:3] + commands[4:]:
        assert name == "wolfpack"
        assert cli.run(arguments) == 0
        assert capsys.readouterr().err == ""
    text, blocks = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.M | re.S)
    Path("other.toml").write_text(text, encoding="utf-8")
    assert read_problem(Path("other.toml")).settings == read_problem(Path("problem.toml")).settings
    assert set(tomllib.loads(blocks)["objective"]) == {"type", "data", "target"}
    written = {path.name for path in Path("problem-out").iterdir()} - {"run.ckpt.1"}
    for name in written:
        assert f"`{name}`" in GUIDE or f"`{Path(name).suffix}`" in GUIDE


def test_nothing_is_left_out():
    sections = [f"[{name}]" for name in SECTIONS if name != "title"]
    for name in (*sections, "data", *PARTS, *READERS, *OBJECTIVES, *STOP, *RUN, *OUTPUT):
        assert f"`{name}`" in GUIDE, name
