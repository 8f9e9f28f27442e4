"""CTEs that read each other as queries of their own, cut from the user's text."""

from __future__ import annotations

from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.algebra.decompose import decompose
from airflow_trickle.algebra.mutual_recursion import mutual_groups
from airflow_trickle.algebra.references import parse_query
from tests.algebra.decomposed import PAIR, parts, queries


def test_a_simple_pair_is_rewritten():
    """Design 002 §8.1: test_rewrite_simple_pair"""
    assert queries(PAIR) == {
        "t__a": "WITH a AS (SELECT 1 AS x UNION SELECT * FROM t__b AS b) SELECT * FROM a",
        "t__b": "WITH b AS (SELECT x FROM t__a AS a) SELECT * FROM b",
        "t": "SELECT * FROM t__b AS b",
    }


def test_the_base_case_is_preserved_and_the_layout_with_it():
    """Design 002 §8.1: test_rewrite_preserves_base_case"""
    text = dedent("""\
        -- Who reaches whom.
        with recursive
          -- base: the first step
          a(x) AS (
            SELECT x FROM s  -- not b
            UNION ALL
            /* then */ SELECT x FROM b
          ),
          -- the way back
          b AS (SELECT * FROM a)
        SELECT *
        FROM a;
        """)
    assert queries(text) == {
        "t__a": dedent("""\
            with
              -- base: the first step
              a(x) AS (
                SELECT x FROM s  -- not b
                UNION ALL
                /* then */ SELECT x FROM t__b AS b
              )
            SELECT * FROM a
            """),
        "t__b": dedent("""\
            with
              -- the way back
              b AS (SELECT * FROM t__a AS a)
            SELECT * FROM b
            """),
        "t": dedent("""\
            -- Who reaches whom.
            SELECT *
            FROM t__a AS a;
            """),
    }


def test_self_references_are_preserved():
    """Design 002 §8.1: test_rewrite_preserves_self_reference"""
    text = (
        "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM A UNION SELECT * FROM b), b AS (SELECT * FROM a) "
        "SELECT * FROM a"
    )
    found = queries(text)
    assert found["t__a"] == (
        "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM A UNION SELECT * FROM t__b AS b) SELECT * FROM a"
    )
    assert found["t__b"] == "WITH b AS (SELECT * FROM t__a AS a) SELECT * FROM b"


def test_all_cross_references_are_replaced():
    """Design 002 §8.1: test_rewrite_replaces_cross_reference"""
    text = (
        "WITH RECURSIVE a AS (SELECT 1 AS x UNION SELECT b.x FROM b, b AS c, B d WHERE EXISTS (SELECT 1 FROM b e) "
        "AND x IN (SELECT b.x FROM b) AND x > (SELECT max(x) FROM (WITH i AS (SELECT * FROM b) SELECT * FROM i))), "
        "b AS (SELECT x FROM (a JOIN s) LATERAL VIEW explode(xs) AS y) SELECT x.b FROM db.b, b"
    )
    found = queries(text)
    assert found["t__a"] == (
        "WITH a AS (SELECT 1 AS x UNION SELECT b.x FROM t__b AS b, t__b AS c, t__b d "
        "WHERE EXISTS (SELECT 1 FROM t__b e) AND x IN (SELECT b.x FROM t__b AS b) AND x > (SELECT max(x) FROM "
        "(WITH i AS (SELECT * FROM t__b AS b) SELECT * FROM i))) SELECT * FROM a"
    )
    assert found["t__b"].startswith("WITH b AS (SELECT x FROM (t__a AS a JOIN s) LATERAL VIEW")
    assert found["t"] == "SELECT x.b FROM db.b, t__b AS b"


