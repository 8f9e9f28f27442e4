"""A change of few rows, brought into this process: what comes, what goes, and where that stands.

Jobs, not rows, are what a small refresh pays for. So the change is fetched with the job that computes it, and
everything behind that is done here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.manifest import DataFile

from airflow_trickle.engine.arrow_read import SmallFiles, grouped_rows, is_small, tells_apart
from airflow_trickle.engine.budget import Meter
from airflow_trickle.engine.delta.ranges import ranges_of_files, ranges_of_rows
from airflow_trickle.engine.fetch import given_back
from airflow_trickle.engine.full import Difference
from airflow_trickle.engine.zset import FILE, POSITION, RESERVED, WEIGHT, checkpointed
from airflow_trickle.errors import RefreshFailed
from airflow_trickle.identifiers import fold, quote
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.lakehouse.files import file_key
from airflow_trickle.lakehouse.positions import deleted_positions
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_trickle.engine.delta.bench import SparkBench

_PLACES = f"{RESERVED}places"
_NUMBER = f"{RESERVED}number"

#: By the key of a file (see `file_key`): the rows of it that go, in order.
Places = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class SmallChange:
    """Net weighted rows: each row once, the weight in the last column. ``places`` is None where rows go unplaced."""

    rows: pa.Table
    places: Places | None

    @property
    def inserted(self) -> int:
        """How many rows come."""
        return self._total(pc.greater(self._weights, 0))

    @property
    def deleted(self) -> int:
        """How many rows go."""
        return -self._total(pc.less(self._weights, 0))

    @property
    def new_rows(self) -> pa.Table:
        """The rows that come, each as often as it comes, without weights."""
        coming = self.rows.filter(pc.greater(self._weights, 0))
        counts = coming[WEIGHT].to_pylist()
        if any(count > 1 for count in counts):
            numbers = [number for number, count in enumerate(counts) for _ in range(count)]
            coming = coming.take(pa.array(numbers, pa.int64()))
        return coming.drop_columns([WEIGHT])

    @property
    def gone(self) -> pa.Table:
        """The rows that go, with weights."""
        return self.rows.filter(pc.less(self._weights, 0))

    def frame(self, spark: SparkSession) -> DataFrame:
        """The weighted rows on Spark."""
        return given_back(spark, self.rows)

    @property
    def _weights(self) -> pa.ChunkedArray:
        return self.rows[WEIGHT]

    def _total(self, mask: pa.ChunkedArray) -> int:
        return int(pc.sum(self._weights.filter(mask)).as_py() or 0)


def fetched(
    bench: SparkBench, weighted: DataFrame, names: Sequence[str], *, placed: bool, net: bool
) -> SmallChange | None:
    """Net weighted rows in one job; None if they are too many or too large, or of types that do not travel exactly.

    Each row counts as often as it comes or goes: those that come are written so often, those that go have a place each.

    Args:
        bench: Knows what is in this process already.
        weighted: The columns, `WEIGHT`, and if ``placed`` also `FILE` and `POSITION`.
        names: The columns.
        placed: Whether every row that goes has a place.
        net: Whether no row both comes and goes.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import IntegerType

    if net:
        return _as_they_are(bench.fetch(weighted, counted=WEIGHT), placed=placed)
    if bench.few:
        # What adds them up here takes a shuffle on Spark.
        found_here = netted_here(bench.fetch(weighted, tuning().arrow_read_rows), placed=placed)
        if found_here is not None:
            return found_here
    found = [F.sum(WEIGHT).alias(WEIGHT)]
    if placed:
        # Those without a file are NULL, and are left out. A row that goes too often to be handled here has none: its
        # weight is enough to see that.
        place, going = F.when(F.col(FILE).isNotNull(), F.struct(FILE, POSITION)), -F.sum(WEIGHT)
        some = F.slice(F.collect_list(place), F.lit(1), going.cast(IntegerType()))
        found.append(F.when((going > 0) & (going <= tuning().arrow_change_rows), some).alias(_PLACES))
    rest = weighted.groupBy(*(F.col(quote(name)) for name in names)).agg(*found).where(F.col(WEIGHT) != 0)
    rows = bench.fetch(rest, also=(_PLACES,) if placed else (), counted=WEIGHT)
    if rows is None:
        return None
    if not placed:
        going = pc.any(pc.less(rows[WEIGHT], 0)).as_py()
        return SmallChange(rows, None if going else {})
    # Only rows that go have places.
    return SmallChange(rows.drop_columns([_PLACES]), _by_file(pc.list_flatten(rows[_PLACES])))


