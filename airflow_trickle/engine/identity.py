"""Makes the settings that decide what a query means part of a stream table's identity.

A table's ``definition`` is ``<query>.<partitions>@<settings>``: rows that were computed under other settings, or on
another Spark, are rows of another table, and are never mixed with new ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.state import read_status
from airflow_trickle.plan.steps import RefreshStep, TableStep
from airflow_trickle.spark.meaning import SPARK_VERSION, digest_of
from airflow_trickle.spark.session import SparkProvider

#: The version of a Spark that nobody has asked yet, of a table that has no rows yet.
_UNKNOWN = "unknown"


class StaleIdentity(Exception):
    """Spark turned out to be of another version than was assumed; identify the step again."""


def identified(lake: Lakehouse, step: RefreshStep, spark: SparkProvider) -> RefreshStep:
    """The unit with the settings it is refreshed under as part of its tables' definitions.

    The version of a Spark that was not connected to yet is taken to be the one that a table was refreshed on last:
    so a tick with nothing to do needs no connection. `require_identity` looks again once there is one.
    """
    version = spark.version
    assumed = {} if version is not None else _last_versions(lake, step)
    tables = [
        _identified(table, spark.meaning(version or assumed.get(table.identifier, _UNKNOWN))) for table in step.tables
    ]
    # Not a copy, which would keep the parts that a group was taken apart into before.
    return RefreshStep.model_construct(**{**dict(step), "tables": tuple(tables)})


def _identified(table: TableStep, meaning: Mapping[str, str]) -> TableStep:
    definition = f"{query_of(table.definition)}@{digest_of(meaning)}"
    return table.model_copy(update={"definition": definition, "settings": dict(meaning)})


def _last_versions(lake: Lakehouse, step: RefreshStep) -> dict[str, str]:
    known = read_status(lake, [table.identifier for table in step.tables])
    settings = {name: json.loads(status.settings) for name, status in known.items() if status.settings}
    return {name: one[SPARK_VERSION] for name, one in settings.items()}


def require_identity(step: TableStep, spark: SparkProvider) -> None:
    """Raises `StaleIdentity` if the connected Spark is not of the version that the step was identified with."""
    if step.settings and spark.version is not None and spark.meaning(spark.version) != step.settings:
        raise StaleIdentity(step.identifier)


def query_of(definition: str) -> str:
    """The part of a definition that the pipeline alone decides: the query and the partitions."""
    return definition.partition("@")[0]


def settings_cause(published: str | None, now: Mapping[str, str]) -> str:
    """Why rows that were published under some settings, as JSON, are computed anew under others."""
    if published is None:
        return "the settings of Spark that its rows were computed under are not known"
    before: dict[str, str] = json.loads(published)
    changed = [
        f"{key} was {before.get(key, 'not set')}, is {now.get(key, 'not set')}"
        for key in sorted({**before, **now})
        if before.get(key) != now.get(key)
    ]
    return f"settings that decide what its query means changed: {', '.join(changed)}"


def causes_ahead(lake: Lakehouse, steps: Iterable[RefreshStep], spark: SparkProvider) -> dict[str, str]:
    """By name of a table: why its next refresh is full, if settings that decide what its query means differ by then.

    Nobody connects to Spark: of one whose version is not known, that of each table's last refresh is assumed.
    """
    found: dict[str, str] = {}
    for step in steps:
        tables = identified(lake, step, spark).tables
        known = read_status(lake, [table.identifier for table in tables])
        for table in tables:
            status = known.get(table.identifier)
            if status is None or status.frontier is None or status.definition is None:
                continue
            before = query_of(status.definition)
            if before == query_of(table.definition) and status.definition != table.definition:
                found[table.name] = settings_cause(status.settings, table.settings)
    return found


def versions_of(lake: Lakehouse, steps: Iterable[RefreshStep]) -> tuple[str, ...]:
    """The versions of Spark on which the tables of some units were published."""
    return tuple(sorted({version for step in steps for version in _last_versions(lake, step).values()}))