def test_quoted_identifiers_keep_their_quotes():
    """Design 002 §8.1: test_rewrite_handles_quoted_identifiers"""
    text = (
        "WITH RECURSIVE `My CTE` AS (SELECT 1 UNION SELECT * FROM `b``s`), `b``s`(`x y`) AS (SELECT * FROM `my cte`) "
        "SELECT * FROM `b``s`"
    )
    assert mutual_groups(text) == (("My CTE", "b`s"),)
    assert queries(text) == {
        "t__My_CTE": "WITH `My CTE` AS (SELECT 1 UNION SELECT * FROM t__b_s AS `b``s`) SELECT * FROM `My CTE`",
        "t__b_s": "WITH `b``s`(`x y`) AS (SELECT * FROM t__My_CTE AS `my cte`) SELECT * FROM `b``s`",
        "t": "SELECT * FROM t__b_s AS `b``s`",
    }


def test_words_that_cannot_be_an_alias_get_quotes():
    text = "WITH RECURSIVE left AS (SELECT 1 UNION SELECT * FROM date),date AS(SELECT * FROM left)SELECT * FROM left"
    assert queries(text) == {
        "t__left": "WITH left AS (SELECT 1 UNION SELECT * FROM t__date AS `date`) SELECT * FROM left",
        "t__date": "WITH date AS(SELECT * FROM t__left AS `left`) SELECT * FROM date",
        "t": "SELECT * FROM t__left AS `left`",
    }


def test_column_lists_stay_with_their_cte():
    """Design 002 §8.1: test_rewrite_handles_column_lists"""
    text = (
        "WITH RECURSIVE a (x, /* ) */ y) AS (SELECT (1), (2) UNION SELECT p, q FROM b AS c(p, q)), "
        "b(y, x) AS (SELECT x, y FROM a) SELECT * FROM a"
    )
    found = queries(text)
    assert found["t__a"] == (
        "WITH a (x, /* ) */ y) AS (SELECT (1), (2) UNION SELECT p, q FROM t__b AS c(p, q)) SELECT * FROM a"
    )
    assert found["t__b"] == "WITH b(y, x) AS (SELECT x, y FROM t__a AS a) SELECT * FROM b"


def test_names_that_an_inner_with_shadows_are_not_replaced():
    text = (
        "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM b JOIN (WITH b AS (SELECT * FROM b) SELECT * FROM b)), "
        "b AS (WITH RECURSIVE a AS (SELECT 2 UNION SELECT * FROM a) SELECT * FROM a UNION SELECT * FROM c), "
        "c AS (SELECT * FROM a) SELECT * FROM (WITH a AS (SELECT 3) SELECT * FROM a), a"
    )
    found = queries(text)
    assert found["t__a"] == (
        "WITH a AS (SELECT 1 UNION SELECT * FROM t__b AS b JOIN "
        "(WITH b AS (SELECT * FROM t__b AS b) SELECT * FROM b)) SELECT * FROM a"
    )
    assert found["t__b"] == (
        "WITH b AS (WITH RECURSIVE a AS (SELECT 2 UNION SELECT * FROM a) SELECT * FROM a "
        "UNION SELECT * FROM t__c AS c) SELECT * FROM b"
    )
    assert found["t"] == "SELECT * FROM (WITH a AS (SELECT 3) SELECT * FROM a), t__a AS a"


def test_helpers_are_kept_where_they_are_needed_and_read_the_stream_tables():
    text = (
        "WITH RECURSIVE h AS (SELECT 1), i AS (SELECT * FROM h), a AS (SELECT * FROM i UNION SELECT * FROM b), "
        "b AS (SELECT * FROM a), j AS (SELECT 0 UNION SELECT * FROM b UNION SELECT * FROM j), k AS (SELECT * FROM a) "
        "SELECT * FROM j"
    )
    assert queries(text) == {
        "t__a": (
            "WITH h AS (SELECT 1), i AS (SELECT * FROM h), a AS (SELECT * FROM i UNION SELECT * FROM t__b AS b) "
            "SELECT * FROM a"
        ),
        "t__b": "WITH b AS (SELECT * FROM t__a AS a) SELECT * FROM b",
        "t": ("WITH RECURSIVE j AS (SELECT 0 UNION SELECT * FROM t__b AS b UNION SELECT * FROM j) SELECT * FROM j"),
    }