def netted_here(rows: pa.Table | None, *, placed: bool) -> SmallChange | None:
    """Weighted rows added up in this process; None if Spark has to do that."""
    if rows is None or not rows.num_rows:
        return None if rows is None else SmallChange(_plain(rows), {})
    grouped = grouped_rows(_plain(rows))
    if grouped is None:
        return None
    weights, first, every = grouped
    some = pc.not_equal(weights, 0)
    plain = _plain(rows).drop_columns([WEIGHT]).take(first.filter(some))
    change = SmallChange(plain.append_column(WEIGHT, weights.filter(some)), None)
    limits = tuning()
    # A row is written as often as it comes.
    if not Meter(limits.arrow_change_rows, limits.arrow_change_bytes, WEIGHT).takes(change.rows):
        return None
    if not change.deleted:
        return SmallChange(change.rows, {})
    if not placed:
        return change
    numbers: list[int] = []
    files = rows[FILE].is_valid().to_pylist()
    for weight, copies in zip(weights.to_pylist(), every.to_pylist(), strict=True):
        if weight < 0:
            numbers += [number for number in copies if files[number]][:-weight]
    gone = rows.take(pa.array(numbers, pa.int64()))
    return SmallChange(change.rows, _places(gone[FILE], gone[POSITION]))


def _plain(rows: pa.Table) -> pa.Table:
    """Weighted rows without their places."""
    return rows.drop_columns([name for name in (FILE, POSITION) if name in rows.column_names])


def _as_they_are(rows: pa.Table | None, *, placed: bool) -> SmallChange | None:
    if rows is None:
        return None
    if not placed:
        some_go = pc.any(pc.less(rows[WEIGHT], 0)).as_py()
        return SmallChange(rows, None if some_go else {})
    gone = rows.filter(pc.less(rows[WEIGHT], 0))
    return SmallChange(rows.drop_columns([FILE, POSITION]), _places(gone[FILE], gone[POSITION]))


def find_places(
    bench: SparkBench, change: SmallChange, view: str, target: Target, held: Sequence[DataFile] = ()
) -> SmallChange | Difference:
    """The same change with the places of the rows that go, looked up in the published rows by one job.

    If the places do not fit into this process, the change goes back to Spark.

    Args:
        bench: Where it is looked up.
        change: The change.
        view: The published rows with `FILE` and `POSITION`.
        target: The table.
        held: Its files so far, if small ones may be looked through here.
    """
    if change.places is not None:
        return change
    gone = change.gone
    here = places_here(gone, target, held)
    if here is not None:
        return SmallChange(change.rows, here)
    names = [name for name in gone.schema.names if name != WEIGHT]
    numbered = gone.append_column(_NUMBER, pa.array(range(gone.num_rows), pa.int64()))
    wanted = bench.give(numbered)
    ranges = ranges_of_rows(gone)
    condition = " AND ".join(
        ranges[fold(name)].holds_or_null(f"p.{quote(name)}") for name in names if fold(name) in ranges
    )
    same = " AND ".join(f"p.{quote(name)} <=> g.{quote(name)}" for name in names)
    sql = (
        f"SELECT g.{_NUMBER} AS {_NUMBER}, "
        f"slice(collect_list(struct(p.{FILE}, p.{POSITION})), 1, CAST(-min(g.{WEIGHT}) AS INT)) AS {_PLACES} "
        f"FROM (SELECT * FROM {quote(view)} AS p WHERE {condition or 'true'}) AS p "
        f"JOIN {quote(wanted)} AS g ON {same} GROUP BY g.{_NUMBER}"
    )
    found = bench.fetch(bench.query(sql), gone.num_rows, also=(_PLACES,))
    if found is None:
        return Difference(checkpointed(change.frame(bench.session)), change.inserted, change.deleted)
    # Each has as many places as it goes times, if so many are there.
    there = dict(zip(found[_NUMBER].to_pylist(), pc.list_value_length(found[_PLACES]).to_pylist(), strict=True))
    short = sum(there.get(number, 0) < -count for number, count in enumerate(gone[WEIGHT].to_pylist()))
    if short:
        raise RefreshFailed(
            f"Table {target.identifier}: {short} of the rows that the refresh takes away are not in the table. "
            f"Nothing was published. Run `trickle verify` on it; `trickle reset` makes it anew."
        )
    return SmallChange(change.rows, _by_file(pc.list_flatten(found[_PLACES])))


