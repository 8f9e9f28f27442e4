"""The page about the commands that explain shows what they really print."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow as pa

from tests.cli.conftest import Shell
from tests.test_docs import MARK, blocks


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
