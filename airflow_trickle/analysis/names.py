"""Which table a name in a query stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from airflow_trickle.definition.records import PipelineDef
from airflow_trickle.definition.words import listed, nearest
from airflow_trickle.errors import Position
from airflow_trickle.identifiers import fold
from airflow_trickle.plan.steps import InputKind


@dataclass(frozen=True)
class Known:
    """A table that a query may read, under the name its reader has for it."""

    name: str
    identifier: str
    kind: InputKind
    declared_at: Position
    #: The file of the pipeline that writes it, if one does.
    writer: str | None = None


class UnknownName(Exception):
    """A name that stands for no table, or for several: the message says which and the hint what to do."""

    def __init__(self, message: str, hint: str) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message)


class StreamTables:
    """All stream tables of a project, to be found by identifier or by bare name."""

    def __init__(self, pipelines: Iterable[PipelineDef], unreadable: Iterable[str] = ()) -> None:
        self.by_identifier: dict[str, Known] = {}
        self._by_name: dict[str, list[Known]] = {}
        self._unreadable = sorted(unreadable)
        for pipeline in pipelines:
            for known in written(pipeline):
                # The first in the order of files wins; that there are two is a problem of its own.
                if self.by_identifier.setdefault(fold(known.identifier), known) is known:
                    self._by_name.setdefault(fold(known.name), []).append(known)

    def named(self, name: str) -> list[Known]:
        """The stream tables of that bare name."""
        return self._by_name.get(fold(name), [])

    @property
    def names(self) -> Iterator[str]:
        """All bare names."""
        return (tables[0].name for tables in self._by_name.values())

    @property
    def unreadable(self) -> list[str]:
        """Files that could not be read at all, and so may define anything."""
        return self._unreadable


class Names:
    """The names that the queries of one pipeline may use."""

    def __init__(self, pipeline: PipelineDef, everywhere: StreamTables) -> None:
        self._pipeline = pipeline
        self._everywhere = everywhere
        self._own: dict[str, Known] = {}
        self._by_identifier: dict[str, Known] = {}
        self._hints: dict[str, str] = {}
        for source in pipeline.sources:
            writer = everywhere.by_identifier.get(fold(source.identifier))
            self._add(source.name, self._declared(source.name, source.identifier, source.at, writer))
        for known in written(pipeline):
            self._add(known.name, known)

    def _declared(self, name: str, identifier: str, at: Position, writer: Known | None) -> Known:
        """A source; if a stream table stands behind it, it is that one."""
        if writer is None:
            return Known(name, identifier, InputKind.SOURCE, at)
        if writer.writer == self._pipeline.file:
            return writer
        return Known(name, writer.identifier, InputKind.EXTERNAL, at, writer.writer)

    def _add(self, name: str, known: Known) -> None:
        self._own.setdefault(fold(name), known)
        self._by_identifier.setdefault(fold(known.identifier), known)

    def find(self, parts: tuple[str, ...]) -> Known:
        """The table of that name; raises `UnknownName` if there is none, or more than one."""
        if len(parts) == 1:
            return self._find_bare(parts[0])
        if len(parts) > 2:
            raise UnknownName(
                f"the name '{'.'.join(parts)}' has {len(parts)} parts, but must be name or namespace.name.",
                "The catalog is set by `catalog`; declare other tables under `sources`.",
            )
        identifier = fold(".".join(parts))
        known = self._by_identifier.get(identifier)
        if known is None:
            known = _external(self._everywhere.by_identifier.get(identifier))
        return known or self._give_up(".".join(parts))

    def _find_bare(self, name: str) -> Known:
        known = self._own.get(fold(name))
        if known is not None:
            return known
        others = self._everywhere.named(name)
        if len(others) > 1:
            places = listed([f"{other.identifier} ({other.declared_at})" for other in others])
            raise UnknownName(
                f"the name '{name}' fits several stream tables: {places}.", "Write it with its namespace."
            )
        return _external(others[0] if others else None) or self._give_up(name)

    def _give_up(self, name: str) -> Known:
        # One missing source is often read by many tables, and looking for near names takes time.
        if name not in self._hints:
            self._hints[name] = self._hint(name)
        raise UnknownName(f"'{name}' is neither a source nor a stream table.", self._hints[name])

    def _hint(self, name: str) -> str:
        if "." in name:
            known = (*self._by_identifier.values(), *self._everywhere.by_identifier.values())
            near = nearest(name, {table.identifier for table in known})
        else:
            own = (known.name for known in self._own.values())
            near = nearest(name, own) or nearest(name, self._everywhere.names)
        bare = name.rpartition(".")[2]
        declare = f"{bare}: {{table: {name}}}" if "." in name else f"{name}: {{}}"
        hint = f"Did you mean '{near}'? " if near else ""
        hint += f"If others write the table, declare it: sources: {{{declare}}}."
        if self._everywhere.unreadable:
            hint += f" It may also be defined in {listed(self._everywhere.unreadable)}, which cannot be read."
        return hint


def written(pipeline: PipelineDef) -> Iterator[Known]:
    """The stream tables of a pipeline, those whose query could not be read included."""
    for table in pipeline.tables:
        yield Known(table.name, table.identifier, InputKind.STREAM_TABLE, table.at, pipeline.file)
    for identifier, at in pipeline.unread:
        name = identifier.rpartition(".")[2]
        yield Known(name, identifier, InputKind.STREAM_TABLE, at, pipeline.file)


def _external(known: Known | None) -> Known | None:
    if known is None:
        return None
    return Known(known.name, known.identifier, InputKind.EXTERNAL, known.declared_at, known.writer)
