"""Capture by snapshot: read all, and publish how it differs from the mirror as a bag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_trickle.engine.capture.task import Captured, Prepared, Subject
from airflow_trickle.engine.capture.whole import WholeSource, listed, nothing_moved
from airflow_trickle.engine.full import difference, shaped
from airflow_trickle.engine.write import Written, write_all, write_difference
from airflow_trickle.lakehouse.columns import same_columns
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.results import Mode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def look(subject: Subject) -> SnapshotTask | None:
    """What is to be done; None if the files of the source tell that nothing changed."""
    contents = listed(subject)
    if nothing_moved(subject, contents):
        return None
    return SnapshotTask(subject, contents, subject.mirror.cause or "compared row by row")


class SnapshotTask(WholeSource):
    """All rows, to be compared with all rows of the mirror."""

    def write(self, session: SparkSession | None, prepared: Prepared, staging: Staging) -> Captured | None:
        """Write the difference, if there is one."""
        assert session is not None  # noqa: S101 - see `needs_spark`
        target, mirror = prepared.target, self.subject.mirror
        new = shaped(self.rows(session, prepared), target)
        if not self.held:
            written = write_all(new, target, staging, self.size)
            if mirror.state is not None and not written.added and self._same_columns(prepared):
                return None
            return Captured(written, written.net_rows, 0, prepared.state, Mode.FULL, written.net_rows)
        change = difference(session, new, target, self.held)
        if not change.inserted and not change.deleted and self._same_columns(prepared):
            if mirror.state is not None:
                return None
            # Only the record is new: how the source is read from now on.
            return Captured(Written((), ()), 0, 0, prepared.state, Mode.FULL)
        written = write_difference(session, change, target, staging, self.held, self.size)
        return Captured(written, change.inserted, change.deleted, prepared.state, Mode.FULL)

    def _same_columns(self, prepared: Prepared) -> bool:
        target = prepared.target
        return not target.is_new and same_columns(target.schema, target.table.metadata.schema())
