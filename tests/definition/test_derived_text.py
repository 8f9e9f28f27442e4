"""Where a character of a derived query stands in the user's file."""

from __future__ import annotations

from textwrap import dedent

import pytest

from airflow_trickle.algebra.decompose import decompose
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.definition.derived_text import DerivedSql
from airflow_trickle.definition.document import Document
from airflow_trickle.definition.sql_text import SqlText

YAML = dedent("""\
    pipeline: p
    stream_tables:
      reach:
        query: |
          WITH RECURSIVE
            h AS (SELECT * FROM unknown_h),
            red(n) AS (
              SELECT n FROM h  -- base
              UNION
              SELECT dst FROM blue AS b JOIN unknown_red ON true
            ),
            `blue`(n) AS (SELECT dst FROM red TABLESAMPLE (1 ROWS)
                          JOIN unknown_blue WHERE EXISTS (SELECT 1 FROM red))
          SELECT * FROM blue, h, unknown_last
    """)


def derived(original: SqlText, table: str = "reach") -> dict[str, DerivedSql]:
    found = decompose(original.text, table, ())
    assert found is not None
    return {
        member.name: DerivedSql(
            member.query, original, tuple((piece.start, piece.end, piece.origin) for piece in member.pieces)
        )
        for member in found.members
    }


def test_an_error_in_each_derived_query_points_into_the_users_file():
    parts = derived(Document(YAML, "f.yaml").sql(("stream_tables", "reach", "query")))
    places = {
        name: [(ref.name, str(sql.position(ref.start))) for ref in parse_query(sql.text).references]
        for name, sql in parts.items()
    }
    assert places == {
        "reach__red": [
            ("unknown_h", "f.yaml:6:29"),
            ("reach__blue", "f.yaml:10:27"),
            ("unknown_red", "f.yaml:10:42"),
        ],
        "reach__blue": [
            ("reach__red", "f.yaml:12:39"),
            ("unknown_blue", "f.yaml:13:28"),
            ("reach__red", "f.yaml:13:69"),
        ],
        "reach": [
            ("unknown_h", "f.yaml:6:29"),
            ("reach__blue", "f.yaml:14:21"),
            ("unknown_last", "f.yaml:14:30"),
        ],
    }
    lines = YAML.split("\n")
    for name, at in ((name, at) for found in places.values() for name, at in found if "unknown" in name):
        line, column = (int(number) for number in at.split(":")[1:])
        assert lines[line - 1][column - 1 :].startswith(name)


def test_what_is_refused_in_a_derived_query_is_shown_where_it_was_written():
    sql = derived(Document(YAML, "f.yaml").sql(("stream_tables", "reach", "query")))["reach__blue"]
    (problem,) = parse_query(sql.text).problems
    assert problem.message.startswith("TABLESAMPLE")
    assert str(sql.position(problem.offset)) == "f.yaml:12:39"


def test_lines_and_columns_of_the_derived_query_lead_to_the_users_file():
    sql = derived(Document(YAML, "f.yaml").sql(("stream_tables", "reach", "query")))["reach__blue"]
    assert sql.file == "f.yaml"
    assert sql.text.split("\n")[1].startswith("  `blue`(n)")
    assert str(sql.position_of(2, 3)) == "f.yaml:12:9"
    assert str(sql.position_of(3, 21)) == "f.yaml:13:27"


@pytest.mark.parametrize(
    ("offset", "place"),
    [(0, "q.sql:1:3"), (3, "q.sql:1:3"), (4, "q.sql:1:4"), (6, "q.sql:2:1"), (8, "q.sql:2:2"), (99, "q.sql:2:2")],
)
def test_what_was_added_is_where_the_next_piece_is(offset, place):
    sql = DerivedSql("new+cd|ef", SqlText("abcd\nef", "q.sql"), ((3, 3, 2), (4, 5, 3), (7, 8, 5)))
    assert str(sql.position(offset)) == place


def test_a_text_without_pieces_is_where_the_original_begins():
    assert str(DerivedSql("new", SqlText("old", "q.sql"), ()).position(2)) == "q.sql:1:1"


def test_derived_texts_are_values():
    original = SqlText("SELECT 1", "q.sql")
    one, other = (DerivedSql("SELECT 1", original, ((0, 8, 0),)) for _ in range(2))
    assert one == other
    assert len({one, other}) == 1
