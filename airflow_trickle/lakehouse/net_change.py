"""Nets rewritten data files in the worker process: rows that were only copied from file to file cancel out.

Copy-on-write replaces whole files to change a few of their rows. Rows are added up by content, so whatever a writer did
to their order or to the files, the result is the net change. Writers mostly keep the order of rows, which is why both
sides are read side by side, and only rows without a match so far are held.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
from cachetools import LRUCache
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from airflow_trickle.lakehouse.changes import FileChanges, certainly_no_change
from airflow_trickle.lakehouse.deletes import LiveFile, deletes_of, scope_of, total_rows, total_size
from airflow_trickle.lakehouse.file_rows import Columns, FileRows, NotHere, require_modern
from airflow_trickle.lakehouse.lost_rows import LostRows, split
from airflow_trickle.tuning import tuning

#: While both sides are read, so many batches without a match are held beyond the rows that the result may have.
_AHEAD = 16
#: To tell which file became which takes a comparison of all pairs.
_MOST_PAIRS = 10_000
_WEIGHT, _REMOVED, _ADDED = "weight", "removed", "added"


@dataclass(frozen=True)
class NetChange:
    """The rows that came and went between two states of a table: each row once, with how often.

    Attributes:
        rows: The columns of the table.
        weights: How often a row came (> 0) or went (< 0).
        bytes_read: The bytes of the files that were read for it; 0 where it was known already.
    """

    rows: pa.Table
    weights: pa.Array
    bytes_read: int = 0

    @property
    def count(self) -> int:
        """How many rows came and went, each as often as it did."""
        return int(pc.sum(pc.abs(self.weights)).as_py() or 0)

    @property
    def only_grew(self) -> bool:
        """Whether rows came, and none went."""
        return not pc.any(pc.less(self.weights, 0)).as_py()

    @property
    def nbytes(self) -> int:
        """What it takes in memory."""
        return int(self.rows.nbytes + self.weights.nbytes)


def net_change(
    table: Table, changes: FileChanges, lost: Sequence[LostRows], schema: Schema, *, most_bytes: int
) -> NetChange | None:
    """The net change of a table between two states; None if it has to be left to Spark.

    It is computed once for all tables that read the same change in this process.

    Args:
        table: The table.
        changes: The files that came and went.
        lost: The rows that went from files that stay.
        schema: The columns to read.
        most_bytes: So many bytes of data files are read at most, unless the change is known already.
    """
    key = _key_of(table, changes, lost, schema)
    known = _KNOWN.get(key)
    if known is not None:
        return known.change
    size = changes.size + total_size(one.file for one in lost)
    if size > most_bytes:
        return None
    try:
        found = _netted(table, changes, lost, schema, size)
    except (NotHere, pa.ArrowException):
        found = None
    _KNOWN.put(key, found)
    return found


def same_rows(table: Table, changes: FileChanges, schema: Schema) -> bool:
    """True only when small changed files hold, as a bag, the same rows; what was read to tell is kept for others."""
    counts = [total_rows(changes.added), total_rows(changes.removed)]
    if None in counts or counts[0] == counts[1]:
        limits = tuning()
        small = changes.rows <= limits.arrow_compare_rows and not changes.nothing
        found = None
        if small:
            rest, lost = split(table, changes)
            found = net_change(table, rest, lost, schema, most_bytes=limits.arrow_compare_bytes)
        if found is not None:
            return found.count == 0
    return certainly_no_change(table, changes, schema)


def _netted(table: Table, changes: FileChanges, lost: Sequence[LostRows], schema: Schema, size: int) -> NetChange:
    columns = Columns.of(table, schema)
    removed, added = paired(changes.removed, changes.added)
    gone = [FileRows.alive(table.io, file) for file in removed]
    came = [FileRows.alive(table.io, file) for file in added]
    gone += [FileRows(one.file, only=one.rows) for one in lost]
    most = tuning().arrow_change_rows
    if abs(sum(one.count for one in came) - sum(one.count for one in gone)) > most:
        raise NotHere("too many rows for certain")
    netting = _Netting(columns, _Side(table.io, gone, columns, -1), _Side(table.io, came, columns, 1), most)
    rows = netting.run()
    weights = rows[_WEIGHT].combine_chunks()
    found = NetChange(columns.named(rows), weights, size)
    if found.count > most or found.nbytes > tuning().arrow_change_bytes:
        raise NotHere("too many rows")
    require_modern(found.rows)
    return found


def paired(removed: Sequence[DataFile], added: Sequence[DataFile]) -> tuple[tuple[DataFile, ...], tuple[DataFile, ...]]:
    """Both sides in such an order that a file and what it was rewritten to are read at about the same time.

    A rewritten file is in the partition of the old one and keeps most of its bounds. Only memory depends on it.
    """
    # Files that were rewritten to one come in the order in which they were written.
    removed = sorted(removed, key=lambda file: (file.sequence if isinstance(file, LiveFile) else 0, file.file_path))
    if len(removed) * len(added) > _MOST_PAIRS or len(removed) < 2:
        return tuple(removed), tuple(added)
    bounds = [_marks(file) for file in removed]

    def place(file: DataFile) -> int:
        marks = _marks(file)
        near = [
            (scope_of(old) == scope_of(file), len(own & marks), -abs(old.record_count - file.record_count), -at)
            for at, (old, own) in enumerate(zip(removed, bounds, strict=True))
        ]
        return -max(near)[-1]

    return tuple(removed), tuple(sorted(added, key=lambda file: (place(file), file.file_path)))


def _marks(file: DataFile) -> set[tuple[str, int, object]]:
    return {
        *(("low", number, value) for number, value in (file.lower_bounds or {}).items()),
        *(("high", number, value) for number, value in (file.upper_bounds or {}).items()),
        *(("nulls", number, value) for number, value in (file.null_value_counts or {}).items()),
    }


class _Side:
    """The rows of the removed or the added files, read a few at a time, with their weight and their number."""

    def __init__(self, io: FileIO, parts: Iterable[FileRows], columns: Columns, weight: int) -> None:
        parts = list(parts)
        self.left = sum(one.count for one in parts)
        self.ended = not parts
        self._rows = chain.from_iterable(one.read(io, columns) for one in parts)
        self._weight = weight
        self._read = 0

    def read(self, least: int) -> Iterator[pa.Table]:
        """The next rows, at least so many, if there are more."""
        start = self._read
        while self._read == start or self._read - start < least:
            rows = next(self._rows, None)
            if rows is None:
                self.ended, self.left = True, 0
                return
            yield self._marked(rows)

    def _marked(self, rows: pa.Table) -> pa.Table:
        count = len(rows)
        numbers = pa.array(range(self._read, self._read + count), pa.int64())
        nothing = pa.nulls(count, pa.int64())
        self._read, self.left = self._read + count, max(0, self.left - count)
        own, other = (_REMOVED, _ADDED) if self._weight < 0 else (_ADDED, _REMOVED)
        rows = rows.append_column(_WEIGHT, pa.array([self._weight] * count, pa.int64()))
        places = {own: numbers, other: nothing}
        return rows.append_column(_REMOVED, places[_REMOVED]).append_column(_ADDED, places[_ADDED])


@dataclass
class _Netting:
    """Adds up the rows of two sides while they are read.

    Attributes:
        columns: The columns of the rows.
        removed: The side that counts -1.
        added: The side that counts +1.
        most: So many rows the result may have.
    """

    columns: Columns
    removed: _Side
    added: _Side
    most: int
    #: Rows that may still meet their like, beyond the last ones that did.
    _open: pa.Table | None = None
    #: Rows before those: they have probably come or gone. Nothing is decided until the end.
    _passed: list[pa.Table] = field(default_factory=list)
    _passed_bytes: int = 0
    _passed_rows: int = 0
    _last_removed: int = -1
    _last_added: int = -1

    def run(self) -> pa.Table:
        """The rows that do not cancel out, numbered columns and weights.

        Raises:
            NotHere: too many rows have no match.
        """
        while not (self.removed.ended and self.added.ended):
            # Rows without a match are looked at again only when there are enough new ones to make it worth it.
            least = len(self._open) // 2 if self._open is not None else 0
            read = [rows for side in self._behind() for rows in side.read(least)]
            if read:
                self._meet(read)
        held = [*self._passed, *([self._open] if self._open is not None else [])]
        if not held:
            return self._empty().select([*self.columns.numbered.names, _WEIGHT])
        return self._added_up(pa.concat_tables(held)).select([*self.columns.numbered.names, _WEIGHT])

    def _behind(self) -> list[_Side]:
        """The sides to read on: the one that lags, if the other is ahead."""
        sides = [side for side in (self.removed, self.added) if not side.ended]
        if len(sides) < 2 or self._open is None:
            return sides
        ahead = [self._is_beyond(self._open, place, -1) for place in (_REMOVED, _ADDED)]
        removed_ahead, added_ahead = (bool(pc.any(one).as_py()) for one in ahead)
        if removed_ahead and added_ahead and self.removed.left != self.added.left:
            return [max(sides, key=lambda side: side.left)]
        if removed_ahead == added_ahead:
            return sides
        return [self.added if removed_ahead else self.removed]

    def _meet(self, read: Sequence[pa.Table]) -> None:
        """Cancel what is equal among new rows and those that had no match so far."""
        rows = self._added_up(pa.concat_tables([*([self._open] if self._open is not None else []), *read]), keep=True)
        matched = rows.filter(pc.and_(pc.is_valid(rows[_REMOVED]), pc.is_valid(rows[_ADDED])))
        if len(matched):
            self._last_removed = max(self._last_removed, pc.max(matched[_REMOVED]).as_py())
            self._last_added = max(self._last_added, pc.max(matched[_ADDED]).as_py())
        left = rows.filter(pc.not_equal(rows[_WEIGHT], 0))
        ahead = pc.or_(
            self._is_beyond(left, _REMOVED, self._last_removed), self._is_beyond(left, _ADDED, self._last_added)
        )
        self._open = left.filter(ahead)
        passed = left.filter(pc.invert(ahead))
        if len(passed):
            self._passed.append(passed)
            self._passed_bytes += passed.nbytes
            self._passed_rows += len(passed)
        too_large = self._passed_bytes + self._open.nbytes > tuning().arrow_compare_memory
        if too_large or self._passed_rows + len(self._open) > 2 * self.most + _AHEAD * tuning().arrow_net_rows:
            raise NotHere("too many rows without a match")

    @staticmethod
    def _is_beyond(rows: pa.Table, place: str, last: int) -> pa.ChunkedArray:
        return pc.fill_null(pc.greater(rows[place], last), False)

    def _added_up(self, rows: pa.Table, *, keep: bool = False) -> pa.Table:
        names = self.columns.numbered.names
        found = rows.group_by(names, use_threads=False).aggregate(
            [(_WEIGHT, "sum"), (_REMOVED, "max"), (_ADDED, "max")]
        )
        found = found.rename_columns([*names, _WEIGHT, _REMOVED, _ADDED])
        return found if keep else found.filter(pc.not_equal(found[_WEIGHT], 0))

    def _empty(self) -> pa.Table:
        fields = [*self.columns.numbered, *(pa.field(name, pa.int64()) for name in (_WEIGHT, _REMOVED, _ADDED))]
        return pa.schema(fields).empty_table()


@dataclass(frozen=True)
class _Answer:
    change: NetChange | None

    @property
    def nbytes(self) -> int:
        return self.change.nbytes if self.change is not None else 0


class _Known:
    """The changes that were netted last, for the other tables of a tick that read them. Data files never change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: LRUCache[object, _Answer] = LRUCache(64)

    def get(self, key: object) -> _Answer | None:
        """What is known of a change."""
        with self._lock:
            return self._found.get(key)

    def put(self, key: object, change: NetChange | None) -> None:
        """Remember a change, and forget old ones that would take too much memory beside it."""
        answer = _Answer(None if change is None else NetChange(change.rows, change.weights))
        with self._lock:
            self._found[key] = answer
            while sum(one.nbytes for one in self._found.values()) > tuning().arrow_change_bytes:
                self._found.popitem()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._found.clear()


_KNOWN = _Known()
forget = _KNOWN.clear


def _key_of(table: Table, changes: FileChanges, lost: Sequence[LostRows], schema: Schema) -> object:
    """What an answer follows from: the files with their deletes, the columns, and the bounds, as some do not fit."""
    limits = tuning()
    return (
        str(table.metadata.table_uuid),
        tuple(_identity(file) for file in changes.removed),
        tuple(_identity(file) for file in changes.added),
        tuple((_identity(one.file), _digest(one.rows)) for one in lost),
        tuple((field.field_id, field.name, str(field.field_type)) for field in schema.fields),
        (limits.arrow_change_rows, limits.arrow_change_bytes, limits.arrow_compare_memory),
    )


def _digest(positions: pa.Array) -> bytes:
    whole = pa.concat_arrays([pa.array([len(positions)], pa.int64()), positions])
    return sha256(memoryview(whole.buffers()[1])[: 8 * len(whole)]).digest()


def _identity(file: DataFile) -> object:
    return file.file_path, file.file_size_in_bytes, deletes_of(file)
