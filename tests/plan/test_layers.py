"""In which layer a unit stands: never below what it reads."""

from __future__ import annotations

from pathlib import Path

from airflow_trickle import Pipeline
from airflow_trickle.plan.layers import layers_of

YAML = """\
pipeline: p
sources: [s]
stream_tables:
  left_arm: {query: SELECT k FROM s}
  right_arm: {query: SELECT k FROM s WHERE k > 1}
  meet: {query: "SELECT l.k FROM left_arm AS l WHERE NOT EXISTS (SELECT 1 FROM right_arm AS r WHERE r.k = l.k)"}
  reader: {query: SELECT k FROM left_arm}
"""


def test_a_unit_stands_no_lower_than_a_group_of_several_strata_that_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(YAML)
    plan = Pipeline.load(path).plan
    strata = {table.name: table.stratum for table in plan.tables}
    assert strata == {"left_arm": 0, "right_arm": 0, "meet": 1, "reader": 0}
    layers = layers_of(plan.refreshes)
    units = {table.name: step.unit for step in plan.refreshes for table in step.tables}
    assert units["left_arm"] == units["meet"], "one group"
    assert layers == {units["meet"]: 1, units["reader"]: 1}