def places_here(gone: pa.Table, target: Target, held: Sequence[DataFile]) -> Places | None:
    """Where rows stand that go, looked up in this process; None if Spark is to look: in files too large, or in vain.

    Metadata tell which files may hold them at all.
    """
    wanted = gone.drop_columns([WEIGHT])
    if not tells_apart(wanted.schema.types):
        return None
    files = _may_hold(wanted, target, held)
    if not is_small(files):
        return None
    reader = SmallFiles(target.table, target.schema)
    missing = Counter(dict(zip(_keys(wanted), (-weight for weight in gone[WEIGHT].to_pylist()), strict=True)))
    found: dict[str, list[int]] = defaultdict(list)
    for file in sorted(files, key=lambda file: file.file_path):
        rows = reader.all_rows(file)
        if rows is None or rows.schema != wanted.schema:
            return None
        same = _may_be_among(rows, wanted)
        same = same.filter(pc.invert(pc.is_in(same, value_set=deleted_positions(target.table.io, file))))
        for position, key in zip(same.to_pylist(), _keys(rows.take(same)), strict=True):
            if missing[key] > 0:
                missing[key] -= 1
                found[file_key(file.file_path)].append(position)
    return None if any(missing.values()) else {file: sorted(rows) for file, rows in found.items()}


def _may_hold(rows: pa.Table, target: Target, held: Sequence[DataFile]) -> list[DataFile]:
    """The files that may hold any of some rows, by the bounds of their columns."""
    known = {name: ranges for name, ranges in ranges_of_rows(rows).items() if not ranges.has_null}

    def apart(file: DataFile) -> bool:
        there = ranges_of_files(target.schema, [file])
        return any(name in known and known[name].is_apart_from(one) for name, one in there.items())

    return [file for file in held if not apart(file)]


def _may_be_among(rows: pa.Table, wanted: pa.Table) -> pa.Array:
    """The numbers of the rows whose every value is one of those wanted in its column."""
    some = pa.array(range(rows.num_rows), pa.int64())
    for column, values in zip(rows.columns, wanted.columns, strict=True):
        some = some.filter(pc.is_in(column.take(some), value_set=pc.unique(values)))
    return some


def _keys(rows: pa.Table) -> list[tuple[object, ...]]:
    """Rows as values of Python that are equal if the rows are; it has no days and times as far away as Spark has."""
    columns = [_as_plain_values(column).to_pylist() for column in rows.columns]
    return list(zip(*columns, strict=True))


def _as_plain_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_date32(kind):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        return column.cast(pa.int64())
    return column.cast(pa.binary()) if pa.types.is_string(kind) else column


def _by_file(places: pa.ChunkedArray) -> Places:
    return _places(pc.struct_field(places, [0]), pc.struct_field(places, [1]))


def _places(files: pa.ChunkedArray, positions: pa.ChunkedArray) -> Places:
    """Places by the file; its name comes once for each of them, and one file may have two spellings."""
    found: dict[str, list[int]] = defaultdict(list)
    each = pa.table({"file": files, "position": positions}).group_by("file").aggregate([("position", "list")])
    for file, rows in zip(each["file"].to_pylist(), each["position_list"], strict=True):
        found[file_key(file)] += rows.as_py()
    return {file: sorted(rows) for file, rows in found.items()}
