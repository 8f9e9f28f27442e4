"""Writing down how far a cycle has come, and going on from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_trickle.engine.fixpoint.checkpoint import Checkpoint
from airflow_trickle.engine.fixpoint.counted import Counting
from airflow_trickle.engine.fixpoint.machine import Machine
from airflow_trickle.engine.fixpoint.naive import Naive
from airflow_trickle.engine.zset import WEIGHT, checkpointed
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.files import spark_pattern
from airflow_trickle.results import Iteration, Mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARTS, _GONE = "parts", "gone"


@dataclass
class MachineSaver:
    """Saves the rows of a machine: those that came since the last time, and once those that went."""

    point: Checkpoint
    machine: Machine
    mode: Mode
    why: str = ""
    _upto: int = 0
    _gone: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._upto = self.machine.rank
        self.machine.after_pass = self._after_pass
        self.machine.is_due = lambda: self.point.is_due

    @property
    def _kind(self) -> str:
        return f"ranked {self.mode.value}"

    def _after_pass(self) -> None:
        if not self.point.is_due:
            return
        for key, rows in self.machine.rows.items():
            came = rows.since(self._upto)
            if came is not None:
                self.point.add(key, _PARTS, rows.bench.frame(came))
            for view in rows.gone[self._gone.get(key, 0) :]:
                listed = ", ".join(rows.names)
                self.point.add(key, _GONE, rows.bench.frame(f"SELECT {listed} FROM {quote(view)}"))
            self._gone[key] = len(rows.gone)
        self._upto = self.machine.rank
        state = {"rank": self.machine.rank, "consumed": self.machine.consumed, "why": self.why}
        self.point.note(self._kind, state, self.machine.trace)

    def restored(
        self, spark: SparkSession, trace: list[Iteration], tell: Callable[[Sequence[Iteration]], None]
    ) -> bool:
        """Take over what an earlier attempt has found; false if there is nothing."""
        found = self.point.begin(self._kind)
        if found is None:
            return False
        for key, rows in self.machine.rows.items():
            files = found.files.get(key, {})
            if files.get(_PARTS):
                rows.load(_read(spark, files[_PARTS]))
            if files.get(_GONE):
                rows.gone.append(rows.named(checkpointed(_read(spark, files[_GONE]).distinct())))
            self._gone[key] = len(rows.gone)
        self.machine.rank = self._upto = found.state["rank"]
        self.machine.consumed = {key: dict(seen) for key, seen in found.state["consumed"].items()}
        self.machine.trace = list(found.trace)
        trace[:] = found.trace
        tell(found.trace)
        return True


@dataclass
class CountingSaver:
    """Saves what each pass has changed in the numbers of copies."""

    point: Checkpoint
    counting: Counting
    mode: Mode
    why: str = ""
    #: What the last pass has changed.
    moved: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.counting.after_pass = self._after_pass

    @property
    def _kind(self) -> str:
        return f"counted {self.mode.value}"

    def _after_pass(self, moved: set[str]) -> None:
        if not self.point.is_due:
            return
        for key, bag in self.counting.bags.items():
            # What was added up since is written anew: the note names only what counts.
            self.point.forget(key)
            for number, view in enumerate(bag.parts):
                kind = "last" if key in moved and number == len(bag.parts) - 1 else _PARTS
                listed = ", ".join([*bag.names, WEIGHT])
                self.point.add(key, kind, bag.bench.frame(f"SELECT {listed} FROM {quote(view)}"))
        self.point.note(self._kind, {"moved": sorted(moved), "why": self.why}, self.counting.trace)

    def restored(
        self, spark: SparkSession, trace: list[Iteration], tell: Callable[[Sequence[Iteration]], None]
    ) -> bool:
        """Take over what an earlier attempt has found; false if there is nothing."""
        found = self.point.begin(self._kind)
        if found is None:
            return False
        for key, bag in self.counting.bags.items():
            files = found.files.get(key, {})
            for kind in (_PARTS, "last"):
                if files.get(kind):
                    frame = checkpointed(_read(spark, files[kind]))
                    frame.createOrReplaceTempView(view := bag.bench.new_view())
                    bag.parts.append(view)
        self.moved = set(found.state["moved"])
        self.counting.trace = list(found.trace)
        trace[:] = found.trace
        tell(found.trace)
        return True


@dataclass
class NaiveSaver:
    """Saves what every member of a cycle without rules is after a pass."""

    point: Checkpoint
    naive: Naive
    why: str = ""

    _KIND = f"naive {Mode.FULL.value}"

    def settle(self, spark: SparkSession, trace: list[Iteration], tell: Callable[[Sequence[Iteration]], None]) -> None:
        """Bring the cycle to its fixed point, from where an earlier attempt came to if there was one."""
        self.naive.after_pass = self._after_pass
        found = self.point.begin(self._KIND)
        if found is None:
            self.naive.settle()
            return
        frames = {
            key: checkpointed(_read(spark, files[_PARTS])) for key, files in found.files.items() if files.get(_PARTS)
        }
        self.naive.trace = list(found.trace)
        trace[:] = found.trace
        tell(found.trace)
        self.naive.settle(frames, found.state["layer"], found.state["count"])

    def _after_pass(self, layer: int, count: int) -> None:
        if not self.point.is_due:
            return
        for key, frame in self.naive.frames.items():
            self.point.forget(key)
            self.point.add(key, _PARTS, frame)
        self.point.note(self._KIND, {"layer": layer, "count": count, "why": self.why}, self.naive.trace)


def _read(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    return spark.read.parquet(*(spark_pattern(file) for file in files))
