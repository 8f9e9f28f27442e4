"""What a table may ask of its task in Airflow and of its session in Spark."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from airflow_trickle.definition.maintenance import LEAST_ORPHAN_AGE
from airflow_trickle.definition.schedules import parse_duration
from airflow_trickle.definition.source_options import looks_secret
from airflow_trickle.definition.spark_settings import is_performance
from airflow_trickle.definition.values import must, refuse

_SETTING = re.compile(r"spark\.[A-Za-z0-9_.\-]+")


def _whole(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    must("a whole number of at least 0")


def _duration(value: Any) -> float:
    try:
        return parse_duration(value if isinstance(value, str) else "").total_seconds()
    except ValueError:
        must("a duration such as 30s, 5m or 1h30m")


def _orphan_age(value: Any) -> float:
    seconds = _duration(value)
    if seconds < LEAST_ORPHAN_AGE:
        refuse(
            f"files that nobody names are kept for a day at least, not {value}: a slow refresh may be about to publish "
            f"them.",
            "Give 1d or more.",
        )
    return seconds


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        must("a mapping")
    return value


def _spark_conf(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        must("a mapping of settings of Spark, such as {spark.sql.shuffle.partitions: 64}")
    return {_setting(key): _setting_text(key, item) for key, item in value.items()}


def _setting(key: Any) -> str:
    if not isinstance(key, str) or not _SETTING.fullmatch(key):
        refuse(f"'{key}' is no setting of Spark.", "Their names begin with spark.")
    if not is_performance(key):
        refuse(
            f"the setting '{key}' cannot be given for one table: only settings that change how fast a query runs can, "
            f"such as spark.sql.shuffle.partitions; this one may decide what rows are, or belongs to the server.",
            "Leave it out, or set it for all tables in the connection's `conf`.",
        )
    return key


def _setting_text(key: str, item: Any) -> str:
    if not isinstance(item, (bool, str, int, float)):
        refuse(f"the setting '{key}' must be a text, a number or a truth value.", "Put it in quotes.")
    text = str(item).lower() if isinstance(item, bool) else str(item)
    if looks_secret(key, text):
        # The value itself is not shown: messages end up in logs.
        refuse(f"the setting '{key}' holds a secret in plain text.", "Set it in the connection's `conf`.")
    return text


Whole = Annotated[int, BeforeValidator(_whole), WithJsonSchema({"type": "integer", "minimum": 0})]
Duration = Annotated[
    float, BeforeValidator(_duration), WithJsonSchema({"type": "string", "pattern": r"^(\d+[dhms])+$"})
]
OrphanAge = Annotated[
    float, BeforeValidator(_orphan_age), WithJsonSchema({"type": "string", "pattern": r"^(\d+[dhms])+$"})
]
Mapping = Annotated[dict[str, Any], BeforeValidator(_mapping), WithJsonSchema({"type": "object"})]
SparkConf = Annotated[
    dict[str, str],
    BeforeValidator(_spark_conf),
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"pattern": r"^spark\."},
            "additionalProperties": {"type": ["string", "number", "boolean"]},
        }
    ),
]
