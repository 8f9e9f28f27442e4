"""All rows of a source at one moment, for captures that compare rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_trickle.engine.capture.columns import SourceColumns, columns_in_files, declared_columns, plain
from airflow_trickle.engine.capture.contents import Contents, contents_of, has_files, settled, unchanged
from airflow_trickle.engine.capture.mirror import mirror_target
from airflow_trickle.engine.capture.reading import NUMBER, read_listed, read_whole
from airflow_trickle.engine.capture.state import CaptureState
from airflow_trickle.engine.capture.task import Prepared, Subject
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.deletes import LiveFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def nothing_moved(subject: Subject, contents: Contents | None) -> bool:
    """Whether the files of a source tell that nothing can have changed."""
    known = subject.mirror.state
    return known is not None and contents is not None and known.fingerprint == contents.fingerprint


def listed(subject: Subject) -> Contents | None:
    """The files of a source, where they can be listed."""
    return contents_of(subject.lake, subject.step, subject.options) if has_files(subject.step) else None


@dataclass(frozen=True)
class WholeSource:
    """A source that is read as a whole."""

    subject: Subject
    contents: Contents | None
    reason: str

    @property
    def needs_spark(self) -> bool:
        """Always: only the rows can tell."""
        return True

    @property
    def size(self) -> int:
        """Bytes of the source, where they are known, and of the mirror."""
        files = self.contents.files.values() if self.contents is not None else ()
        return sum(file.size for file in files) + sum(file.file_size_in_bytes for file in self.held)

    @cached_property
    def held(self) -> list[LiveFile]:
        """The data files of the mirror."""
        return list(self.subject.mirror.held.values())

    def prepare(self, session: SparkSession | None) -> Prepared:
        """Find the columns, and wait for files that were written just now."""
        assert session is not None  # noqa: S101 - see `needs_spark`
        if self.contents is not None:
            settled(self.subject.lake, self.subject.step, self.contents.files.values())
        found = self._columns(session)
        target = mirror_target(self.subject.lake, self.subject.step, found.described, self.subject.mirror)
        fingerprint = self.contents.fingerprint if self.contents is not None else None
        return Prepared(target, CaptureState(found.described, found.kinds, fingerprint=fingerprint))

    def _columns(self, session: SparkSession) -> SourceColumns:
        step, contents = self.subject.step, self.contents
        if step.columns is not None:
            return SourceColumns(declared_columns(session, step.columns), {})
        if contents is None:
            described = read_whole(session, step, self.subject.options, None).schema.jsonValue()
            return SourceColumns(plain(described), {})
        if not contents.files:
            raise UnsupportedTable(
                f"the folder {step.path} has no files, so its columns are not known. Give them as `schema`, such as "
                f"schema: id BIGINT, name STRING"
            )
        return columns_in_files(
            self.subject.lake, session, step, tuple(contents.files.values()), self.subject.mirror.state
        )

    def rows(self, session: SparkSession, prepared: Prepared) -> DataFrame:
        """All rows, not read yet."""
        step, options = self.subject.step, self.subject.options
        columns = prepared.state.columns
        if self.contents is None:
            return read_whole(session, step, options, columns if step.columns is not None else None)
        files = tuple(self.contents.files.values())
        return read_listed(session, step, options, columns, files, self.contents.deleted).drop(NUMBER)

    def check(self) -> None:
        """Raises `SourceMoved` if a listed file is not what it was."""
        if self.contents is not None:
            unchanged(self.subject.lake, self.subject.step, self.contents.files.values())
