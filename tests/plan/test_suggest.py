"""The YAML that is suggested in place of a query with mutual recursion."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_trickle.algebra.decompose import Decomposition, Member, decompose
from airflow_trickle.definition.records import TableDef
from airflow_trickle.definition.sql_text import SqlText
from airflow_trickle.errors import Position
from airflow_trickle.plan.suggest import suggestion

QUERY = dedent("""\
    WITH RECURSIVE
      -- begins with red
      red(n) AS (
        SELECT dst FROM red_edges WHERE src = 1
        UNION
        SELECT e.dst FROM blue JOIN red_edges e ON blue.n = e.src
      ),
      blue(n) AS (SELECT e.dst FROM red JOIN blue_edges e ON red.n = e.src)
    SELECT n FROM red
    UNION
    SELECT n FROM blue
    """)
LOADERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])]


def table(text: str = QUERY, name: str = "reach") -> TableDef:
    return TableDef(name, f"default.{name}", SqlText(text, "p.yaml"), Position("p.yaml", 3, 3))


def decomposed(text: str = QUERY, name: str = "reach") -> Decomposition:
    found = decompose(text, name, ())
    assert found is not None
    return found


def loaded(fragment: str) -> dict:
    """The fragment in a file with the other keys; all of YAML's readers agree on it."""
    documents = [
        yaml.load(f"pipeline: p\nsources: {{a: {{}}}}\n{fragment}tags: [x]\n", Loader=loader) for loader in LOADERS
    ]
    assert all(document == documents[0] for document in documents)
    assert documents[0].pop("tags") == ["x"]
    return documents[0]


def test_the_suggestion_is_what_a_person_would_write():
    assert suggestion(decomposed(), table()) == dedent("""\
        allow_circular: true
        stream_tables:
          reach__red:
            refresh_mode: DIFFERENTIAL
            query: |
              WITH
                -- begins with red
                red(n) AS (
                  SELECT dst FROM red_edges WHERE src = 1
                  UNION
                  SELECT e.dst FROM reach__blue AS blue JOIN red_edges e ON blue.n = e.src
                )
              SELECT * FROM red
          reach__blue:
            refresh_mode: DIFFERENTIAL
            query: |
              WITH
                blue(n) AS (SELECT e.dst FROM reach__red AS red JOIN blue_edges e ON red.n = e.src)
              SELECT * FROM blue
          reach:
            query: |
              SELECT n FROM reach__red AS red
              UNION
              SELECT n FROM reach__blue AS blue
        """)


@pytest.mark.parametrize(
    "text",
    [
        QUERY,
        QUERY.strip(),
        QUERY + "\n\n",
        "  " + QUERY,
        "\n\n  \n" + QUERY,
        "\t" + QUERY.replace("\n", "\n\n  \t \n"),
        " ".join(line for line in QUERY.splitlines() if "--" not in line),
        QUERY.replace("src = 1", "src = '# é😀: |\\\\'"),
        QUERY.replace("src = 1", "src = '\u2028\x85\x07'"),
        QUERY + "-- the end",
        QUERY + "   ",
    ],
)
def test_the_suggestion_round_trips_and_has_no_mutual_recursion_left(text):
    found = decomposed(text)
    read = loaded(suggestion(found, table(text)))
    assert read["allow_circular"] is True
    assert {name: entry["query"] for name, entry in read["stream_tables"].items()} == {
        member.name: member.query for member in found.members
    }
    for name, entry in read["stream_tables"].items():
        assert decompose(entry["query"], name, ()) is None


def test_what_the_entry_says_is_kept():
    entry = replace(
        table(),
        description='Who "reaches"\nwhom: # all',
        owner="no",
        tags=("a, b", "1"),
        refresh_mode="FULL",
        schedule="*/5 * * * *",
        diamond_consistency="none",
        diamond_schedule_policy="fastest",
        max_fixpoint_iterations=7,
    )
    tables = loaded(suggestion(decomposed(), entry))["stream_tables"]
    for member in tables.values():
        del member["query"]
    every = {
        "schedule": "*/5 * * * *",
        "owner": "no",
        "tags": ["a, b", "1"],
        "diamond_consistency": "none",
        "diamond_schedule_policy": "fastest",
    }
    of_the_cycle = {**every, "refresh_mode": "DIFFERENTIAL", "max_fixpoint_iterations": 7}
    assert tables == {
        "reach__red": of_the_cycle,
        "reach__blue": of_the_cycle,
        "reach": {**every, "refresh_mode": "FULL", "description": 'Who "reaches"\nwhom: # all'},
    }


@pytest.mark.parametrize("name", ["no", "On", "null", "TRUE", "y", "_1", "e1"])
def test_names_stay_texts_whatever_yaml_thinks_of_them(name):
    found = decomposed(name=name)
    assert list(loaded(suggestion(found, table(name=name)))["stream_tables"]) == [
        f"{name}__red",
        f"{name}__blue",
        name,
    ]


TEXTS = st.text(
    st.sampled_from("ab \t\n\r#:|>-'\"\\{}[]%&*!?@`,é😀\x00\x07\x1b\x7f\x85\xa0\u2028\u2029\ufeff\ufffd\ue000"),
    max_size=25,
)


@given(TEXTS, TEXTS)
@example("", " ")
@example("a\n   ", "a\n\n")
@example("\ta", "\n a\n")
@example("--- a", "...\n--- b")
def test_any_text_survives_as_a_query(first, second):
    members = (Member("t__a", "a", first, ()), Member("t", None, second, ()))
    found = Decomposition("t", (("a", "b"),), members, ())
    tables = loaded(suggestion(found, replace(table(name="t"), description=first, tags=(second,))))["stream_tables"]
    assert [tables["t__a"]["query"], tables["t"]["query"]] == [first, second]
    assert tables["t"].get("description", "") == first
    assert tables["t"]["tags"] == [second]


def test_how_its_files_are_laid_out_stays_with_the_table():
    laid_out = replace(table(), partition_by=("n", "truncate(2, `a b`)"), cluster_by=("a b",))
    read = loaded(suggestion(decomposed(), laid_out))["stream_tables"]
    assert (read["reach"]["partition_by"], read["reach"]["cluster_by"]) == (["n", "truncate(2, `a b`)"], ["`a b`"])
    assert all("partition_by" not in read[name] and "cluster_by" not in read[name] for name in read if name != "reach")
