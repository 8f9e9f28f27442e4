"""An error of Spark is told with its place in the person's file, or with none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import QueryContextType

from airflow_trickle.engine.inputs import query_over, view_name
from airflow_trickle.engine.places import place_of
from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.steps import TableStep

YAML = """\
pipeline: p
sources: [t]
stream_tables:
  s:
    query: |
      SELECT '😀', t.id, t.v / t.w AS q
      FROM t
      WHERE t.oops > 1
"""


class Context:
    def __init__(self, start: int, text: str, ran: str) -> None:
        units = ran.encode("utf-16-le")
        self._at, self._stop = start, start + len(text) - 1
        self._fragment = units[2 * start : 2 * (self._stop + 1)].decode("utf-16-le", "replace")

    def contextType(self) -> QueryContextType:
        return QueryContextType.SQL

    def startIndex(self) -> int:
        return self._at

    def stopIndex(self) -> int:
        return self._stop

    def fragment(self) -> str:
        return self._fragment


class Failure(AnalysisException):
    def __init__(self, ran: str, part: str) -> None:
        super().__init__("no")
        self._context = Context(ran.index(part), part, ran)

    def getQueryContext(self) -> list[Context]:  # type: ignore[override]
        return [self._context]


def step_of(folder: Path, text: str = YAML) -> TableStep:
    (folder / "p.yaml").write_text(text, encoding="utf-8")
    project = plan_path(folder / "p.yaml")
    project.raise_for_problems()
    return project.plans[0].tables[0]


@pytest.mark.parametrize(("part", "place"), [("t.id", "6:19"), ("t.v / t.w", "6:25"), ("t.oops", "8:13")])
def test_a_part_of_the_query_that_ran_as_a_whole_is_found(tmp_path: Path, part: str, place: str) -> None:
    step = step_of(tmp_path)
    ran = query_over(step, {"default.t": view_name()})

    assert str(place_of(Failure(ran, part), step)) == f"{tmp_path}/p.yaml:{place}"


def test_a_part_that_ran_inside_of_another_text_is_found_if_the_query_has_it_once(tmp_path: Path) -> None:
    step = step_of(tmp_path)

    assert str(place_of(Failure("SELECT sum(1), t.v / t.w FROM x", "t.v / t.w"), step)) == f"{tmp_path}/p.yaml:6:25"
    assert place_of(Failure("SELECT 1 FROM x WHERE t > 2", "t"), step) is None
    assert place_of(Failure("SELECT other FROM x", "other"), step) is None


def test_a_query_in_a_file_of_its_own_gives_places_of_that_file(tmp_path: Path) -> None:
    (tmp_path / "s.sql").write_text("SELECT id,\n  oops FROM t\n", encoding="utf-8")
    step = step_of(tmp_path, "pipeline: p\nsources: [t]\nstream_tables:\n  s:\n    query_file: s.sql\n")
    ran = query_over(step, {"default.t": view_name()})

    assert str(place_of(Failure(ran, "oops"), step)) == f"{tmp_path}/s.sql:2:3"
