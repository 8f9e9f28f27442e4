"""``trickle graph``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.test_analysis_commands import GOOD
from tests.plan.drawing_readers import read_dot, read_mermaid, read_svg


def test_graph_formats(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    drawn = read_mermaid(shell.ok("graph").out)
    assert shell.ok("graph", "--format", "mermaid").out == shell.ok("graph", "dags").out
    assert len(drawn.edges) == 4
    assert len(read_dot(shell.ok("graph", "--format", "dot").out)[0].edges) == 4
    assert len(read_svg(shell.ok("graph", "--format", "svg").out)[1]) == 4
    shown = shell.ok("graph", "--json").json
    assert [node["id"] for node in shown["nodes"]] == ["default.t", "default.a", "default.b", "default.counted"]
    assert shown["edges"][-1]["type"] == "NON_MONOTONE"


@pytest.mark.parametrize(
    ("name", "arguments", "form"),
    [
        ("graph.svg", (), "svg"),
        ("graph.DOT", (), "dot"),
        ("graph.gv", (), "dot"),
        ("graph.mmd", (), "mermaid"),
        ("graph", (), "mermaid"),
        ("graph.svg", ("--format", "dot"), "dot"),
    ],
)
def test_graph_into_a_file(shell: Shell, name: str, arguments: tuple[str, ...], form: str) -> None:
    shell.write("dags/good.yaml", GOOD)
    assert shell.ok("graph", "--output", name, *arguments).out == f"wrote    {name} ({form})\n"
    assert Path(name).read_text(encoding="utf-8") == shell.ok("graph", "--format", form).out


def test_graph_as_json_into_a_file(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    assert shell.ok("graph", "--json", "-o", "graph.json").out == ""
    assert json.loads(Path("graph.json").read_text()) == shell.ok("graph", "--json").json


def test_graph_into_a_file_that_cannot_be_written(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    outcome = shell("graph", "-o", "nowhere/graph.svg")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "error: Cannot write 'nowhere/graph.svg': No such file or directory. Choose another file.\n"


def test_a_large_mermaid_graph_comes_with_a_note(shell: Shell) -> None:
    tables = "".join(f"  t{n}: {{query: SELECT * FROM s}}\n" for n in range(501))
    shell.write("dags/p.yaml", f"pipeline: p\nsources: [s]\nstream_tables:\n{tables}")
    outcome = shell("graph")
    assert outcome.code == 0
    assert outcome.err.startswith("note: Mermaid may refuse a graph of this size: its defaults are 500 edges ")
    assert len(read_mermaid(outcome.out).edges) == 501
    shell.ok("graph", "--format", "svg")
