"""The rows of one member while a cycle is refreshed: those from before, those that went, those that came.

Every row has a rank: the number of the step that first gave it. Whatever gives a row has a smaller rank, so ranks tell
which rows hold up which others, and rows that only hold up each other are found out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column
from airflow_trickle.engine.fetch import given_back
from airflow_trickle.engine.fixpoint.rules import Member
from airflow_trickle.engine.inputs import create_view
from airflow_trickle.engine.zset import RESERVED, WEIGHT, checkpointed
from airflow_trickle.identifiers import quote
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Rows of this process travel with every query that reads them; more are left with Spark.
TRAVELLING = 20_000
#: Up to here it is remembered here which rows there are.
_REMEMBERED = 200_000
#: After so many passes it is likely that many follow.
_WORTH_REMEMBERING = 3
#: Types whose values are equal here exactly if they are on Spark.
PLAIN_TYPES = ("tinyint", "smallint", "int", "bigint", "string", "boolean", "date")


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that came, with their rank as the weight: the view, the lowest and highest rank, how many."""

    view: str
    low: int
    high: int
    count: int
    #: The same in this process, if they are few.
    rows: pa.Table | None = None


@dataclass
class Rows:
    """The rows of one member.

    Attributes:
        spark: The session.
        bench: Where views are made.
        member: Whose rows they are.
        columns: Its columns.
        base: The view of the rows before, each once; None if there were none.
        lines: The view of the same rows with their ranks as weights, if these are known.
        size: How many there were before.
    """

    spark: SparkSession
    bench: SparkBench
    member: Member
    columns: Sequence[Column]
    base: str | None = None
    lines: str | None = None
    size: int = 0
    parts: list[Part] = field(default_factory=list)
    #: Views of rows of the base that went.
    gone: list[str] = field(default_factory=list)
    #: How many came with the last step.
    latest: int = 0
    #: By which rows the member is another one now, net, if that is known here.
    net_here: pa.Table | None = None
    #: The lines of rows of before that went, if they are known here.
    gone_lines: pa.Table | None = None
    _seen: set[tuple[Any, ...]] | None = None
    _seen_bytes: int = 0
    #: How often it was asked which rows are new.
    _asked: int = 0

    def __post_init__(self) -> None:
        if self.base is None and self.is_plain:
            self._seen = set()

    @property
    def is_plain(self) -> bool:
        """Whether rows can be compared here: by all columns, of types whose values mean the same here."""
        return self.member.best is None and all(column.type in PLAIN_TYPES for column in self.columns)

    # --- SQL ---------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """The columns, ready for SQL."""
        return [quote(column.name) for column in self.columns]

    @property
    def identity(self) -> list[str]:
        """The columns of which there is one row for each combination."""
        best = self.member.best
        return [name for at, name in enumerate(self.names) if best is None or at != best.column]

    def same(self, one: str, other: str, names: Sequence[str] | None = None) -> str:
        """That two relations hold the same row, or the same in some columns."""
        wanted = self.names if names is None else names
        return " AND ".join(f"{one}.{name} <=> {other}.{name}" for name in wanted) or "true"

    def typed(self, sql: str, *, weighted: bool) -> str:
        """Rows of a rule in the types of the member."""
        plain = [f"{RESERVED}c{number}" for number in range(len(self.columns))]
        shown = [
            f"CAST({name} AS {column.type}) AS {quote(column.name)}"
            for name, column in zip(plain, self.columns, strict=True)
        ]
        weight = [WEIGHT] if weighted else []
        return f"SELECT {', '.join([*shown, *weight])} FROM ({sql}) AS {RESERVED}q({', '.join([*plain, *weight])})"

    def empty(self) -> str:
        """No rows."""
        return f"SELECT {', '.join(f'CAST(NULL AS {c.type}) AS {quote(c.name)}' for c in self.columns)} WHERE false"

    def now(self, upto: int | None = None) -> str:
        """The rows as they are, or as they were up to a rank."""
        listed = ", ".join(self.names)
        found = []
        if self.base is not None:
            found.append(self.staying(f"SELECT {listed} FROM {quote(self.base)}"))
        for part in self.parts:
            if upto is None or part.high <= upto:
                found.append(f"SELECT {listed} FROM {quote(part.view)}")
            elif part.low <= upto:
                found.append(f"SELECT {listed} FROM {quote(part.view)} WHERE {WEIGHT} <= {upto}")
        return " UNION ALL ".join(found) if found else self.empty()

    def since(self, rank: int) -> str | None:
        """The rows that came after a rank, with their ranks; None if there are none."""
        found = []
        for part in self.parts:
            if part.low > rank:
                found.append(f"SELECT * FROM {quote(part.view)}")
            elif part.high > rank:
                found.append(f"SELECT * FROM {quote(part.view)} WHERE {WEIGHT} > {rank}")
        return " UNION ALL ".join(found) if found else None

    def held(self, below: int | None = None) -> str:
        """The rows from before that stay, with their ranks; only those of a rank below one, if that is given."""
        listed = ", ".join([*self.names, WEIGHT])
        rows = f"SELECT {listed} FROM {quote(str(self.lines))}"
        return self.staying(rows if below is None else f"{rows} WHERE {WEIGHT} < {below}")

    def staying(self, rows: str) -> str:
        """Of some rows from before those that did not go."""
        if not self.gone:
            return rows
        gone = " UNION ALL ".join(f"SELECT {', '.join(self.names)} FROM {quote(view)}" for view in self.gone)
        same = self.same(f"{RESERVED}b", f"{RESERVED}g")
        return (
            f"SELECT * FROM ({rows}) AS {RESERVED}b "
            f"WHERE NOT EXISTS (SELECT 1 FROM ({gone}) AS {RESERVED}g WHERE {same})"
        )

    def net(self) -> str | None:
        """By which rows the member is another one now, as weighted rows that may cancel out; None if none moved."""
        listed = ", ".join(self.names)
        found = [f"SELECT {listed}, CAST(1 AS BIGINT) AS {WEIGHT} FROM {quote(part.view)}" for part in self.parts]
        found += [f"SELECT {listed}, CAST(-1 AS BIGINT) AS {WEIGHT} FROM {quote(view)}" for view in self.gone]
        return " UNION ALL ".join(found) if found else None

    # --- what comes --------------------------------------------------------------------------------

    def is_new(self, rows: pa.Table) -> pa.Table | None:
        """Of some distinct rows those that are not there yet; None if only Spark can tell."""
        self._asked += 1
        if self._seen is None and self._asked == _WORTH_REMEMBERING and self.size <= TRAVELLING:
            self._remember()
        if self._seen is None:
            return None
        too_large = self._seen_bytes + rows.nbytes > tuning().arrow_change_bytes
        if len(self._seen) + rows.num_rows > _REMEMBERED or too_large:
            self._seen = None
            return None
        seen = self._seen
        each = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        return rows.filter(pa.array([row not in seen for row in each], pa.bool_()))

    def forget(self) -> None:
        """Somebody else adds rows: what is remembered here of which there are is no longer right."""
        self._seen = None

    def _remember(self) -> None:
        """Bring few rows here once, instead of asking Spark with every pass."""
        every = self.bench.fetch(self.bench.frame(self.now()), _REMEMBERED) if self.is_plain else None
        if every is not None:
            self._seen = set(zip(*(column.to_pylist() for column in every.columns), strict=True))
            self._seen_bytes = every.nbytes

    def add_rows(self, rows: pa.Table, rank: int) -> None:
        """Rows of this process that came."""
        self.latest = rows.num_rows
        if not rows.num_rows:
            return
        if self._seen is not None:
            self._seen.update(zip(*(column.to_pylist() for column in rows.columns), strict=True))
            self._seen_bytes += rows.nbytes
        ranked = rows.append_column(WEIGHT, pa.repeat(pa.scalar(rank, pa.int64()), rows.num_rows))
        self.parts.append(Part(self.bench.give(ranked), rank, rank, rows.num_rows, ranked))
        self._fold()

    def add_frame(self, frame: DataFrame, rank: int) -> int:
        """Rows of Spark that came, computed now; returns how many."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import LongType

        kept = checkpointed(frame.select("*", F.lit(rank).cast(LongType()).alias(WEIGHT)))
        self.latest = kept.count()
        self._seen = None
        if self.latest:
            self.parts.append(Part(self.named(kept), rank, rank, self.latest))
            self._fold()
        return self.latest

    def replace_parts(self, frame: DataFrame) -> None:
        """All rows that came, with their ranks, where some of them went again."""
        from pyspark.sql import functions as F

        kept = checkpointed(frame)
        found = kept.agg(F.count(F.lit(1)), F.min(WEIGHT), F.max(WEIGHT)).collect()[0]
        self.parts = [Part(self.named(kept), found[1], found[2], found[0])] if found[0] else []

    def load(self, frame: DataFrame) -> None:
        """Rows with ranks that an earlier attempt had found; of those that were bettered the best counts."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        if self.member.best is not None:
            keys = [F.col(name) for name in self.identity]
            latest = F.row_number().over(Window.partitionBy(*keys).orderBy(F.col(WEIGHT).desc()))
            frame = frame.withColumn(f"{RESERVED}n", latest).where(F.col(f"{RESERVED}n") == 1).drop(f"{RESERVED}n")
        self._seen = None
        self.replace_parts(frame)

    def named(self, frame: DataFrame) -> str:
        """The view of a frame, which goes with the refresh."""
        view = create_view(frame)
        self.bench.made(view)
        return view

    def _fold(self) -> None:
        """Few parts, and few rows that travel."""
        most = tuning().fixpoint_union_parts
        travelling = [part for part in self.parts if part.rows is not None]
        if len(self.parts) <= most and sum(part.count for part in travelling) <= TRAVELLING:
            return
        if len(travelling) > 1 or sum(part.count for part in travelling) > TRAVELLING:
            self._fold_here(travelling)
        if len(self.parts) > most:
            smallest = self.smallest()
            sql = " UNION ALL ".join(f"SELECT * FROM {quote(part.view)}" for part in smallest)
            view = self.named(checkpointed(self.bench.frame(sql)))
            self.put(smallest, view, None)

    def smallest(self) -> list[Part]:
        """Of too many parts those that become one: the large ones are seldom copied."""
        return sorted(self.parts, key=lambda part: part.count)[: tuning().fixpoint_union_parts - 2]

    def _fold_here(self, some: list[Part]) -> None:
        rows = pa.concat_tables([part.rows for part in some if part.rows is not None])
        if rows.num_rows <= TRAVELLING:
            self.put(some, self.bench.give(rows), rows)
        else:
            self.put(some, self.named(given_back(self.spark, rows).localCheckpoint(eager=True)), None)

    def put(self, some: list[Part], view: str, rows: pa.Table | None) -> None:
        """Replace some parts by one with all their rows."""
        part = Part(view, min(p.low for p in some), max(p.high for p in some), sum(p.count for p in some), rows)
        self.parts = sorted([*(p for p in self.parts if p not in some), part], key=lambda p: p.high)


def is_few(count: int) -> bool:
    """Whether a step after one with so many rows likely has few enough to be brought here."""
    return count <= tuning().arrow_change_rows // 2
