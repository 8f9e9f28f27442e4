"""``trickle decompose``."""

from __future__ import annotations

import yaml

from tests.cli.conftest import Shell
from tests.cli.test_analysis_commands import GOOD, MUTUAL


def test_decompose(shell: Shell) -> None:
    shell.write("dags/m.yaml", MUTUAL)
    told, _, suggestion = shell.ok("decompose", "reach").out.partition(
        "\nIn place of the entry 'reach' this can be written:\n\n"
    )
    assert told.startswith("Stream table reach (dags/m.yaml:4:3)\n  The CTEs red and blue read each other.\n\n")
    assert list(yaml.safe_load(suggestion)["stream_tables"]) == ["reach__red", "reach__blue", "reach"]
    assert shell.ok("decompose", "reach", "--json").json["suggestion"] == suggestion
    shell.write("new/m.yaml", f"pipeline: colours\nsources: [red_edges]\n{suggestion}")
    assert shell("validate", "new").out == "1 pipeline with 3 stream tables: all valid.\n"


def test_decompose_of_a_file_that_only_wants_a_suggestion(shell: Shell) -> None:
    shell.write("dags/m.yaml", MUTUAL)
    auto = shell.ok("decompose", "reach").out
    shell.write("dags/m.yaml", MUTUAL.replace("    query:", "    mutual_recursion: suggest\n    query:"))
    assert shell("validate").code == 1
    assert shell.ok("decompose", "reach").out == auto


def test_decompose_without_mutual_recursion(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    assert shell.ok("decompose", "a").out == "Stream table a has no mutual recursion: it stays one table.\n"
    assert shell.ok("decompose", "a", "--json").json["mutual_recursion"] is False
    assert shell("decompose", "cuonted").err == (
        "error: There is no stream table 'cuonted' in 'dags'. Did you mean 'counted'?\n"
    )


def test_decompose_of_what_cannot_be_taken_apart(shell: Shell) -> None:
    shell.write(
        "dags/m.yaml", MUTUAL.replace("WITH RECURSIVE", "SELECT * FROM (WITH RECURSIVE").rstrip("\n") + ") AS s\n"
    )
    outcome = shell("decompose", "reach")
    assert (outcome.code, outcome.err) == (1, "")
    assert "Not planned:\n  dags/m.yaml:" in outcome.out
    assert len(shell("decompose", "reach", "--json").json["errors"]) == 1