def test_a_helper_that_is_read_too_early_is_still_refused_and_never_taken_for_a_table():
    text = (
        "WITH RECURSIVE a AS (SELECT * FROM h UNION SELECT * FROM b), b AS (SELECT * FROM a), h AS (SELECT 1) "
        "SELECT * FROM a"
    )
    found = decompose(text, "t", ())
    assert found is not None
    member = found.members[0]
    assert member.query.startswith("WITH RECURSIVE a AS (SELECT * FROM h ")
    (early,) = parse_query(member.query).problems
    assert text[member.origin(early.offset) :].startswith("h UNION")


def test_pipes_are_rewritten_like_any_query():
    text = (
        "WITH RECURSIVE a AS (SELECT 1 AS x UNION SELECT * FROM b), b AS (FROM a |> WHERE x > 1 |> AGGREGATE "
        "max(x) AS x GROUP BY x) SELECT * FROM b |> AGGREGATE max(x) AS x GROUP BY x |> JOIN a ON true"
    )
    found = queries(text)
    assert found["t__b"].startswith("WITH b AS (FROM t__a AS a |> WHERE x > 1 |> AGGREGATE")
    assert found["t"].endswith("|> JOIN t__a AS a ON true")


def test_new_names_are_unique_whatever_their_case():
    text = (
        "WITH RECURSIVE `a-` AS (SELECT * FROM t__d UNION SELECT * FROM `a+`), `a+` AS (SELECT * FROM `a-`), "
        "d AS (SELECT 1 UNION SELECT * FROM e), e AS (WITH T__E AS (SELECT * FROM d) SELECT * FROM t__e) "
        "SELECT * FROM e"
    )
    names = list(queries(text, taken=("T__A_", "other")))
    assert names == ["t__a__2", "t__a__3", "t__d_2", "t__e_2", "t"]


def test_every_reference_of_a_derived_query_leads_to_its_place():
    text = PAIR.replace("FROM b)", "FROM b AS z JOIN missing)")
    origins = {
        member.name: [
            (ref.name, text[member.origin(ref.start) :].split()[0]) for ref in parse_query(member.query).references
        ]
        for member in parts(text)
    }
    assert origins == {
        "t__a": [("t__b", "b"), ("missing", "missing),")],
        "t__b": [("t__a", "a)")],
        "t": [("t__b", "b")],
    }


def test_offsets_beside_the_users_text_lead_to_the_next_part_of_it():
    text = PAIR
    member = parts(text)[1]
    assert member.origin(0) == 0
    assert member.origin(member.query.index("t__a")) == text.index("a) SELECT")
    assert member.origin(member.query.index("SELECT *")) == text.index("b AS (")
    assert member.origin(len(member.query)) == text.index(" AS (SELECT x FROM")


NAME = st.sampled_from(["a", "B", "`c d`", "`e``f`", "Ünï", "date", "left"])
GAP = st.sampled_from([" ", "\n", "\t", " /* é😀 ) FROM a */ ", " -- 'x )\n", "  "])


@given(st.lists(NAME, min_size=2, max_size=4, unique=True), st.lists(GAP, min_size=60, max_size=60), st.data())
def test_any_layout_survives(names, gaps, data):
    """Every CTE reads the next; each derived query reads exactly the stream table of that one."""
    gap = iter(gaps)

    def laid_out(words: str) -> str:
        return "".join(f"{word}{next(gap)}" for word in words.split("|"))

    ctes = []
    for index, name in enumerate(names):
        alias = data.draw(st.sampled_from(["", "|AS|z", "|z"]))
        ctes.append(laid_out(f"{name}|AS|(|SELECT|1|UNION|SELECT|*|FROM|{names[index - 1]}{alias}|)"))
    text = laid_out("WITH|RECURSIVE") + ",".join(ctes) + laid_out(f"SELECT|*|FROM|{names[0]}")
    *members, last = parts(text)
    reads = [[ref.name for ref in parse_query(member.query).references] for member in members]
    assert reads == [[members[index - 1].name] for index in range(len(members))]
    assert [ref.name for ref in parse_query(last.query).references] == [members[0].name]
    for index, member in enumerate(members):
        (ref,) = parse_query(member.query).references
        assert text[member.origin(ref.start) :].startswith(names[index - 1])
