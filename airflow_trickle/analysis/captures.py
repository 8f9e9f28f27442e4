"""Captured sources: each has a mirror, an Iceberg table that only one definition may fill."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_trickle.analysis.graph import Problems
from airflow_trickle.analysis.names import written
from airflow_trickle.definition.records import PipelineDef, SourceDef
from airflow_trickle.errors import Position, Problem
from airflow_trickle.identifiers import fold


def check_captures(pipelines: Iterable[PipelineDef], context: Iterable[PipelineDef], problems: Problems) -> None:
    """Tells of captured sources whose mirror is also a stream table, or is captured in another way elsewhere."""
    pipelines = list(pipelines)
    everywhere = (*pipelines, *context)
    tables: dict[str, Position] = {}
    for pipeline in everywhere:
        for known in written(pipeline):
            tables.setdefault(fold(known.identifier), known.declared_at)
    captured: dict[str, list[SourceDef]] = {}
    for pipeline in everywhere:
        for source in pipeline.sources:
            if source.capture is not None:
                captured.setdefault(fold(source.identifier), []).append(source)
    for pipeline in pipelines:
        for source in pipeline.sources:
            key = fold(source.identifier)
            if source.capture is not None:
                problems[pipeline.file] += _problems(source, tables.get(key), captured[key])


def _problems(source: SourceDef, table: Position | None, same: Iterable[SourceDef]) -> Iterable[Problem]:
    whose = f"source '{source.name}': it would be captured into the table {source.identifier}, "
    if table is not None:
        yield Problem(
            source.at,
            f"{whose}which is the stream table defined at {table}.",
            "Rename one of them, or give the source another table with `table: namespace.name`.",
        )
    other = next((one for one in same if one.at != source.at and one.capture != source.capture), None)
    if other is not None:
        yield Problem(
            source.at,
            f"{whose}and the source at {other.at} too, from something else or in another way.",
            "Make the two alike, or give one of them another table with `table: namespace.name`.",
        )
