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


PAIR = "WITH RECURSIVE a AS (SELECT x FROM s UNION SELECT x FROM b), b AS (SELECT x FROM a JOIN sales.t USING (x)) "
BLOCKED = "WITH RECURSIVE a AS (SELECT x FROM s UNION SELECT x FROM b), b AS (SELECT x FROM s EXCEPT SELECT x FROM a) "


def test_decompose_of_a_query_judges_cycles_and_strata(shell: Shell) -> None:
    """Design 002 §13: stratum info enriches rewrite suggestions"""
    text = PAIR + "SELECT x FROM s EXCEPT SELECT x FROM a"
    told = shell.ok("decompose", "--query", text, "--json").json
    assert (told["table"], told["mutual_recursion"], told["errors"]) == ("result", True, [])
    assert told["cycle"]["cycles"] == [{"stratum": 0, "tables": ["result__a", "result__b"]}]
    assert told["cycle"]["others"] == [{"stratum": 1, "table": "result"}]
    assert {(one["table"], one["reads"], one["edge"], one["in_cycle"]) for one in told["cycle"]["reads"]} == {
        ("result__a", "s", "MONOTONE", False),
        ("result__a", "result__b", "MONOTONE", True),
        ("result__b", "t", "MONOTONE", False),
        ("result__b", "result__a", "MONOTONE", True),
        ("result", "s", "MONOTONE", False),
        ("result", "result__a", "NON_MONOTONE", False),
    }
    shell.write("q.sql", text)
    shown = shell.ok("decompose", "pairs", "--query-file", "q.sql").out
    assert "  pairs__a and pairs__b form a cycle at stratum 0; pairs will be at stratum 1\n" in shown
    assert "  pairs reads pairs__a: NON_MONOTONE, it is on the right side of EXCEPT\n" in shown
    assert "  trickle sccs " in shown


def test_decompose_refuses_what_would_be_refused(shell: Shell) -> None:
    """Design 002 §8.2: test_mutual_recursion_nonmonotone_rejected"""
    outcome = shell("decompose", "--query", BLOCKED + "SELECT x FROM b")
    assert (outcome.code, outcome.err) == (1, "")
    assert "can be written" not in outcome.out
    assert "To watch it" not in outcome.out
    assert (
        "Not planned:\n  --query:1:84: stream table 'result__b' reads 'result__a' inside the cycle result__b -> "
        "result__a -> result__b in a place that is not monotone: it is on the right side of EXCEPT."
    ) in outcome.out
    assert shell("decompose", "--query", BLOCKED + "SELECT x FROM b", "--json").json["suggestion"] is None


def test_decompose_of_a_query_that_is_wrong_or_not_there(shell: Shell) -> None:
    wrong = shell("decompose", "--query", "WITH RECURSIVE a AS (SELECT FROM")
    assert wrong.code == 1
    assert "  --query:1:" in wrong.out
    assert "its query is not understood" in wrong.out
    gone = shell("decompose", "--query-file", "gone.sql")
    assert (gone.code, gone.err) == (
        1,
        "error: The query file 'gone.sql' cannot be read: No such file or directory.\n",
    )
    assert shell("decompose").code == shell("decompose", "--query", "SELECT 1", "--query-file", "q").code == 2
    assert shell.ok("decompose", "--query", "SELECT 1").out.endswith("it stays one table.\n")
