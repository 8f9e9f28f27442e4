"""A query runs no code on the machine of Spark unless an operator allows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
from tests.yaml_files import messages, planned, write

FILE = """
    pipeline: p
    sources: {{a: {{}}}}
    stream_tables:
      t:
        query: |
          {query}
"""
#: Queries that run code, with the column of the word that does.
CODE = [
    ("SELECT reflect('java.lang.System', 'getenv', 'HOME') AS h FROM a", 14),
    ("SELECT Java_Method('java.lang.System', 'exit') AS h FROM a", 14),
    ("SELECT `try_reflect`('a', 'b') AS h FROM a", 14),
    ("SELECT builtin.reflect('a', 'b') AS h FROM a", 22),
    ("SELECT system.builtin.reflect ('a', 'b') AS h FROM a", 29),
    ("SELECT id FROM a WHERE id IN (SELECT reflect('a', 'b') FROM a)", 44),
    ("FROM a |> SELECT reflect('a', 'b') AS h", 24),
    ("SELECT TRANSFORM(id) USING 'cat /etc/passwd' AS (x) FROM a", 14),
    ("SELECT x FROM (SELECT TRANSFORM(id) USING 'cat' AS (x) FROM a)", 29),
]
#: Queries that look alike, and run none.
HARMLESS = [
    "SELECT transform(ids, x -> x + 1) AS t FROM a",
    "SELECT reflect AS r, 'reflect(1)' AS s FROM a -- reflect(1)",
    "SELECT raise_error('no') AS e, input_file_name() AS f, current_user() AS u FROM a",
]
#: What would read files or tables beside the pipeline's own.
HIDDEN_READS = ["parquet.`/etc/x`", "text.`file:///etc/passwd`", "csv.`s3://b/c`", "spark_catalog.default.x"]


@pytest.mark.parametrize(("query", "column"), CODE)
def test_code_is_refused_at_its_place(tmp_path: Path, query: str, column: int) -> None:
    (problem,) = planned(tmp_path, {"p.yaml": FILE.format(query=query)}).problems
    assert (problem.at.line, problem.at.column) == (6, column)
    assert "on the machine of Spark, which is not allowed" in problem.message
    assert "allow_code_in_queries" in problem.hint


@pytest.mark.parametrize("query", HARMLESS)
def test_what_looks_alike_is_not_refused(tmp_path: Path, query: str) -> None:
    assert planned(tmp_path, {"p.yaml": FILE.format(query=query)}).problems == ()


@pytest.mark.parametrize("query", [query for query, _ in CODE])
def test_an_operator_can_allow_it(tmp_path: Path, query: str) -> None:
    folder = write(tmp_path, {"p.yaml": FILE.format(query=query)})
    assert plan_path(folder, Settings(allow_code_in_queries=True)).problems == ()


def test_a_pipeline_file_cannot_allow_it(tmp_path: Path) -> None:
    text = FILE.format(query=CODE[0][0]) + "    allow_code_in_queries: true\n"
    found = messages(planned(tmp_path, {"p.yaml": text}), tmp_path)
    assert any("which is not allowed" in one for one in found)
    assert any("allow_code_in_queries" in one and "which is not allowed" not in one for one in found)


@pytest.mark.parametrize("table", HIDDEN_READS)
def test_a_query_reads_no_path_and_no_table_of_sparks_own_catalog(tmp_path: Path, table: str) -> None:
    found = messages(planned(tmp_path, {"p.yaml": FILE.format(query=f"SELECT * FROM {table}")}), tmp_path)
    assert len(found) == 1
