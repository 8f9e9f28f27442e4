"""What a benchmark has measured: as records, as JSON and as a printed table."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import math
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from airflow_trickle.results import TableResult
from benchmarks.settings import Settings
from benchmarks.spark_counters import SparkUse

#: The layout of the file; another number when a reader has to know.
LAYOUT = 1
_MIB = 1024**2


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One refresh of one query, and what plain Spark and DuckDB took for the same rows.

    Attributes:
        seconds: Of the refresh, from pin to commit, as the history has it.
        tick_seconds: Of the whole call, with pinning the world and opening the catalog.
        bytes_opened: Of the files that the refresh opened.
        spark: What the refresh had Spark do, among it the bytes that were really read.
        changed_rows: By source table, how many rows were inserted, deleted and updated.
        exact: Whether the published rows are those of plain Spark.
    """

    query: str
    mode: str
    reason: str
    seconds: float
    tick_seconds: float
    phases: Mapping[str, float]
    rows_in: int | None
    rows_inserted: int
    rows_deleted: int
    bytes_opened: int | None
    bytes_written: int | None
    spark: Mapping[str, Any]
    change: str | None = None
    share: float | None = None
    round: int | None = None
    warm_up: bool = False
    changed_rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    spark_seconds: float | None = None
    duckdb_seconds: float | None = None
    exact: bool | None = None
    #: Part by part, see `airflow_trickle.results.PartState`: ``added_to`` and ``unchanged`` were read.
    state: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, result: TableResult, tick_seconds: float, use: SparkUse, **more: Any) -> Measurement:
        """A refresh with what was measured around it."""
        return cls(
            mode=str(result.mode),
            reason=result.reason,
            seconds=result.seconds,
            tick_seconds=round(tick_seconds, 3),
            phases=result.phases,
            rows_in=result.rows_in,
            rows_inserted=result.rows_inserted,
            rows_deleted=result.rows_deleted,
            bytes_opened=result.bytes_read,
            bytes_written=result.bytes_written,
            spark=use.as_dict(),
            state=[one.model_dump() for one in result.state],
            **more,
        )


@dataclass(frozen=True)
class QueryFigures:
    """Medians of one query over the rounds of one kind and share of changes."""

    query: str
    modes: tuple[str, ...]
    seconds: float
    spark_seconds: float
    duckdb_seconds: float
    jobs: float
    stages: float
    round_trips: float
    bytes_read: float
    state_bytes: float
    changed: bool
    exact: bool

    @property
    def ratio(self) -> float:
        """How many times as long plain Spark takes."""
        return self.spark_seconds / self.seconds


@dataclass(frozen=True)
class Summary:
    """The figures of all queries for one kind and share of changes."""

    change: str
    share: float
    rounds: int
    queries: tuple[QueryFigures, ...]

    @property
    def ratios(self) -> list[float]:
        """Of the queries whose result changed."""
        return [one.ratio for one in self.queries if one.changed]

    @property
    def geometric_mean(self) -> float | None:
        """Of the ratios."""
        return math.exp(statistics.mean(math.log(one) for one in self.ratios)) if self.ratios else None

    @property
    def below_one(self) -> int:
        """How many queries whose result changed were slower than plain Spark."""
        return sum(one < 1 for one in self.ratios)

    @property
    def wrong(self) -> tuple[str, ...]:
        """Queries whose published rows were not those of plain Spark, in any round."""
        return tuple(one.query for one in self.queries if not one.exact)

    def as_dict(self) -> dict[str, Any]:
        """For the file of results."""
        return {
            "change": self.change,
            "share": self.share,
            "rounds": self.rounds,
            "geometric_mean": self.geometric_mean,
            "least": min(self.ratios, default=None),
            "changed": len(self.ratios),
            "below_one": self.below_one,
            "wrong": list(self.wrong),
            "queries": [{**asdict(one), "ratio": one.ratio} for one in self.queries],
        }


