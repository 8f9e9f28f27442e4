"""Faults of DAGs, operators, sensors, hooks, notifications, the command line and Spark's settings."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_DAGS = Room("dag factory", "airflow_trickle", tests=("tests/dag_factory",))
_OPERATORS = Room(
    "operators",
    "airflow_trickle/operators",
    tests=("tests/operators/test_pin_operator.py", "tests/operators/test_group_operators.py"),
    slow=("tests/operators/test_refresh_operator.py", "tests/e2e/test_orchestration.py"),
)
_SENSORS = Room(
    "sensors",
    "airflow_trickle/sensors",
    tests=("tests/dag_factory", "tests/operators/test_pin_operator.py"),
    slow=("tests/e2e/test_orchestration.py",),
)

ORCHESTRATION: tuple[Fault, ...] = (
    _DAGS.fault(
        "tasks-do-not-wait-for-what-they-read",
        "the task of a unit waits for the pin only, not for the units that it reads",
        "dag_tasks.py",
        "_after(unit.first, [units[name].last for name in step.upstream] or [pin])",
        "_after(unit.first, [pin])",
    ),
    _DAGS.fault(
        "stratum-looks-before-it-can-know",
        "a stratum's sensor does not wait for the strata below",
        "dag_tasks.py",
        "_after(sensors[layer], below or [pin])",
        "_after(sensors[layer], [pin])",
    ),
    _DAGS.fault(
        "group-commits-after-a-failure",
        "the commit of a group runs although a member failed",
        "dag_tasks.py",
        '"trigger_rule": TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS',
        '"trigger_rule": TriggerRule.ALL_DONE',
    ),
    _DAGS.fault(
        "group-cleans-up-under-its-members",
        "the cleanup of a group does not wait for its members",
        "dag_tasks.py",
        "_after(cleanup, [*stages.values(), commit])",
        "_after(cleanup, [commit])",
    ),
    _DAGS.fault(
        "ticks-run-side-by-side",
        "several ticks of a pipeline run at the same time",
        "dag_factory.py",
        "published.\n        max_active_runs=1,",
        "published.\n        max_active_runs=16,",
    ),
    _OPERATORS.fault(
        "backfill-reads-the-start-of-its-interval",
        "a scheduled run reads the sources as they were at the start of its interval",
        "pin.py",
        'context.get("data_interval_end")',
        'context.get("data_interval_start")',
        slow=("tests/e2e/test_backfill.py",),
    ),
    _OPERATORS.fault(
        "half-idle-unit-shows-as-skipped",
        "a task shows as skipped when one of its tables had nothing to do",
        "skipping.py",
        "if all(result.mode in (Mode.NO_DATA, Mode.SKIPPED) for result in results):",
        "if any(result.mode in (Mode.NO_DATA, Mode.SKIPPED) for result in results):",
        slow=("tests/operators/test_fixpoint_operator.py",),
    ),
    _OPERATORS.fault(
        "every-asset-is-updated",
        "a task updates the assets of tables that did not change",
        "base.py",
        "for result in results if result.changed and result.table in self.assets}",
        "for result in results if result.table in self.assets}",
    ),
    _OPERATORS.fault(
        "retried-group-forgets-its-assets",
        "a group that an earlier attempt published is passed over, so its assets are never updated",
        "group.py",
        "if results is None or any(result.changed for result in results):",
        "if results is None:",
    ),
    _SENSORS.fault(
        "failed-upstream-is-passed-over",
        "a table that reads a failed one shows as skipped",
        "stratum.py",
        "        look = replace(look, failed=self._failed(context))\n",
        "",
    ),
    Fault(
        "unknown-connection-runs-embedded",
        "a misspelt Spark connection brings the job onto the worker itself",
        "hooks",
        "airflow_trickle/hooks/spark.py",
        "if self.spark_conn_id == self.default_conn_name:",
        "if self.spark_conn_id:",
        ("tests/hooks",),
    ),
    Fault(
        "every-failure-alerts",
        "the callback for cycles that do not settle is called for other failures too",
        "notifications",
        "airflow_trickle/notifications/non_convergence.py",
        "        if details is not None:\n            self.callback(",
        "        if context:\n            self.callback(",
        ("tests/notifications", "tests/test_alerts.py"),
    ),
    Fault(
        "preloads-in-every-process",
        "the modules of tasks are loaded ahead although preload is false",
        "plugin",
        "airflow_trickle/plugin/preloading.py",
        'if method != "fork" or not _wanted():',
        'if method != "fork":',
        ("tests/plugin",),
    ),
    Fault(
        "verify-succeeds-on-a-difference",
        "trickle verify exits with 0 although a table differs",
        "cli",
        "airflow_trickle/cli/verifying.py",
        "    if not ok:\n        raise typer.Exit(1)",
        "    if not ok:\n        raise typer.Exit(0)",
        ("tests/cli/test_verifying.py",),
    ),
    Fault(
        "user-settings-of-spark-ignored",
        "the user's own settings of the embedded server do not count",
        "spark",
        "airflow_trickle/spark/tuning.py",
        "        **user,\n        **_SERVER_FIXED,\n",
        "        **_SERVER_FIXED,\n",
        ("tests/spark/test_tuning.py",),
        ("tests/spark/test_embedded.py",),
    ),
)
