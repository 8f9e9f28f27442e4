"""``trickle init``, ``validate`` and ``plan``."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from airflow_trickle.definition.schema import SCHEMA_FILE
from tests.cli.conftest import Shell

GOOD = "pipeline: good\nschedule: 1h\nsources: [t]\nstream_tables:\n  a:\n    query: SELECT * FROM t\n"
SLIP = "pipeline: slip\nstream_tables:\n  b:\n    quary: SELECT 1\n"
ALLOWED = (
    "Allowed keys: cluster_by, description, diamond_consistency, diamond_schedule_policy, execution_timeout, "
    "executor_config, lattice, max_fixpoint_iterations, mutual_recursion, owner, partition_by, pool, pool_slots, "
    "priority_weight, query, query_file, queue, refresh_mode, retries, retry_delay, schedule, spark_conf, "
    "state, state_max_bytes and tags."
)


def test_init_writes_a_valid_project(shell: Shell) -> None:
    assert shell.ok("init").out == (
        "wrote    dags/trickle_dags.py\n"
        "wrote    dags/example.yaml\n"
        "wrote    dags/pipeline.schema.json\n"
        "Next: trickle validate dags\n"
    )
    ast.parse(Path("dags/trickle_dags.py").read_text())
    assert Path("dags/pipeline.schema.json").read_bytes() == SCHEMA_FILE.read_bytes()
    assert shell.ok("validate").out == "1 pipeline with 1 stream table: all valid.\n"


def test_init_keeps_what_is_there(shell: Shell) -> None:
    shell.write("shop/dags/example.yaml", "mine")
    assert shell.ok("init", "shop", "--json").json == {
        "written": ["shop/dags/trickle_dags.py", "shop/dags/pipeline.schema.json"],
        "kept": ["shop/dags/example.yaml"],
        "tables": [],
    }
    assert Path("shop/dags/example.yaml").read_text() == "mine"
    assert "kept     shop/dags/example.yaml (it was there already)\n" in shell.ok("init", "shop").out


def test_init_with_sample_data(shell: Shell) -> None:
    first = shell.ok("init", "--sample-data").out
    assert first.endswith("created  table default.sales\nNext: trickle run dags\n")
    again = shell.ok("init", "--sample-data").out
    assert again.endswith("kept     table default.sales (it was there already)\nNext: trickle run dags\n")
    assert shell.ok("init", "--sample-data", "--json").json["tables"] == []
    assert shell.ok("show", "sales").out == (
        "sold_on     pieces  price\n2026-01-01       2   9.50\n2026-01-01       1  20.00\n2026-01-02       5   3.00\n"
    )


def test_init_where_nothing_can_be_written(shell: Shell) -> None:
    shell.write("file", "")
    outcome = shell("init", "file")
    assert (outcome.code, outcome.err) == (
        1,
        "error: Cannot write below 'file': Not a directory. Choose another folder.\n",
    )


def test_nothing_at_a_path(shell: Shell) -> None:
    missing = (
        "There is no file or folder 'dags'. Name a pipeline's YAML file or its folder, or write a first pipeline "
        "with: trickle init"
    )
    empty = "There is no pipeline in '.'. Write a first one with: trickle init"
    for command in ("validate", "plan", "run"):
        assert shell(command).err == f"error: {missing}\n"
        assert shell(command, ".").err == f"error: {empty}\n"
        outcome = shell(command, "--json")
        assert (outcome.code, outcome.err) == (1, "")
        assert outcome.json == {"error": {"type": "NoPipeline", "message": missing}}


def test_validate_tells_all_problems_of_all_files(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    shell.write("dags/slip.yaml", SLIP)
    shell.write(
        "dags/sql.yaml", "pipeline: sql\nstream_tables:\n  c:\n    query: |\n      SELECT *\n      FROM nowhere\n"
    )
    outcome = shell("validate")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        f"error: dags/slip.yaml:4:5: stream table 'b': unknown key 'quary'. Did you mean 'query'? {ALLOWED}\n"
        "error: dags/sql.yaml:6:12: stream table 'c': 'nowhere' is neither a source nor a stream table. If others "
        "write the table, declare it: sources: {nowhere: {}}. It may also be defined in dags/slip.yaml, which "
        "cannot be read.\n"
    )


def test_validate_as_json(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    assert shell.ok("validate", "--json").json == {
        "valid": True,
        "pipelines": ["good"],
        "warnings": [],
        "errors": [],
    }
    shell.write("dags/slip.yaml", SLIP)
    outcome = shell("validate", "--json")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.json == {
        "valid": False,
        "pipelines": ["good"],
        "warnings": [],
        "errors": [
            {
                "file": "dags/slip.yaml",
                "line": 4,
                "column": 5,
                "message": "stream table 'b': unknown key 'quary'.",
                "hint": f"Did you mean 'query'? {ALLOWED}",
            }
        ],
    }


def test_validate_warns_on_standard_error(shell: Shell) -> None:
    shell.write(
        "dags/d.yaml",
        "pipeline: d\nsources: [t]\nstream_tables:\n  a: {query: SELECT * FROM t}\n  b: {query: SELECT * FROM t}\n"
        "  c: {query: 'SELECT * FROM a, b', diamond_consistency: none}\n",
    )
    outcome = shell("validate")
    assert (outcome.code, outcome.out) == (0, "1 pipeline with 3 stream tables: all valid.\n")
    assert "'a', 'b' and 'c' form a diamond, but are published one by one, because 'c' has" in outcome.err


def test_plan(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    assert shell.ok("plan").out == (
        "Pipeline good (dags/good.yaml): 1 table, schedule 1h\n"
        "  pin      t (default.t)\n"
        "  refresh  a  DIFFERENTIAL (AUTO: every operator can be refreshed from changes)\n"
        "           reads t (default.t)\n"
    )
    shell.write("dags/slip.yaml", SLIP)
    outcome = shell("plan")
    assert outcome.code == 1
    assert "Not planned:\n  dags/slip.yaml:4:5: " in outcome.out


def test_plan_as_json(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    shell.write("dags/slip.yaml", SLIP)
    outcome = shell("plan", "--json")
    assert (outcome.code, outcome.err) == (1, "")
    keys = ["errors", "groups", "notes", "order", "pipelines", "sccs", "tables", "warnings"]
    assert sorted(outcome.json) == keys
    assert outcome.json["order"] == ["a"]
    assert outcome.json["tables"]["a"]["refresh_mode"] == "DIFFERENTIAL"
    assert [error["file"] for error in outcome.json["errors"]] == ["dags/slip.yaml"]


def test_definitions_need_no_catalog(shell: Shell) -> None:
    shell.write("dags/good.yaml", GOOD)
    shell.ok("init")
    shell.ok("validate")
    json.loads(shell.ok("plan", "--json").out)
    assert not (shell.folder.parent / "home").exists()
