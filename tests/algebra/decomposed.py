"""What tests of mutual recursion share: queries taken apart, and every part of them checked."""

from __future__ import annotations

from airflow_trickle.algebra.decompose import Member, decompose
from airflow_trickle.algebra.mutual_recursion import mutual_groups
from airflow_trickle.algebra.references import parse_query

PAIR = "WITH RECURSIVE a AS (SELECT 1 AS x UNION SELECT * FROM b), b AS (SELECT x FROM a) SELECT * FROM b"


def parts(text: str, table: str = "t", taken: tuple[str, ...] = ()) -> list[Member]:
    """The members of a good decomposition, each of which is a good query made of the user's text."""
    found = decompose(text, table, taken)
    assert found is not None
    assert found.problems == ()
    assert found.groups == mutual_groups(text)
    for member in found.members:
        check(text, member)
    assert (found.members[-1].name, found.members[-1].cte) == (table, None)
    return list(found.members)


def check(text: str, member: Member) -> None:
    assert parse_query(member.query).problems == ()
    assert decompose(member.query, member.name, ()) is None
    end = 0
    for piece in member.pieces:
        assert end <= piece.start <= piece.end
        assert member.query[piece.start : piece.end] == text[piece.origin :][: piece.end - piece.start]
        end = piece.end


def queries(text: str, table: str = "t", taken: tuple[str, ...] = ()) -> dict[str, str]:
    return {member.name: member.query for member in parts(text, table, taken)}