@dataclass
class Report:
    """Everything a run has measured."""

    about: Mapping[str, Any]
    first: list[Measurement] = field(default_factory=list)
    rounds: list[Measurement] = field(default_factory=list)

    @classmethod
    def begin(cls, benchmark: str, wanted: Settings, rows: Mapping[str, int]) -> Report:
        """A report without measurements yet."""
        versions = {name: importlib.metadata.version(name) for name in ("airflow-trickle", "pyspark", "duckdb")}
        machine = {
            "cores": os.cpu_count(),
            "memory": psutil.virtual_memory().total,
            "python": platform.python_version(),
            "load": os.getloadavg()[0],
        }
        return cls(
            {
                "layout": LAYOUT,
                "benchmark": benchmark,
                "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                "settings": {**asdict(wanted), "out": None},
                "source_rows": dict(rows),
                "versions": versions,
                "machine": machine,
            }
        )

    def summary(self, change: str, share: float) -> Summary:
        """The medians of one kind and share of changes; warming up does not count unless there is nothing else."""
        rounds = [one for one in self.rounds if (one.change, one.share) == (change, share)]
        counted = [one for one in rounds if not one.warm_up] or rounds
        names = list(dict.fromkeys(one.query for one in counted))
        figures = tuple(
            _figures(name, [one for one in counted if one.query == name], [one for one in rounds if one.query == name])
            for name in names
        )
        return Summary(change, share, len({one.round for one in counted}), figures)

    @property
    def summaries(self) -> list[Summary]:
        """Of all kinds and shares so far."""
        return [
            self.summary(*pair) for pair in dict.fromkeys((one.change or "", one.share or 0) for one in self.rounds)
        ]

    def write(self, path: Path | None) -> None:
        """Write all measurements so far as JSON."""
        if path is None:
            return
        found = {
            **self.about,
            "summaries": [one.as_dict() for one in self.summaries],
            "first_refreshes": [asdict(one) for one in self.first],
            "rounds": [asdict(one) for one in self.rounds],
        }
        part = path.with_name(f"{path.name}.part")
        part.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        part.replace(path)


def _figures(name: str, counted: Sequence[Measurement], rounds: Iterable[Measurement]) -> QueryFigures:
    def median(values: Iterable[float | None]) -> float:
        return statistics.median(value or 0 for value in values)

    return QueryFigures(
        query=name,
        modes=tuple(sorted({one.mode for one in counted})),
        seconds=median(one.seconds for one in counted),
        spark_seconds=median(one.spark_seconds for one in counted),
        duckdb_seconds=median(one.duckdb_seconds for one in counted),
        jobs=median(one.spark["jobs"] for one in counted),
        stages=median(one.spark["stages"] for one in counted),
        round_trips=median(one.spark["round_trips"] for one in counted),
        bytes_read=median(one.spark["bytes_read"] for one in counted),
        state_bytes=median(sum(part["bytes"] or 0 for part in one.state) for one in counted),
        changed=any(one.rows_inserted or one.rows_deleted for one in counted),
        exact=all(one.exact for one in rounds),
    )


def short_state(one: Measurement) -> str:
    """The auxiliary state after a refresh in a few words."""
    if not one.state:
        return "no state"
    return "state " + ", ".join(
        f"{'root' if part['part'] < 0 else part['part']} {part['outcome']} "
        + (f"({part['code']})" if part["bytes"] is None else f"{part['bytes'] / _MIB:.2f} MiB")
        for part in one.state
    )


def show_round(one: Measurement, *, phases: bool) -> None:
    """Print one refresh beside the two others."""
    wrong = "" if one.exact else "  WRONG ROWS"
    print(
        f"{one.change} {one.share or 0:.2%} round {one.round} {one.query} {one.mode} {one.seconds:.2f} s, Spark "
        f"{one.spark_seconds or 0:.2f} s, DuckDB {one.duckdb_seconds or 0:.2f} s, +{one.rows_inserted} "
        f"-{one.rows_deleted}, {one.spark['jobs']} jobs, {one.spark['round_trips']} round trips{wrong}",
        flush=True,
    )
    if phases:
        read = f"{one.spark['bytes_read'] / _MIB:.1f} of {(one.bytes_opened or 0) / _MIB:.1f} MiB read"
        print(
            f"    {dict(one.phases)} {read}, {one.spark['stages']} stages, {short_state(one)}; {one.reason}", flush=True
        )


def show(found: Summary) -> None:
    """Print the medians of one kind and share of changes."""
    print(f"\n{found.change} {found.share:.2%}, medians of {found.rounds} rounds")
    print(
        f"{'query':<15}{'ours s':>8}{'Spark s':>9}{'DuckDB s':>10}{'ratio':>7}{'jobs':>6}{'stages':>8}{'trips':>7}"
        f"{'read MiB':>10}{'state MiB':>11}  mode"
    )
    for one in found.queries:
        notes = "" if one.exact else "  WRONG ROWS"
        notes += "" if one.changed else "  (did not change)"
        print(
            f"{one.query:<15}{one.seconds:>8.2f}{one.spark_seconds:>9.2f}{one.duckdb_seconds:>10.2f}{one.ratio:>7.2f}"
            f"{one.jobs:>6.0f}{one.stages:>8.0f}{one.round_trips:>7.0f}{one.bytes_read / _MIB:>10.1f}"
            f"{one.state_bytes / _MIB:>11.2f}  {'/'.join(one.modes)}{notes}"
        )
    if found.geometric_mean is not None:
        print(
            f"geometric mean of the {len(found.ratios)} that changed: {found.geometric_mean:.2f}; least "
            f"{min(found.ratios):.2f}; below 1: {found.below_one}",
            flush=True,
        )
    if found.wrong:
        print(f"WRONG ROWS: {', '.join(found.wrong)}", flush=True)
