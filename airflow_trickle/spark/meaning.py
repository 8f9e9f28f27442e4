"""The settings that decide what a query means: fixed by us, or chosen by the connection, never the server's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from airflow_trickle.definition.spark_settings import may_decide_meaning

#: Settings that decide what a query means, and that nobody may change: our reading of a query relies on them.
FIXED_MEANING: Mapping[str, str] = {
    "spark.sql.caseSensitive": "false",
    # `FROM a, b JOIN c` joins from left to right; the rules of change read it so.
    "spark.sql.ansi.relationPrecedence": "false",
    # "x" is a string, and `${…}` is text: else the same query would be another one on another machine.
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.groupByAliases": "true",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    # A CTE hides those of its name around it.
    "spark.sql.legacy.ctePrecedencePolicy": "CORRECTED",
    # TIMESTAMP in our own texts is an instant; as a local time, two of them would be one when a clock is put back.
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
}

#: Settings that decide what a query means, and that a connection may choose, with what holds if it does not.
CHOSEN_MEANING: Mapping[str, str] = {
    # One meaning of a timestamp's text, whatever the time zone of the machine.
    "spark.sql.session.timeZone": "UTC",
    # An overflow or a bad cast fails; a wrong number is never published.
    "spark.sql.ansi.enabled": "true",
}

#: Settings that nobody may change and that Spark warns of, even if they are set to what holds anyway.
NEVER_SET = frozenset({"spark.sql.parser.escapedStringLiterals"})

#: The key under which the version of Spark stands among the settings.
SPARK_VERSION = "spark version"


def meaning_of(chosen: Mapping[str, str], version: str) -> dict[str, str]:
    """All that decides what a query means on a Spark of a version, with what a connection has chosen.

    >>> meaning_of({}, "4.2.1")
    {'spark version': '4.2', 'spark.sql.ansi.enabled': 'true', 'spark.sql.session.timeZone': 'UTC'}
    """
    major_minor = ".".join(version.split(".")[:2])
    return dict(sorted({**CHOSEN_MEANING, **chosen, SPARK_VERSION: major_minor}.items()))


def digest_of(meaning: Mapping[str, str]) -> str:
    """A fingerprint of a meaning, as 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(dict(meaning), sort_keys=True).encode()).hexdigest()[:16]


def is_foreign(key: str, ours: Mapping[str, str]) -> bool:
    """Whether a setting that a server has of its own could change what our queries mean."""
    return may_decide_meaning(key) and key not in ours
