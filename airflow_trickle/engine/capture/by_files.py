"""Capture by files: rows of new files come, those of vanished files go; each file has data files of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyiceberg.manifest import DataFile

from airflow_trickle.engine.capture.columns import SourceColumns, columns_in_files, declared_columns, plain
from airflow_trickle.engine.capture.contents import Contents, contents_of, settled, unchanged
from airflow_trickle.engine.capture.mirror import Mirror, mirror_target
from airflow_trickle.engine.capture.reading import NUMBER, read_listed
from airflow_trickle.engine.capture.state import CaptureState, KnownFile
from airflow_trickle.engine.capture.task import Captured, Prepared, Subject
from airflow_trickle.engine.full import shaped
from airflow_trickle.engine.write import Written
from airflow_trickle.errors import CaptureFailed, UnsupportedTable
from airflow_trickle.lakehouse.columns import spark_schema
from airflow_trickle.lakehouse.commit import Target, data_files
from airflow_trickle.lakehouse.deletes import LiveFile
from airflow_trickle.lakehouse.files import list_tree, spark_path
from airflow_trickle.lakehouse.listing import ListedFile
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.results import Mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def look(subject: Subject) -> FilesTask | None:
    """What is to be done; None if every file is as it was captured. Touches no data."""
    mirror = subject.mirror
    contents = contents_of(subject.lake, subject.step, subject.options)
    known = mirror.state
    if known is not None and contents.columns not in (None, known.columns):
        return _everything(subject, contents, "its columns changed")
    if known is None:
        return _everything(subject, contents, mirror.cause)
    to_read = tuple(
        file
        for path, file in contents.files.items()
        if path not in known.files or known.files[path].identity != file.identity
    )
    gone = frozenset(path for path in known.files if path not in contents.files)
    if not to_read and not gone:
        return None
    if {place for file in known.files.values() for place in file.data} != {mirror.place(path) for path in mirror.held}:
        return _everything(subject, contents, "the record of what was captured does not fit the mirror")
    new = sum(file.path not in known.files for file in to_read)
    counts = ((new, "new"), (len(to_read) - new, "changed"), (len(gone), "gone"))
    reason = ", ".join(f"{_counted(number)} {word}" for number, word in counts if number)
    return FilesTask(subject, contents, to_read, gone, reason)


def _everything(subject: Subject, contents: Contents, reason: str) -> FilesTask:
    """Read all files, and take what the mirror holds away."""
    fresh = replace(subject, mirror=replace(subject.mirror, state=None))
    return FilesTask(fresh, contents, tuple(contents.files.values()), frozenset(), reason)


def _counted(number: int) -> str:
    return f"{number} file" if number == 1 else f"{number} files"


@dataclass(frozen=True)
class FilesTask:
    """Files to read, and files whose rows go; without a known state, all that the mirror holds goes."""

    subject: Subject
    contents: Contents
    to_read: tuple[ListedFile, ...]
    gone: frozenset[str]
    reason: str

    @property
    def size(self) -> int:
        """Bytes of the files that are read."""
        return sum(file.size for file in self.to_read)

    @property
    def needs_spark(self) -> bool:
        """Whether there is anything to read; files that vanished are metadata alone."""
        return bool(self.to_read) or self._mirror.state is None

    @property
    def _mirror(self) -> Mirror:
        return self.subject.mirror

    def prepare(self, session: SparkSession | None) -> Prepared:
        """Find the columns, and wait for files that were written just now."""
        settled(self.subject.lake, self.subject.step, self.to_read)
        found = self._columns(session)
        target = mirror_target(self.subject.lake, self.subject.step, found.described, self._mirror)
        told = None if self.contents.deleted else found.rows
        return Prepared(target, CaptureState(columns=found.described, kinds=found.kinds), told)

    def _columns(self, session: SparkSession | None) -> SourceColumns:
        step, known = self.subject.step, self._mirror.state
        if self.contents.columns is not None:
            return SourceColumns(self.contents.columns, {})
        if known is not None and (step.columns is not None or not self.to_read):
            return SourceColumns(known.columns, known.kinds)
        assert session is not None  # noqa: S101 - it has something to read, or columns to be parsed
        if step.columns is not None:
            return SourceColumns(declared_columns(session, step.columns), {})
        if not self.to_read:
            return SourceColumns(self._columns_of_mirror(), {})
        return columns_in_files(self.subject.lake, session, step, self.to_read, known)

    def _columns_of_mirror(self) -> dict[str, Any]:
        table = self._mirror.table
        if table is None:
            raise UnsupportedTable(
                f"the folder {self.subject.step.path} has no files yet, so its columns are not known. Give them as "
                f"`schema`, such as schema: id BIGINT, name STRING, or run again when there is a file"
            )
        described: dict[str, Any] = plain(spark_schema(table.metadata.schema(), self.subject.step.identifier))
        return described

    def write(self, session: SparkSession | None, prepared: Prepared, staging: Staging) -> Captured:
        """Write the rows of the files to read."""
        target = prepared.target
        added = self._written(session, prepared, staging) if self.to_read else {}
        removed = self._removed()
        known = self._mirror.state.files if self._mirror.state is not None else {}
        kept = {path: file for path, file in known.items() if path not in self.gone}
        location = f"{target.table.metadata.location.rstrip('/')}/"
        for number, file in enumerate(self.to_read):
            places = tuple(sorted(one.file_path.removeprefix(location) for one in added.get(number, ())))
            kept[file.path] = KnownFile(file.identity, places)
        written = Written(tuple(one for files in added.values() for one in files), tuple(removed))
        inserted = sum(file.record_count for file in written.added)
        if prepared.rows not in (None, inserted):
            # Never publish what does not add up, whatever the cause.
            raise CaptureFailed(
                f"the files say that they have {prepared.rows} rows, but {inserted} were read. Please report this"
            )
        return Captured(
            written,
            inserted=inserted,
            deleted=sum(file.record_count for file in removed),
            state=replace(prepared.state, files=kept),
            mode=Mode.FULL if self._mirror.state is None else Mode.DIFFERENTIAL,
            rows_in=inserted,
        )

    def _removed(self) -> list[LiveFile]:
        held, known = self._mirror.held, self._mirror.state
        if known is None:
            return list(held.values())
        changed = {file.path for file in self.to_read} & known.files.keys()
        places = {place for path in (*self.gone, *changed) for place in known.files[path].data}
        return [file for path, file in held.items() if self._mirror.place(path) in places]

    def _written(self, session: SparkSession | None, prepared: Prepared, staging: Staging) -> dict[int, list[DataFile]]:
        """By number of the file that was read: the data files with its rows."""
        assert session is not None  # noqa: S101 - there is something to read
        rows = read_listed(
            session,
            self.subject.step,
            self.subject.options,
            prepared.state.columns,
            self.to_read,
            self.contents.deleted,
        )
        _write_apart(rows, prepared.target, staging)
        found = [path for path in list_tree(prepared.target.table.io, staging.data_folder) if path.endswith(".parquet")]
        by_number: dict[int, list[DataFile]] = {}
        for file in data_files(prepared.target.table, prepared.target.schema, found):
            by_number.setdefault(_number(file.file_path), []).append(file)
        return by_number

    def check(self) -> None:
        """Raises `SourceMoved` if a file that was read is not what it was."""
        unchanged(self.subject.lake, self.subject.step, self.to_read)


def _write_apart(rows: DataFrame, target: Target, staging: Staging) -> None:
    """Write rows so that no data file has rows of two source files; a folder for each of those."""
    from pyspark.sql import functions as F

    # Overwrite: should the client have sent the query twice, its files are there once.
    writer = shaped(rows, target, F.col(NUMBER)).write.mode("overwrite").option("compression", "zstd")
    # The marker file would lie between the data files for ever.
    writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    writer.partitionBy(NUMBER).parquet(spark_path(staging.data_folder))


def _number(path: str) -> int:
    """The number in ``…/__trickle_source=7/part-0.parquet``."""
    folder = path.rsplit("/", 2)[1]
    number = folder.partition("=")[2]
    if not number.isdigit():
        raise CaptureFailed(f"Spark read rows of a file that was not listed ({folder}). Please report this")
    return int(number)
