"""Strata in the DAG's shape, and pipelines that are understood but cannot be run yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_trickle.dag_factory import build_dags
from airflow_trickle.errors import DefinitionError
from tests.dag_factory.conftest import SHOP

Write = Callable[[dict[str, str]], Path]

STRATA = """\
pipeline: layers
sources: [orders, returned]
stream_tables:
  kept:
    query: SELECT o.id, o.day FROM orders AS o WHERE o.paid
  final:
    query: SELECT k.id, k.day FROM kept AS k WHERE NOT EXISTS (SELECT 1 FROM returned AS r WHERE r.id = k.id)
  per_day:
    query: SELECT day, COUNT(*) AS n FROM final GROUP BY day
"""
CYCLE = """\
pipeline: reach
allow_circular: true
sources: [edges]
stream_tables:
  a: {query: SELECT dst FROM edges UNION SELECT dst FROM b}
  b: {query: SELECT e.dst FROM edges AS e JOIN a ON a.dst = e.src}
"""
DIAMOND = """\
pipeline: diamond
sources: [s]
stream_tables:
  left_arm: {query: SELECT x FROM s WHERE x > 0}
  right_arm: {query: SELECT x FROM s WHERE x < 9}
  both: {query: SELECT x FROM left_arm INTERSECT SELECT x FROM right_arm}
"""
TABLE_SCHEDULE = """\
pipeline: often
schedule: 1h
sources: [s]
stream_tables:
  t: {query: SELECT x FROM s, schedule: 5m}
"""


def test_every_stratum_is_a_task_group_and_tasks_keep_their_names(write: Write) -> None:
    (dag,) = build_dags(write({"layers.yaml": STRATA}), {})

    groups = {name: sorted(group.children) for name, group in dag.task_group.children.items() if name != "pin"}
    assert groups == {"stratum_0": ["kept"], "stratum_1": ["final"], "stratum_2": ["per_day"]}
    assert {task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks} == {
        "pin": [],
        "kept": ["pin"],
        "final": ["kept"],
        "per_day": ["final"],
    }


def test_a_table_may_be_called_like_the_group_of_a_stratum(write: Write) -> None:
    text = STRATA.replace("kept", "stratum_0").replace("final", "stratum_2")
    (dag,) = build_dags(write({"layers.yaml": text}), {})

    groups = {name: sorted(group.children) for name, group in dag.task_group.children.items() if name != "pin"}
    assert groups == {"stratum_0_2": ["stratum_0"], "stratum_1": ["stratum_2"], "stratum_2_2": ["per_day"]}


def test_a_single_stratum_needs_no_task_group(write: Write) -> None:
    text = (
        "pipeline: flat\nsources: [s]\nstream_tables:\n  a: {query: SELECT x FROM s}\n  b: {query: SELECT x FROM a}\n"
    )
    (dag,) = build_dags(write({"flat.yaml": text}), {})

    assert sorted(dag.task_group.children) == ["a", "b", "pin"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            DIAMOND,
            "'left_arm', 'right_arm' and 'both' form a diamond that is to be published in one commit, which this "
            "version cannot do yet. Set diamond_consistency: none to publish its tables one by one.",
        ),
        (
            TABLE_SCHEDULE,
            "stream table 't': its schedule is '5m' and the pipeline's is '1h'; this version cannot run a schedule per "
            "table yet. Leave it out.",
        ),
    ],
)
def test_what_cannot_be_run_yet_is_refused_with_the_reason_beside_the_others(
    write: Write, text: str, reason: str
) -> None:
    folder = write({"shop.yaml": SHOP, "later.yaml": text})

    dags = {dag.dag_id: dag for dag in build_dags(folder, {})}

    assert sorted(dags) == ["shop", "trickle_broken__later"]
    assert reason in str(dags["trickle_broken__later"].doc_md)
    with pytest.raises(DefinitionError, match=r"later\.yaml"):
        build_dags(folder, {}, strict=True)


def test_a_cycle_is_one_task(write: Write) -> None:
    more = (
        "  counted: {query: SELECT COUNT(*) AS n FROM a}\n"
        "  own: {query: SELECT dst FROM own UNION SELECT dst FROM edges}\n"
    )
    (dag,) = build_dags(write({"reach.yaml": CYCLE + more}), {}, strict=True)

    kinds = {task.task_id: type(task).__name__ for task in dag.tasks}
    assert kinds == {
        "pin": "PinOperator",
        "cycle_a": "FixpointOperator",
        "cycle_own": "FixpointOperator",
        "counted": "RefreshOperator",
    }
    cycle = dag.get_task("cycle_a")
    assert [table.name for table in cycle.step.tables] == ["a", "b"]
    assert (sorted(cycle.upstream_task_ids), sorted(cycle.downstream_task_ids)) == (["pin"], ["counted"])
    assert cycle.doc_md is not None
    assert cycle.doc_md.startswith(
        "`a`, `b` read each other: refreshed in passes until one changes nothing, at most 100, and published in one "
        "commit. What each pass changed is the XCom `iterations`.\n\n### `a`\n"
    )
    assert str(dag.get_task("cycle_own").doc_md).startswith("`own` reads itself: refreshed in passes")


def test_a_recursive_query_is_a_task_like_any_other(write: Write) -> None:
    text = (
        "pipeline: r\nsources: [s]\nstream_tables:\n  t:\n    query: WITH RECURSIVE c AS (SELECT x FROM s UNION "
        "SELECT x FROM c) SELECT x FROM c\n"
    )
    (dag,) = build_dags(write({"r.yaml": text}), {}, strict=True)

    assert {task.task_id: type(task).__name__ for task in dag.tasks} == {"pin": "PinOperator", "t": "RefreshOperator"}


def test_a_diamond_that_is_dissolved_is_run_table_by_table(write: Write) -> None:
    (dag,) = build_dags(write({"d.yaml": DIAMOND + "diamond_consistency: none\n"}), {})

    assert sorted(task.task_id for task in dag.tasks) == ["both", "left_arm", "pin", "right_arm"]


def test_a_table_that_is_refreshed_from_changes_only_is_a_task_like_any_other(write: Write) -> None:
    text = "pipeline: d\nsources: [s]\nstream_tables:\n  t: {query: SELECT x FROM s, refresh_mode: DIFFERENTIAL}\n"
    (dag,) = build_dags(write({"d.yaml": text}), {})

    assert sorted(task.task_id for task in dag.tasks) == ["pin", "t"]
