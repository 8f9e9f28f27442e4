"""The rows of one member in this process, while `near` brings it to its fixed point."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from airflow_trickle.engine.fetch import given_back
from airflow_trickle.engine.fixpoint.joins import without
from airflow_trickle.engine.fixpoint.rows import TRAVELLING, Part, Rows
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.tuning import tuning

#: The column of ranks.
RANK = "rank"
#: Wide rows do not travel with queries either.
_TRAVELLING_BYTES = 4 * 1024**2
_ARROW = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
}


@dataclass
class NearRows:
    """The rows of a member: columns c0, c1, … and the rank.

    Attributes:
        rows: The member on Spark, which gets what came and went.
        before: Its rows so far with their ranks as the last column; None if there were none.
        gone: Rows of before that went, with their ranks.
    """

    rows: Rows
    before: pa.Table | None
    gone: list[pa.Table] = field(default_factory=list)
    #: All rows, in few pieces: the larger first.
    _pieces: list[pa.Table] = field(default_factory=list)
    #: What came with each step, by rank.
    _came: list[tuple[int, pa.Table]] = field(default_factory=list)
    _came_bytes: int = 0
    _given: int = 0
    _gone_given: int = 0

    def __post_init__(self) -> None:
        if self.before is not None:
            self._pieces = [self._shaped(self.before)]

    @property
    def name(self) -> str:
        """The name of the member."""
        return self.rows.member.name

    @property
    def names(self) -> list[str]:
        """The columns of the member."""
        return [column.name for column in self.rows.columns]

    @property
    def keys(self) -> list[str]:
        """The same here."""
        return [f"c{number}" for number in range(len(self.rows.columns))]

    @property
    def schema(self) -> pa.Schema:
        """The columns and the rank."""
        kinds = [_ARROW[column.type] for column in self.rows.columns]
        return pa.schema([*zip(self.keys, kinds, strict=True), (RANK, pa.int64())])

    @property
    def nothing(self) -> pa.Table:
        """No rows, without ranks."""
        return self.schema.empty_table().select(self.keys)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(piece.num_rows for piece in self._pieces)

    @property
    def nbytes(self) -> int:
        """How many bytes all of it takes here."""
        return self._came_bytes + sum(int(piece.nbytes) for piece in (*self._pieces, *self.gone))

    @property
    def now(self) -> pa.Table:
        """All rows with their ranks."""
        return pa.concat_tables(self._pieces) if self._pieces else self.schema.empty_table()

    def upto(self, rank: int) -> pa.Table:
        """The rows up to a rank."""
        now = self.now
        return now.filter(pc.less_equal(now[RANK], rank))

    def since(self, rank: int) -> pa.Table:
        """The rows that came after a rank."""
        found = []
        for came, rows in reversed(self._came):
            if came <= rank:
                break
            found.append(rows)
        return pa.concat_tables(found) if found else self.schema.empty_table()

    def taken(self, rows: pa.Table) -> pa.Table:
        """Rows from Spark in the columns that they have here."""
        return rows.select(range(len(self.keys))).rename_columns(self.keys).cast(self.nothing.schema)

    def _shaped(self, lines: pa.Table) -> pa.Table:
        return lines.rename_columns([*self.keys, RANK]).cast(self.schema)

    def add(self, found: pa.Table, rank: int) -> int:
        """Take over what is new of some different rows; returns how many were."""
        new = without(found, self.now, self.keys)
        if new.num_rows:
            ranked = new.append_column(RANK, pa.repeat(pa.scalar(rank, pa.int64()), new.num_rows))
            ranked = ranked.cast(self.schema).combine_chunks()
            self._came.append((rank, ranked))
            self._came_bytes += ranked.nbytes
            self._pieces.append(ranked)
            while len(self._pieces) > 1 and self._pieces[-2].num_rows <= 2 * self._pieces[-1].num_rows:
                last = self._pieces.pop()
                self._pieces[-1] = pa.concat_tables([self._pieces[-1], last]).combine_chunks()
        return int(new.num_rows)

    def take(self, fallen: pa.Table) -> None:
        """Take away rows of before."""
        if fallen.num_rows:
            self.gone.append(fallen)
            self._pieces = [without(self.now, fallen, self.keys).combine_chunks()]

    def give_back(self) -> None:
        """Let the member on Spark have what came and went since the last time."""
        rows = self.rows
        rows.forget()
        gone = self.gone[self._gone_given :]
        self._gone_given = len(self.gone)
        if gone:
            those = pa.concat_tables(gone).select(self.keys).rename_columns(self.names)
            rows.gone.append(self.view(those))
        came = self._came[self._given :]
        self._given = len(self._came)
        if came:
            every = pa.concat_tables([one for _, one in came]).rename_columns([*self.names, WEIGHT])
            rows.parts.append(Part(self.view(every), came[0][0], came[-1][0], every.num_rows, every))
            self._fold()
        rows.latest = came[-1][1].num_rows if came else 0

    def _fold(self) -> None:
        """Few parts, also where what was found is given back after every pass."""
        if len(self.rows.parts) <= tuning().fixpoint_union_parts:
            return
        some = self.rows.smallest()
        every = pa.concat_tables([part.rows for part in some])
        self.rows.put(some, self.view(every), every)

    def tell(self) -> None:
        """At the end: what else is known here and would have to be found out again."""
        gone = pa.concat_tables([self.schema.empty_table(), *self.gone])
        came = pa.concat_tables([self.schema.empty_table(), *(one for _, one in self._came)])
        self.rows.gone_lines = gone.rename_columns([*self.names, WEIGHT])
        limits = tuning()
        if gone.num_rows + came.num_rows > limits.arrow_change_rows:
            return
        if gone.nbytes + came.nbytes > limits.arrow_change_bytes:
            return
        # What went and came again is as it was, but for its rank.
        parts = ((without(came, gone, self.keys), 1), (without(gone, came, self.keys), -1))
        each = [
            one.select(self.keys).append_column(WEIGHT, pa.repeat(pa.scalar(weight, pa.int64()), one.num_rows))
            for one, weight in parts
        ]
        self.rows.net_here = pa.concat_tables(each).rename_columns([*self.names, WEIGHT])

    def view(self, rows: pa.Table) -> str:
        """The name of rows of this process on Spark."""
        if rows.num_rows <= TRAVELLING and rows.nbytes <= _TRAVELLING_BYTES:
            return self.rows.bench.give(rows)
        return self.rows.named(given_back(self.rows.spark, rows).localCheckpoint(eager=True))
