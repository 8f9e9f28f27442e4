"""A change of few rows, brought into this process: what comes, what goes, and where that stands.

Jobs, not rows, are what a small refresh pays for. So the change is fetched with the job that computes it, and
everything behind that is done here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_trickle.engine.delta.ranges import ranges_of_rows
from airflow_trickle.engine.fetch import fetch, given_back
from airflow_trickle.engine.zset import FILE, POSITION, RESERVED, WEIGHT
from airflow_trickle.errors import RefreshFailed
from airflow_trickle.identifiers import fold, quote
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.lakehouse.files import file_key

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


def fetched(weighted: DataFrame, names: Sequence[str], *, placed: bool, net: bool) -> SmallChange | None:
    """Net weighted rows in one job; None if they are too many, or of types that do not travel exactly.

    Args:
        weighted: The columns, `WEIGHT`, and if ``placed`` also `FILE` and `POSITION`.
        names: The columns.
        placed: Whether every row that goes has a place.
        net: Whether no row both comes and goes.
    """
    from pyspark.sql import functions as F

    if net:
        return _as_they_are(fetch(weighted), placed=placed)
    found = [F.sum(WEIGHT).alias(WEIGHT)]
    if placed:
        # Those without a file are NULL, and are left out.
        place = F.when(F.col(FILE).isNotNull(), F.struct(FILE, POSITION))
        found.append(F.collect_list(place).alias(_PLACES))
    rest = weighted.groupBy(*(F.col(quote(name)) for name in names)).agg(*found).where(F.col(WEIGHT) != 0)
    rows = fetch(rest, also=(_PLACES,) if placed else ())
    if rows is None:
        return None
    if not placed:
        going = pc.any(pc.less(rows[WEIGHT], 0)).as_py()
        return SmallChange(rows, None if going else {})
    plain = rows.drop_columns([_PLACES])
    return SmallChange(plain, _chosen(rows[WEIGHT].to_pylist(), rows[_PLACES].to_pylist()))


def _as_they_are(rows: pa.Table | None, *, placed: bool) -> SmallChange | None:
    if rows is None:
        return None
    if not placed:
        some_go = pc.any(pc.less(rows[WEIGHT], 0)).as_py()
        return SmallChange(rows, None if some_go else {})
    plain = rows.drop_columns([FILE, POSITION])
    each = zip(rows[FILE].to_pylist(), rows[POSITION].to_pylist(), strict=True)
    return SmallChange(plain, _chosen(rows[WEIGHT].to_pylist(), [[{FILE: f, POSITION: p}] for f, p in each]))


def find_places(bench: SparkBench, change: SmallChange, view: str, target: Target) -> SmallChange:
    """The same change with the places of the rows that go, looked up in the published rows by one job.

    Args:
        bench: Where it is looked up.
        change: The change.
        view: The published rows with `FILE` and `POSITION`.
        target: The table.
    """
    if change.places is not None:
        return change
    gone = change.gone
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
    found = bench.frame(sql).toArrow()
    places = dict(zip(found[_NUMBER].to_pylist(), found[_PLACES].to_pylist(), strict=True))
    counts = gone[WEIGHT].to_pylist()
    short = [number for number, count in enumerate(counts) if len(places.get(number, ())) < -count]
    if short:
        raise RefreshFailed(
            f"Table {target.identifier}: {len(short)} of the rows that the refresh takes away are not in the table. "
            f"Nothing was published. Run `trickle verify` on it; `trickle reset` makes it anew."
        )
    return SmallChange(change.rows, _chosen(counts, [places[number] for number in range(len(counts))]))


def _chosen(weights: list[int], places: list[list[dict[str, Any]]]) -> Places:
    """For every row that goes, as many of its places as there are copies to take away."""
    found: dict[str, list[int]] = defaultdict(list)
    for weight, each in zip(weights, places, strict=True):
        for place in each[: max(-weight, 0)]:
            found[file_key(place[FILE])].append(place[POSITION])
    return {file: sorted(rows) for file, rows in found.items()}
