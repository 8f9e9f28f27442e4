"""Where a character of a query stands in the file."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.definition.document import Document
from airflow_trickle.definition.sql_text import SqlText


def found(yaml_text: str, word: str) -> str:
    sql = Document(yaml_text, "f.yaml").sql(("t", "query"))
    return str(sql.position(sql.text.index(word)))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("t:\n  query: |\n    SELECT 1\n    FROM here\n", "f.yaml:4:10"),
        ("t:\n  query: |-  # why not\n\n\n    SELECT 1\n      FROM here", "f.yaml:6:12"),
        ("t:\n  query: |2\n      SELECT 1\n     FROM here\n", "f.yaml:4:11"),
        ("t:\r\n  query: |\r\n    SELECT 1\r\n    FROM here\r\n", "f.yaml:4:10"),
        ("t:\n  query: SELECT 1 FROM here\n", "f.yaml:2:24"),
        ("t: {query: 'SELECT ''é😀'' FROM here'}\n", "f.yaml:1:32"),
        ('t: {query: "SELECT \\"\\u00e9\\x41\\" FROM\\n here"}\n', "f.yaml:1:42"),
        ("t:\n  query: >\n    SELECT 1\n    FROM\n\n      here\n", "f.yaml:6:7"),
        ("t:\n  query: SELECT 1\n    FROM\n    here\n", "f.yaml:4:5"),
        ('t:\n  query: "SELECT \\\n    1 FROM\n    here"\n', "f.yaml:4:5"),
        ("s: &s\n  SELECT 1 FROM here\nt:\n  query: *s\n", "f.yaml:2:17"),
        ("# ü\nt:\n  query: |\n    SELECT 'ü😀' FROM here\n", "f.yaml:4:22"),
    ],
    ids=[
        "literal",
        "literal with blank lines and a comment",
        "literal with an indentation indicator",
        "literal with CRLF",
        "plain",
        "single quotes",
        "double quotes",
        "folded",
        "plain over several lines",
        "double quotes over several lines",
        "alias",
        "characters of several bytes",
    ],
)
def test_a_word_of_the_query_is_found_in_the_file(text, place):
    assert found(text, "here") == place


def test_the_end_of_a_query_is_behind_its_last_word():
    sql = Document("t:\n  query: |\n    SELECT 1 +\n\n\nu: 1\n", "f.yaml").sql(("t", "query"))
    assert str(sql.position(len(sql.text))) == "f.yaml:3:15"


def test_an_empty_query_is_where_its_value_begins():
    sql = Document("t:\n  query: ''\n", "f.yaml").sql(("t", "query"))
    assert str(sql.position(0)) == "f.yaml:2:10"


def test_a_query_in_its_own_file_keeps_its_lines():
    sql = SqlText("SELECT 1\n  FROM x", "q.sql")
    assert str(sql.position(sql.text.index("FROM"))) == "q.sql:2:3"
    assert str(sql.position_of(2, 3)) == "q.sql:2:3"
    assert str(sql.position_of(9, 1)) == "q.sql:2:1"


WORDS = st.lists(
    st.tuples(
        st.text(st.characters(codec="utf-8", categories=["L", "N", "S"]), min_size=1, max_size=6),
        st.sampled_from([" ", "  ", "\n", "\n\n", "\n  ", ",", "'", '"', "\\", "--\n", "#"]),
    ),
    min_size=1,
    max_size=12,
)


@given(WORDS, st.sampled_from(["|", "'", '"', ">", ""]), st.integers(10, 80))
def test_every_character_is_found_whatever_yaml_makes_of_the_text(words, style, width):
    """Dump any text in any style, load it again: each character that is not blank is at its place."""
    query = "".join(word + gap for word, gap in words)
    text = yaml.dump({"t": {"query": query}}, default_style=style or None, allow_unicode=True, width=width, indent=4)
    sql = Document(text, "f.yaml").sql(("t", "query"))
    assert sql.text == query
    lines = text.split("\n")
    for offset, character in enumerate(query):
        if not character.isspace():
            at = sql.position(offset)
            there = lines[at.line - 1][at.column - 1]
            assert there in (character, "\\"), (text, offset, character, at)
