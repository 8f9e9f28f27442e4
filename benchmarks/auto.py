"""How often AUTO takes the quicker mode: every query in three tables, FULL, DIFFERENTIAL and AUTO.

``TRICKLE_BENCH_QUERIES`` names queries of `benchmarks.tpch` and `benchmarks.differential`; other settings are in
`benchmarks.settings`. Every table reads the same sources and is refreshed in each round.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from airflow_trickle import Pipeline
from airflow_trickle.results import Choice, Mode, TableResult
from benchmarks import differential, tpch
from benchmarks.changes import SourceChanges
from benchmarks.comparison import Lake, lake_of
from benchmarks.settings import Settings, settings
from benchmarks.spark_counters import counted_server

QUERIES = {**differential.QUERIES, **tpch.QUERIES}
_MODES = ("FULL", "DIFFERENTIAL", "AUTO")
#: Modes whose seconds differ by less than this factor are as quick: either is right.
CLOSE = 1.1


@dataclass(frozen=True)
class Line:
    """One query in one round: the seconds of both modes, and what AUTO did."""

    query: str
    change: str
    share: float
    round: int
    full: float
    from_changes: float
    auto: float
    auto_mode: str
    choice: Mapping[str, Any] | None = field(default=None)

    @property
    def quicker(self) -> str:
        """The mode that took less; empty if both took about the same."""
        if max(self.full, self.from_changes) < CLOSE * min(self.full, self.from_changes):
            return ""
        return str(Mode.FULL if self.full < self.from_changes else Mode.DIFFERENTIAL)

    @property
    def is_right(self) -> bool:
        """Whether AUTO took the quicker mode, or one that is about as quick."""
        return self.quicker in ("", self.auto_mode)

    @classmethod
    def of(cls, results: Mapping[str, TableResult], query: str, change: str, share: float, number: int) -> Line:
        """The line of one tick."""
        full, changes, auto = (results[table_name(query, mode)] for mode in _MODES)
        choice: Choice | None = auto.choice
        return cls(
            query=query,
            change=change,
            share=share,
            round=number,
            full=full.seconds,
            from_changes=changes.seconds,
            auto=auto.seconds,
            auto_mode=str(auto.mode),
            choice=None if choice is None else choice.model_dump(mode="json"),
        )


def main() -> None:
    """Print each round's seconds by mode, and how often AUTO was right."""
    wanted = settings(QUERIES, shares="0.001,0.01,0.1,0.5", kinds="append,mixed")
    lines: list[Line] = []
    with lake_of(wanted.scale, tpch.TABLES) as lake, counted_server(lake.folder / "spark-server"):
        pipelines = {name: _pipeline(lake, name) for name in wanted.queries}
        for pipeline in pipelines.values():
            pipeline.tick()
        changes = SourceChanges(lake.catalog, lake.folder)
        print(f"{'query':<15}{'change':<8}{'share':>7}{'FULL s':>8}{'DIFF s':>8}{'AUTO s':>8}  AUTO", flush=True)
        for kind in wanted.kinds:
            for share in wanted.shares:
                for number in range(wanted.rounds):
                    changes.make(kind, share)
                    for name, pipeline in pipelines.items():
                        lines.append(Line.of(pipeline.tick(), name, kind, share, number))
                        show(lines[-1])
                    write(lines, wanted)
    summarise(lines)


def _pipeline(lake: Lake, name: str) -> Pipeline:
    indented = "\n".join(f"      {line}" for line in QUERIES[name].splitlines())
    text = f"pipeline: {name}\nsources: [{', '.join(lake.tables)}]\nstream_tables:\n"
    for mode in _MODES:
        text += f"  {table_name(name, mode)}:\n    refresh_mode: {mode}\n    query: |\n{indented}\n"
    path = lake.folder / "dags" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return Pipeline.load(path)


def table_name(query: str, mode: str) -> str:
    """The table of a query in a mode; AUTO's comes last, when files are cached for it as for the second one."""
    return f"{query}_{_MODES.index(mode)}_{mode.lower()}"


def show(line: Line) -> None:
    """Print one round of one query."""
    choice = line.choice or {}
    expected = "".join(
        f", expected {choice[key]:.2f} {name}"
        for key, name in (("from_changes", "from changes"), ("in_full", "in full"))
        if choice.get(key) is not None
    )
    by = f" ({choice['code']}{expected}{', by program' if choice['by_program'] else ''})" if choice else ""
    wrong = "" if line.is_right else "  WRONG"
    print(
        f"{line.query:<15}{line.change:<8}{line.share:>7.2%}{line.full:>8.2f}{line.from_changes:>8.2f}{line.auto:>8.2f}"
        f"  {line.auto_mode}{by}{wrong}",
        flush=True,
    )


def summarise(lines: Sequence[Line]) -> None:
    """Print how often AUTO was right, also among the choices that were made by the program alone."""
    by_program = [line for line in lines if line.choice is not None and line.choice["by_program"]]
    for what, those in (("all", lines), ("never refreshed from changes before", by_program)):
        if those:
            right = sum(line.is_right for line in those)
            print(f"AUTO right in {right} of {len(those)} lines ({what}): {right / len(those):.1%}", flush=True)


def write(lines: Sequence[Line], wanted: Settings) -> None:
    """Write all lines so far as JSON."""
    if wanted.out is not None:
        found = [{**asdict(line), "quicker": line.quicker, "right": line.is_right} for line in lines]
        place: Path = wanted.out
        text = {"layout": 1, "benchmark": "auto", "scale": wanted.scale, "cores": os.cpu_count(), "lines": found}
        place.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
