"""Every setting that decides what a query means, changed between two ticks: CLI and Airflow, DIFFERENTIAL and FULL.

Without Spark: two connections give a table the same identity only if their sessions read every query alike. On Spark:
the rows after such a change are those of a plain run under the new settings, and the reason names them; settings that
nobody may change do nothing.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle import Mode, Pipeline, TableResult
from airflow_trickle.definition.spark_settings import may_decide_meaning
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.runner import run_tick
from airflow_trickle.spark.conf import set_conf
from airflow_trickle.spark.meaning import FIXED_MEANING, NEVER_SET, digest_of
from airflow_trickle.spark.session import SparkProvider, close, connect
from airflow_trickle.spark.target import SparkTarget, target_from_environment
from airflow_trickle.spark.tuning import session_settings
from tests.airflow_home import import_airflow
from tests.budgets import budget
from tests.engine.world import World, bag

#: Settings that a connection may choose, and that show in the rows below.
CHOSEN = {
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.legacy.castComplexTypesToString.enabled": "true",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.storeAssignmentPolicy": "LEGACY",
    "spark.sql.a.setting.that.nobody.knows": "1",
}
#: Others of those that nobody may change, each with a value that would change the rows below.
NEUTRALISED = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.relationPrecedence": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.variable.substitute": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.groupByAliases": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.legacy.ctePrecedencePolicy": "LEGACY",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}


def test_every_setting_that_nobody_may_change_is_tried() -> None:
    assert NEUTRALISED.keys() == {*FIXED_MEANING, *NEVER_SET}
    assert all(may_decide_meaning(key) for key in (*CHOSEN, *NEUTRALISED))


# --- without Spark -------------------------------------------------------------------------------

_WORDS = st.text("abcdefgABC.", min_size=1, max_size=8)
_KEYS = st.one_of(
    st.sampled_from([*CHOSEN, *NEUTRALISED]),
    st.sampled_from(["spark.sql.shuffle.partitions", "spark.executor.memory", "spark.sql.catalog.prod.password"]),
    st.builds("spark.sql.{}".format, _WORDS),
    # Such as an extension may have, with a name that looks like a secret's.
    st.builds("spark.sql.{}.token".format, _WORDS),
)
_VALUES = st.one_of(st.sampled_from(["true", "false", "UTC", "1"]), st.sampled_from(["jdbc://u:pw@h/x", "s3cret"]))
_CONF = st.dictionaries(_KEYS, _VALUES, max_size=6)


def _read_alike(one: dict[str, str], other: dict[str, str]) -> bool:
    """Whether two sessions have the same value of everything that may decide what a query means."""
    keys = {key for key in (*one, *other) if may_decide_meaning(key)}
    return all(one.get(key) == other.get(key) for key in keys)


@given(_CONF, _CONF)
@budget(4)
def test_one_identity_means_one_reading(one: dict[str, str], other: dict[str, str]) -> None:
    targets = [SparkTarget(conf=tuple(sorted(conf.items()))) for conf in (one, other)]
    meanings = [SparkProvider(target).meaning("4.2.0") for target in targets]
    alike = _read_alike(session_settings(one), session_settings(other))
    assert (digest_of(meanings[0]) == digest_of(meanings[1])) is alike
    assert "s3cret" not in str([value for key, value in meanings[0].items() if "token" in key])
    assert all("pw@h" not in value for value in meanings[0].values())


@given(_CONF)
@budget(0.3)
def test_airflow_and_the_command_line_read_a_connection_alike(conf: dict[str, str]) -> None:
    import_airflow()
    from airflow_trickle.hooks.spark import TrickleSparkHook

    connection = json.dumps({"conn_type": "trickle_spark", "host": "embedded", "extra": {"conf": conf}})
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AIRFLOW_CONN_TRICKLE_SPARK", connection)
        by_airflow = TrickleSparkHook().get_conn()
        by_command = target_from_environment("trickle_spark")
    assert by_airflow == by_command
    assert SparkProvider(by_airflow).meaning("4.2.0") == SparkProvider(by_command).meaning("4.2.0")


# --- on Spark ------------------------------------------------------------------------------------

EVENT = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("n", pa.decimal128(38, 10))])
_SHOWN = {
    "zone": "SELECT CAST(at AS DATE) AS d, count(*) AS n FROM events GROUP BY 1",
    "types": "SELECT typeof(coalesce(id, '1')) AS t, CAST(n * n AS STRING) AS p FROM events",
    "texts": "SELECT CAST(named_struct('i', id) AS STRING) AS s, to_json(named_struct('i', nullif(id, id))) AS j, "
    "size(CAST(NULL AS ARRAY<INT>)) AS z FROM events",
    # What no setting may change.
    "fixed": "SELECT \"id\" AS q, ID AS i, '${spark.app.name}' AS v, 'a\\\\nb' AS e FROM events",
    "instants": "SELECT DISTINCT CAST(at AS TIMESTAMP) AS t FROM events",
    "hidden": "WITH c AS (SELECT 1 AS o) SELECT i.o, count(*) AS n FROM events, "
    "(WITH c AS (SELECT id AS o FROM events) SELECT o FROM c) AS i GROUP BY i.o",
}
TABLES = {f"{name}_differential": query for name, query in _SHOWN.items()}
TABLES |= {f"{name}_full": _SHOWN[name] for name in ("zone", "types", "instants")}
MODES = {name: {"refresh_mode": name.rpartition("_")[2].upper()} for name in TABLES}


def event(number: int, minute: int) -> dict[str, Any]:
    """An instant of the hour in which clocks in Berlin are put back."""
    at = dt.datetime(2026, 10, 24, 23, 30, tzinfo=dt.timezone.utc) + dt.timedelta(minutes=minute)
    return {"id": number, "at": at, "n": Decimal("1.0000000001")}


def by_command_line(world: World) -> dict[str, TableResult]:
    return world.tick()


def by_airflow(world: World) -> dict[str, TableResult]:
    """As the tasks of a DAG open the catalog and Spark."""
    import_airflow()
    from airflow_trickle.hooks.spark import TrickleSparkHook
    from airflow_trickle.operators.submitting import spark_at

    plan = Pipeline.load(world.yaml).plan
    target = TrickleSparkHook(plan.spark_conn_id).get_conn()
    with open_lakehouse(plan.catalog) as lake, spark_at(target, plan.spark_conn_id) as spark:
        return run_tick(lake, plan, spark)


def run_plainly(world: World, conf: dict[str, str]) -> dict[str, Counter[Any]]:
    """What the queries give in a session with some settings."""
    session = connect(SparkTarget())
    try:
        set_conf(session, conf)
        rows = world.outside.load_table("default.events").scan().to_arrow()
        session.createDataFrame(rows).createOrReplaceTempView("events")
        return {name: bag(session.sql(query).toArrow()) for name, query in _SHOWN.items()}
    finally:
        close(session)


def require_right(world: World, wanted: dict[str, Counter[Any]]) -> None:
    for name, query in TABLES.items():
        assert world.rows(name) == wanted[name.rpartition("_")[0]], (name, query)


@pytest.mark.parametrize("tick", [by_command_line, by_airflow])
def test_rows_follow_the_settings_that_decide_meaning(
    world: World, monkeypatch: pytest.MonkeyPatch, tick: Callable[[World], dict[str, TableResult]]
) -> None:
    def use(conf: dict[str, str]) -> None:
        connection = {"conn_type": "trickle_spark", "host": "embedded", "extra": {"conf": conf}}
        monkeypatch.setenv("AIRFLOW_CONN_TRICKLE_SPARK", json.dumps(connection))

    world.source("events", EVENT, [event(1, 0), event(2, 10)])
    world.define(TABLES, **MODES)
    tick(world)
    before = run_plainly(world, {})
    require_right(world, before)

    use(CHOSEN)
    wanted = run_plainly(world, CHOSEN)
    assert {name for name in _SHOWN if wanted[name] != before[name]} == {"zone", "types", "texts"}, "settings that show"
    for name, result in tick(world).items():
        assert result.mode is Mode.FULL
        assert all(f"{key} was" in result.reason for key in CHOSEN), (name, result.reason)
    require_right(world, wanted)

    use({**CHOSEN, **NEUTRALISED, "spark.sql.shuffle.partitions": "3"})
    assert {result.mode for result in tick(world).values()} == {Mode.NO_DATA}
    # The same time on the clock in Berlin as the first.
    world.append("events", event(3, 60), event(4, 100))
    modes = {name: result.mode for name, result in tick(world).items()}
    assert modes == {name: Mode[MODES[name]["refresh_mode"]] for name in TABLES}
    require_right(world, run_plainly(world, CHOSEN))
