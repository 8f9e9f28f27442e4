"""The page about the commands that explain shows what they really print."""

from __future__ import annotations

import shlex
from pathlib import Path
from shutil import copytree

import pyarrow as pa

from tests.cli.conftest import Shell
from tests.test_docs import MARK, ROOT, blocks


def test_the_page_shows_what_the_commands_print(shell: Shell, spark_home: Path) -> None:
    # explain --delta asks the catalog for columns.
    for name, columns in (("red_edges", ("src", "dst")), ("blue_edges", ("src", "dst")), ("reach", ("n",))):
        shell.source(name, [], pa.schema([(column, pa.int64()) for column in columns]))
    mine = [block for block in blocks() if block.page.name == "cli.md"]
    (pipeline,) = [block.body for block in mine if block.info == MARK]
    (drawing,) = [block.body for block in mine if block.info == "mermaid"]
    shell.write("dags/routes.yaml", pipeline)
    assert shell.ok("graph").out == drawing
    compared = 0
    for block in mine:
        if block.info != "console":
            continue
        for shown in block.body.removeprefix("$ trickle ").split("\n$ trickle "):
            line, _, printed = shown.partition("\n")
            outcome = shell(*shlex.split(line))
            whole = outcome.out + outcome.err
            # Three dots stand for what is left out at the end.
            start, dots, _ = printed.partition("…")
            shown_of_it = whole[: len(start)] if dots else whole.rstrip("\n")
            assert shown_of_it == (start if dots else printed.rstrip("\n")), line
            compared += 1
    assert compared >= 8


def _tutorial(info: str) -> list[str]:
    return [block.body for block in blocks() if block.page.name == "mutual-recursion.md" and block.info == info]


def test_the_tutorial_shows_what_the_commands_print(shell: Shell) -> None:
    """Those of its commands that need no tick."""
    copytree(ROOT / "dags" / "recursion", shell.folder / "dags" / "recursion")
    compared = 0
    for block in _tutorial("console"):
        line, _, printed = block.removeprefix("$ trickle ").partition("\n")
        if line.split()[0] not in ("decompose", "strata"):
            continue
        start, dots, _ = printed.partition("…")
        out = shell.ok(*shlex.split(line)).out
        assert (out[: len(start)] if dots else out) == start, line
        compared += 1
    assert compared == 2
    drawn = shell.ok("graph", "dags/recursion/reachability.yaml").out.splitlines()
    plain = [line for line in drawn if line.split()[0] not in ("%%", "classDef", "class")]
    assert "\n".join(plain) + "\n" in _tutorial("mermaid")


def test_the_tutorial_shows_how_a_cycle_is_refused(shell: Shell) -> None:
    text = (ROOT / "dags" / "recursion" / "risk.yaml").read_text()
    inside = "FROM risky_officers AS c WHERE c.officer = o.officer"
    shell.write("dags/recursion/risk.yaml", text.replace("FROM cleared AS c WHERE c.company = o.company", inside))
    assert shell("validate", "dags/recursion/risk.yaml").err in _tutorial("text")
