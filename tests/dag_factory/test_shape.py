"""Strata, groups and cycles in the DAG's shape."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, DeltaDataIntervalTimetable, TaskGroup

from airflow_trickle.dag_factory import build_dags

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


def children(dag: DAG) -> dict[str, list[str]]:
    """The task groups of a DAG, and what is in them."""
    every = dag.task_group.children.items()
    return {name: sorted(group.children) for name, group in every if isinstance(group, TaskGroup)}


def test_every_stratum_is_a_task_group_and_tasks_keep_their_names(write: Write) -> None:
    (dag,) = build_dags(write({"layers.yaml": STRATA}), {})

    groups = {
        name: sorted(group.children) for name, group in dag.task_group.children.items() if hasattr(group, "children")
    }
    assert groups == {
        "stratum_0": ["kept"],
        "stratum_1": ["final", "skip_stratum_1"],
        "stratum_2": ["per_day", "skip_stratum_2"],
    }
    assert {task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks} == {
        "pin": [],
        "kept": ["pin"],
        "skip_stratum_1": ["kept"],
        "final": ["kept", "skip_stratum_1"],
        "skip_stratum_2": ["final"],
        "per_day": ["final", "skip_stratum_2"],
        # What was skipped must not hide what failed.
        "all_refreshed": ["final", "kept", "per_day"],
    }


def test_strata_are_not_looked_at_as_a_whole_if_that_is_turned_off(write: Write) -> None:
    (dag,) = build_dags(write({"layers.yaml": STRATA + "enable_stratum_skip: false\n"}), {}, strict=True)

    assert sorted(task.task_id for task in dag.tasks) == ["final", "kept", "per_day", "pin"]
    assert not dag.get_task("pin").looks


def test_a_table_may_be_called_like_the_group_of_a_stratum(write: Write) -> None:
    text = STRATA.replace("kept", "stratum_0").replace("final", "stratum_2")
    (dag,) = build_dags(write({"layers.yaml": text}), {})

    groups = {
        name: sorted(group.children) for name, group in dag.task_group.children.items() if hasattr(group, "children")
    }
    assert groups == {
        "stratum_0_2": ["stratum_0"],
        "stratum_1": ["skip_stratum_1", "stratum_2"],
        "stratum_2_2": ["per_day", "skip_stratum_2"],
    }


def test_a_single_stratum_needs_no_task_group(write: Write) -> None:
    text = (
        "pipeline: flat\nsources: [s]\nstream_tables:\n  a: {query: SELECT x FROM s}\n  b: {query: SELECT x FROM a}\n"
    )
    (dag,) = build_dags(write({"flat.yaml": text}), {})

    assert sorted(dag.task_group.children) == ["a", "b", "pin"]


def test_an_atomic_diamond_is_a_task_group_from_begin_to_cleanup(write: Write) -> None:
    (dag,) = build_dags(write({"d.yaml": DIAMOND + "  after: {query: SELECT x FROM both}\n"}), {}, strict=True)

    assert sorted(dag.task_group.children) == ["after", "group_both", "pin"]
    assert {task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks} == {
        "pin": [],
        "group_both.begin": ["pin"],
        "left_arm": ["group_both.begin"],
        "right_arm": ["group_both.begin"],
        "both": ["left_arm", "right_arm"],
        "group_both.commit": ["both", "left_arm", "right_arm"],
        "group_both.cleanup": ["both", "group_both.begin", "group_both.commit", "left_arm", "right_arm"],
        "after": ["group_both.commit"],
    }
    assert dag.get_task("group_both.begin").is_setup
    assert dag.get_task("group_both.cleanup").is_teardown
    rules = {task.task_id: task.trigger_rule.value for task in dag.tasks}
    assert rules["group_both.commit"] == "none_failed_min_one_success"
    assert rules["group_both.cleanup"] == "all_done_setup_success"
    assert {rules[name] for name in ("both", "after")} == {"none_failed"}
    dag.validate_setup_teardown()


def test_only_the_commit_of_a_group_updates_its_assets(write: Write) -> None:
    (dag,) = build_dags(write({"d.yaml": DIAMOND}), {}, strict=True)

    outlets = {task.task_id: sorted(asset.uri for asset in task.outlets) for task in dag.tasks if task.outlets}
    assert outlets == {
        "group_both.commit": [f"iceberg://trickle/default/{n}" for n in ("both", "left_arm", "right_arm")]
    }
    assert [asset.uri for asset in dag.get_task("left_arm").inlets] == ["iceberg://trickle/default/s"]


def test_a_pipeline_ticks_at_the_fastest_schedule_of_its_tables(write: Write) -> None:
    (dag,) = build_dags(write({"often.yaml": TABLE_SCHEDULE + "  u: {query: SELECT x FROM s}\n"}), {}, strict=True)

    assert dag.timetable == DeltaDataIntervalTimetable(timedelta(minutes=5))
    assert dag.get_task("pin").step.schedules == {"default.u": "1h"}


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
        "skip_stratum_1": "StratumSkipSensor",
        "all_refreshed": "EmptyOperator",
        "counted": "RefreshOperator",
    }
    cycle = dag.get_task("cycle_a")
    assert [table.name for table in cycle.step.tables] == ["a", "b"]
    assert (sorted(cycle.upstream_task_ids), sorted(cycle.downstream_task_ids)) == (
        ["pin"],
        ["all_refreshed", "counted", "skip_stratum_1"],
    )
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
    """Design 004 Step 7: test_diamond_none_mode_no_groups"""
    (dag,) = build_dags(write({"d.yaml": DIAMOND + "diamond_consistency: none\n"}), {})

    assert sorted(task.task_id for task in dag.tasks) == ["all_refreshed", "both", "left_arm", "pin", "right_arm"]
    # An arm that fails holds nothing up, and still fails the run.
    assert dag.get_task("both").trigger_rule == "all_done"
    assert sorted(dag.get_task("all_refreshed").upstream_task_ids) == ["both", "left_arm", "right_arm"]


def test_what_is_no_arm_of_a_dissolved_diamond_is_needed(write: Write) -> None:
    text = DIAMOND.replace(
        "INTERSECT SELECT x FROM right_arm", "INTERSECT SELECT x FROM right_arm UNION SELECT y FROM own"
    )
    text = text.replace("sources: [s]", "sources: [s, r]") + "  own: {query: SELECT y FROM r}\n"
    (dag,) = build_dags(write({"d.yaml": text + "diamond_consistency: none\n"}), {})

    both = dag.get_task("both")
    assert (both.trigger_rule, both.needs) == ("all_done", ("own",))


def test_a_table_that_is_refreshed_from_changes_only_is_a_task_like_any_other(write: Write) -> None:
    text = "pipeline: d\nsources: [s]\nstream_tables:\n  t: {query: SELECT x FROM s, refresh_mode: DIFFERENTIAL}\n"
    (dag,) = build_dags(write({"d.yaml": text}), {})

    assert sorted(task.task_id for task in dag.tasks) == ["pin", "t"]
