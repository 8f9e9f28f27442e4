"""A query that was made from another one, with the places of that one."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_trickle.definition.sql_text import QueryText, offset_of
from airflow_trickle.errors import Position


@dataclass(frozen=True)
class DerivedSql:
    """A query made of pieces of the ``original``, which answers with places in the original's file.

    >>> from airflow_trickle.definition.sql_text import SqlText
    >>> sql = DerivedSql("SELECT * FROM a", SqlText("WITH a AS (SELECT 1)", "q.sql"), ((14, 15, 5),))
    >>> str(sql.position(14))
    'q.sql:1:6'
    """

    text: str
    original: QueryText
    #: In order: ``text[start:end]`` stands at ``origin`` of the original, as (start, end, origin).
    pieces: tuple[tuple[int, int, int], ...]

    @property
    def file(self) -> str:
        """The file of the original."""
        return self.original.file

    def position(self, offset: int) -> Position:
        """Where the character at ``offset`` was written; for one that was added, where the next piece was."""
        origin = 0
        for start, end, at in self.pieces:
            origin = at + min(max(0, offset - start), end - start)
            if offset < end or offset <= start:
                break
        return self.original.position(origin)

    def position_of(self, line: int, column: int) -> Position:
        """Where the given line and column of the query (from 1) were written."""
        return self.position(offset_of(self.text, line, column))
