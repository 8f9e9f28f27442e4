"""Capture of sources that only gain rows: read from the last watermark on.

Rows with the very last watermark are read again and compared, since more of them may have come: so none is lost and
none is taken twice. Rows that come late, with an older watermark, are not seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_trickle.engine.capture.task import Captured, Prepared, Subject
from airflow_trickle.engine.capture.whole import WholeSource, listed, nothing_moved
from airflow_trickle.engine.full import difference, netted, shaped
from airflow_trickle.engine.inputs import read_files
from airflow_trickle.engine.write import Written, write_all, write_difference
from airflow_trickle.engine.zset import WEIGHT, weigh
from airflow_trickle.errors import CaptureFailed, UnsupportedTable
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.columns import same_columns
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.results import Mode

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Types whose order is the same everywhere, and exact.
_ORDERED = ("byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz", "string")


def look(subject: Subject) -> WatermarkTask | None:
    """What is to be done; None if the files of the source tell that nothing changed."""
    contents = listed(subject)
    if nothing_moved(subject, contents):
        return None
    known = subject.mirror.state
    last = known.watermark if known is not None else None
    reason = f"from {subject.step.watermark} {_shown(subject, last)} on" if last is not None else ""
    return WatermarkTask(subject, contents, subject.mirror.cause or reason or "nothing was captured yet")


def _shown(subject: Subject, last: str) -> str:
    known = subject.mirror.state
    if known is None or _type_of(known.columns, subject.step.watermark or "") != "timestamp":
        return last
    from datetime import datetime, timedelta, timezone

    return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=int(last))).isoformat(sep=" ")


def _type_of(columns: dict[str, Any], name: str) -> Any:
    return next((one["type"] for one in columns["fields"] if one["name"].lower() == name.lower()), None)


class WatermarkTask(WholeSource):
    """The rows of a source from the last watermark on; all of them where nothing is known."""

    def prepare(self, session: SparkSession | None) -> Prepared:
        """As for every whole source; the watermark must be one of the columns."""
        prepared = super().prepare(session)
        self._kind(prepared)
        return prepared

    def write(self, session: SparkSession | None, prepared: Prepared, staging: Staging) -> Captured | None:
        """Write the rows that came."""
        assert session is not None  # noqa: S101 - see `needs_spark`
        mirror = self.subject.mirror
        if mirror.lost and self._same_columns(prepared):
            return self._again(session, prepared, staging)
        if mirror.state is None or mirror.state.watermark is None or not self._same_columns(prepared):
            return self._all(session, prepared, staging)
        return self._newer(session, prepared, staging, mirror.state.watermark)

    def _again(self, session: SparkSession, prepared: Prepared, staging: Staging) -> Captured | None:
        """The record is lost: the mirror's own rows tell how far it was. Rows the source dropped since stay."""
        target = prepared.target
        last = self._greatest(read_files(session, target.table, target.schema, self.held), prepared)
        if last is None:
            return self._all(session, prepared, staging)
        found = self._newer(session, prepared, staging, last)
        # With a record again, even if no row came.
        state = replace(prepared.state, watermark=last)
        return found or Captured(Written((), ()), 0, 0, state, Mode.DIFFERENTIAL)

    def _newer(self, session: SparkSession, prepared: Prepared, staging: Staging, last: str) -> Captured | None:
        from pyspark.sql import functions as F

        target, column = prepared.target, F.col(quote(self._name(prepared)))
        bound = self._value(prepared, last)
        rows = shaped(self.rows(session, prepared), target)
        new = rows.where((column >= bound) | column.isNull())
        old = read_files(session, target.table, target.schema, self.held).where(column == bound)
        change = netted(weigh(new, 1).unionAll(weigh(old, -1)))
        if change.deleted:
            raise CaptureFailed(
                f"{change.deleted} rows with {self._name(prepared)} {_shown(self.subject, last)}, which were captured "
                f"before, are not in the source any more, so it is not append-only. Set capture: snapshot"
            )
        if not change.inserted:
            return None
        seen = self._greatest(change.delta, prepared)
        written = write_difference(session, change, target, staging, self.held, self.size)
        state = replace(prepared.state, watermark=seen)
        return Captured(written, change.inserted, 0, state, Mode.DIFFERENTIAL, change.inserted)

    def _all(self, session: SparkSession, prepared: Prepared, staging: Staging) -> Captured | None:
        """Nothing is known: compare all rows."""
        target = prepared.target
        new = shaped(self.rows(session, prepared), target)
        if not self.held:
            written = write_all(new, target, staging, self.size)
            if not written.added and self.subject.mirror.state is not None and self._same_columns(prepared):
                return None
            # Out of the files just written: the source itself may have moved on.
            seen = self._greatest(read_files(session, target.table, target.schema, written.added), prepared)
            state = replace(prepared.state, watermark=seen)
            return Captured(written, written.net_rows, 0, state, Mode.FULL, written.net_rows)
        change = difference(session, new, target, self.held)
        kept = read_files(session, target.table, target.schema, self.held)
        after = weigh(kept, 1).unionAll(change.delta).groupBy(quote(self._name(prepared))).sum(WEIGHT)
        seen = self._greatest(after.where(f"`sum({WEIGHT})` > 0"), prepared)
        state = replace(prepared.state, watermark=seen)
        if not change.inserted and not change.deleted and self._same_columns(prepared):
            return Captured(Written((), ()), 0, 0, state, Mode.FULL)
        written = write_difference(session, change, target, staging, self.held, self.size)
        return Captured(written, change.inserted, change.deleted, state, Mode.FULL)

    def _greatest(self, rows: DataFrame, prepared: Prepared) -> str | None:
        """The greatest watermark of some rows, as text; refuses rows without one."""
        from pyspark.sql import functions as F

        name = self._name(prepared)
        column = F.col(quote(name))
        greatest = F.max(column)
        text = F.unix_micros(greatest) if self._kind(prepared) == "timestamp" else greatest
        found = rows.agg(text.cast("string").alias("last"), F.count(F.when(column.isNull(), 1)).alias("nulls"))
        row = found.collect()[0]
        if row["nulls"]:
            raise CaptureFailed(
                f"there are rows whose {name} is NULL, so it cannot be told which rows are new. Fill the column, take "
                f"another one as `watermark`, or set capture: snapshot"
            )
        return None if row["last"] is None else str(row["last"])

    def _value(self, prepared: Prepared, text: str) -> Column:
        from pyspark.sql import functions as F
        from pyspark.sql.types import LongType

        kind = self._kind(prepared)
        if kind == "timestamp":
            # As a number: as text it would depend on the time zone of the session.
            return F.timestamp_micros(F.lit(int(text)).cast(LongType()))
        return F.lit(text).cast({"integer": "int", "long": "bigint"}.get(kind, kind))

    def _name(self, prepared: Prepared) -> str:
        wanted = (self.subject.step.watermark or "").lower()
        return next((one.name for one in prepared.target.schema.fields if one.name.lower() == wanted), wanted)

    def _kind(self, prepared: Prepared) -> str:
        name = self.subject.step.watermark or ""
        kind = _type_of(prepared.state.columns, name)
        if kind is None:
            known = ", ".join(column["name"] for column in prepared.state.columns["fields"])
            raise UnsupportedTable(f"the watermark '{name}' is none of its columns, which are {known}")
        if not isinstance(kind, str) or not (kind in _ORDERED or kind.startswith("decimal")):
            shown = kind if isinstance(kind, str) else kind.get("type")
            raise UnsupportedTable(
                f"the watermark '{name}' is of type {shown}; it must be a whole number, a decimal, a date, a timestamp "
                f"or a text"
            )
        return kind

    def _same_columns(self, prepared: Prepared) -> bool:
        target = prepared.target
        return not target.is_new and same_columns(target.schema, target.table.metadata.schema())
