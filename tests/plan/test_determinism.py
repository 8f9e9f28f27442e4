"""The same files give the same plan, byte for byte, whatever order things happened to be in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.explain import explain_json
from airflow_trickle.plan.steps import Plan
from tests import budgets
from tests.budgets import budget
from tests.yaml_files import planned, write

FORMS = (
    "SELECT x FROM {0} UNION SELECT x FROM {1}",
    "SELECT x, COUNT(*) AS n FROM {0} JOIN {1} USING (x) GROUP BY x",
    "SELECT a.x FROM {0} AS a LEFT JOIN {1} AS b ON a.x = b.x",
    "SELECT x FROM {0} AS a WHERE NOT EXISTS (SELECT 1 FROM {1} AS b WHERE b.x = a.x)",
)


@st.composite
def projects(draw):
    """Tables that read others by any of the forms: cycles, diamonds and strata come by themselves."""
    size = draw(st.integers(1, 8))
    names = [f"t{number}" for number in range(size)]
    readable = [*names, "s0", "s1"]
    pick = st.sampled_from(readable)
    return {name: draw(st.sampled_from(FORMS)).format(draw(pick), draw(pick)) for name in names}


def text(tables):
    lines = "".join(f"  {name}: {{query: '{query}'}}\n" for name, query in tables.items())
    return f"pipeline: p\nallow_circular: unsafe\nsources: [s0, s1]\nstream_tables:\n{lines}"


def shape(result):
    """What is planned, without the lines that tables stand in."""
    shown = explain_json(result)
    for table in shown["tables"].values():
        del table["declared_at"]
    for place in shown["errors"]:
        del place["line"]
    # The order of messages is the order of their places.
    shown["errors"].sort(key=json.dumps)
    return json.dumps(shown)


@given(tables=projects(), seed=st.randoms(use_true_random=False))
@budget(1.5)
def test_the_order_of_tables_in_a_file_does_not_matter(tmp_path_factory, tables, seed):
    folder = tmp_path_factory.mktemp("order")
    first = shape(planned(folder, {"p.yaml": text(tables)}))
    names = list(tables)
    seed.shuffle(names)
    assert shape(planned(folder, {"p.yaml": text({name: tables[name] for name in names})})) == first


@given(tables=projects())
def test_a_plan_turns_into_json_and_back(tmp_path_factory, tables):
    for plan in planned(tmp_path_factory.mktemp("json"), {"p.yaml": text(tables)}).plans:
        assert Plan.model_validate_json(plan.model_dump_json()) == plan


@given(tables=projects())
@budget(1.5)
def test_units_come_after_everything_they_read_and_hold_every_table_once(tmp_path_factory, tables):
    for plan in planned(tmp_path_factory.mktemp("units"), {"p.yaml": text(tables)}).plans:
        done: set[str] = set()
        units: set[str] = set()
        for step in plan.refreshes:
            own = {table.name for table in step.tables}
            read = {ref.name for table in step.tables for ref in table.inputs if ref.name in tables}
            assert read <= done | own
            assert set(step.upstream) <= units
            assert not own & done
            done |= own
            units.add(step.unit)
        assert done == set(tables)


_PRINT = """
import json, sys
from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.explain import explain_json
planned = plan_path(sys.argv[1], Settings())
print(json.dumps(explain_json(planned)))
for plan in planned.plans:
    print(plan.model_dump_json())
"""


def test_two_processes_plan_the_same_bytes(tmp_path: Path) -> None:
    chance = budgets.chance(7)
    names = [f"t{number}" for number in range(60)]
    readable = [*names, "s0", "s1"]
    tables = {name: chance.choice(FORMS).format(chance.choice(readable), chance.choice(readable)) for name in names}
    write(tmp_path, {"p.yaml": text(tables)})
    assert plan_path(tmp_path, Settings()).plans
    shown = [
        subprocess.run(
            [sys.executable, "-c", _PRINT, str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert shown[0] == shown[1]
