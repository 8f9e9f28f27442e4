"""What a query reads, and where its text says so."""

from __future__ import annotations

import logging

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from airflow_trickle.algebra.comments import blank_comments
from airflow_trickle.algebra.references import parse_query


def names(text):
    parsed = parse_query(text)
    assert parsed.problems == ()
    for ref in parsed.references:
        written = sqlglot.to_table(text[ref.start : ref.end], dialect="spark")
        assert tuple(part.name for part in written.parts) == ref.parts
    return [ref.name for ref in parsed.references]


def replaced(text, name):
    """The text as the engine will run it, every reference replaced by ``name(reference)``."""
    for ref in reversed(parse_query(text).references):
        alias = "" if ref.alias is None else f" AS {ref.alias}"
        text = f"{text[: ref.start]}{name(ref)}{alias}{text[ref.end :]}"
    return text


def shape(text, reads):
    """The tree with the tables that are read made anonymous but for their alias."""
    tree = sqlglot.parse_one(blank_comments(text), read="spark")
    for table in tree.find_all(exp.Table):
        if table.name in reads and not isinstance(table.parent, exp.JoinHint):
            if not table.args.get("alias"):
                table.set("alias", exp.TableAlias(this=table.this.copy()))
            elif isinstance(table.args["alias"].this, exp.Identifier):
                # Quotes around an alias say nothing.
                table.args["alias"].this.set("quoted", False)
            table.set("this", exp.to_identifier("some_table"))
            table.set("db", None)
    for alias in tree.find_all(exp.TableAlias):
        if isinstance(alias.this, exp.Identifier):
            alias.this.set("quoted", False)
    return tree.sql("spark", comments=False)


READS = [
    ("SELECT * FROM a", ["a"]),
    ("SELECT * FROM db.a AS x, `b c` y JOIN d . `e` ON true", ["db.a", "b c", "d.e"]),
    ("FROM a SELECT *", ["a"]),
    ("VALUES (1), (2)", []),
    ("SELECT 1", []),
    ("(SELECT * FROM a) UNION ALL SELECT * FROM b EXCEPT SELECT * FROM c", ["a", "b", "c"]),
    ("SELECT * FROM (a) x JOIN (b LEFT ANTI JOIN c ON b.i = c.i) ON x.i = b.i", ["a", "b", "c"]),
    (
        "SELECT (SELECT max(i) FROM a), EXISTS (SELECT 1 FROM b) FROM c WHERE i IN (SELECT i FROM d)",
        list("abcd"),
    ),
    ("SELECT * FROM a LATERAL VIEW OUTER explode(xs) t AS x", ["a"]),
    ("SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.i = a.i) AS l", ["a", "b"]),
    ("SELECT * FROM range(10) r JOIN explode(array(1)) JOIN a", ["a"]),
    ("SELECT * FROM a PIVOT (sum(x) FOR y IN (1, 2)) AS p", ["a"]),
    ("SELECT * FROM a UNPIVOT (v FOR n IN (x, y))", ["a"]),
    ("SELECT /*+ BROADCAST(a) */ * FROM a JOIN b", ["a", "b"]),
    ("SELECT * FROM a |> WHERE x > 1 |> JOIN b ON a.i = b.i", ["a", "b"]),
    ("SELECT exists(a.xs, x -> x > 1), transform(xs, y -> y.z) FROM a", ["a"]),
    ("SELECT a.* EXCEPT (x) FROM a QUALIFY row_number() OVER (ORDER BY i) = 1", ["a"]),
    ("SELECT count(*) OVER w FROM a WINDOW w AS (PARTITION BY i)", ["a"]),
    ("SELECT i FROM a GROUP BY GROUPING SETS ((i), ()) HAVING i > (SELECT min(i) FROM b)", ["a", "b"]),
    ("SELECT * FROM a;  ", ["a"]),
    ("SELECT left.i FROM left JOIN date ON left.i = date.i", ["left", "date"]),
    ("SELECT 'é😀' /* ü */, `é` -- 😀\n FROM /* x */ `ä``b` -- ß\n , c", ["ä`b", "c"]),
    ("SELECT i FROM a GROUP /* c */ BY -- d\n i UNION /* /* e */ FROM z */ ALL SELECT 1 FROM b", ["a", "b"]),
    ("SELECT r'\\', '--', \"/*\", `--` FROM a -- \\\n FROM z\n , b", ["a", "b"]),
    ("SELECT\t1\r\nFROM\r\n\ta", ["a"]),
    ("SELECT * FROM a JOIN a b ON a.i = b.i", ["a", "a"]),
    ("SELECT * FROM a NATURAL JOIN b JOIN c USING (i)", ["a", "b", "c"]),
]
CTES = [
    ("WITH a AS (SELECT * FROM b) SELECT * FROM a, A", ["b"]),
    ("WITH a AS (SELECT * FROM a) SELECT * FROM a", ["a"]),
    ("WITH a AS (SELECT 1), b AS (SELECT * FROM a, c) SELECT * FROM b", ["c"]),
    ("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, b", ["b"]),
    ("WITH a AS (WITH b AS (SELECT * FROM c) SELECT * FROM b) SELECT * FROM a, b", ["c", "b"]),
    ("WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM b) SELECT * FROM a), a", ["b"]),
    ("WITH a AS (SELECT 1) SELECT * FROM a UNION SELECT * FROM a", []),
    ("WITH a AS (SELECT 1) SELECT * FROM db.a", ["db.a"]),
    ("SELECT * FROM b WHERE EXISTS (WITH a AS (SELECT * FROM c) SELECT * FROM a)", ["b", "c"]),
    ("WITH a AS (SELECT 1) SELECT * FROM b WHERE i IN (SELECT * FROM a)", ["b"]),
    ("WITH RECURSIVE r AS (SELECT * FROM e UNION ALL SELECT * FROM r JOIN e) SELECT * FROM r", ["e", "e"]),
    ("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM R WHERE x < 9) SELECT * FROM `r`", []),
    ("WITH RECURSIVE a AS (SELECT * FROM t), b AS (SELECT * FROM a) SELECT * FROM b", ["t"]),
]


@pytest.mark.parametrize(("text", "expected"), READS + CTES)
def test_all_tables_are_found_and_nothing_else(text, expected):
    assert names(text) == expected


# The tree of the pipe syntax has no alias to compare.
@pytest.mark.parametrize(("text", "expected"), [case for case in READS + CTES if "|>" not in case[0]])
def test_replacing_the_references_changes_nothing_but_the_tables(text, expected):
    new = replaced(text, lambda ref: "`some_table`")
    bare = {name.rpartition(".")[2] for name in expected}
    ctes = {cte.alias for cte in sqlglot.parse_one(blank_comments(text), read="spark").find_all(exp.CTE)}
    if bare & ctes:
        assert [ref.name for ref in parse_query(new).references] == ["some_table"] * len(expected)
        return
    assert shape(new, {"some_table"}) == shape(text, bare)


def test_a_reference_keeps_its_name_as_alias_unless_it_has_one():
    text = "SELECT * FROM a, db.b, c AS x, d y, `e f`, left, `Db`.`G`"
    assert [ref.alias for ref in parse_query(text).references] == [
        "a",
        "b",
        None,
        None,
        "`e f`",
        "`left`",
        "`G`",
    ]


NAME = st.sampled_from(["a", "`b c`", "db.t", "`d``b` . t1", "Ünï", "`ünï`", "date", "x1"])
ALIAS = st.sampled_from(["", " z", " AS z", " AS `z z`", " /* c */ AS -- d\n z"])
GAP = st.sampled_from([" ", "\n", "\t", " /* é😀 FROM nothing */ ", " -- 'x\n", "\r\n  "])
LITERAL = st.sampled_from(["1", "'é😀'", "'FROM a'", '"x"', "`ü`", "'it\\'s'", "'a' 'b'"])


@given(st.lists(st.tuples(NAME, ALIAS, GAP, LITERAL), min_size=1, max_size=5))
def test_offsets_are_right_whatever_stands_around(parts):
    text, spans = "SELECT *", []
    for number, (name, alias, gap, literal) in enumerate(parts):
        text += f"{' UNION ALL SELECT *' if number else ''},{gap}{literal}{gap}FROM{gap}"
        spans.append((len(text), len(text) + len(name)))
        text += f"{name}{alias}"
    parsed = parse_query(text)
    assert parsed.problems == ()
    assert [(ref.start, ref.end) for ref in parsed.references] == spans
    new = replaced(text, lambda ref: "some_table")
    assert [ref.name for ref in parse_query(new).references] == ["some_table"] * len(parts)
    assert parse_query(new).normal.replace("`", "") == parsed.normal.replace("`", "")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "", "the query is empty. Write a SELECT."),
        (" -- nothing\n;", "", "the query is empty. Write a SELECT."),
        (
            "SELECT 1; SELECT 2",
            "SELECT 2",
            "a second statement begins with 'SELECT'. Keep one SELECT per stream table.",
        ),
        (
            "CREATE TABLE x AS SELECT 1",
            "CREATE",
            "the query must be a SELECT, but begins with 'CREATE'. Write a SELECT that returns the rows of the table.",
        ),
        (
            "EXPLAIN SELECT 1",
            "EXPLAIN",
            "the query must be a SELECT, but begins with 'EXPLAIN'. Write a SELECT that returns the rows of the table.",
        ),
        (
            "TABLE a",
            "TABLE",
            "the query must be a SELECT, but begins with 'TABLE'. Write a SELECT that returns the rows of the table.",
        ),
        (
            "WITH x AS (SELECT 1) INSERT INTO a SELECT * FROM x",
            "WITH",
            "the query must be a SELECT, but is INSERT. Write a SELECT that returns the rows.",
        ),
        (
            "SELECT * INTO b FROM a",
            "b FROM",
            "SELECT INTO writes a table. Leave INTO out: the result is the table.",
        ),
        (
            "SELECT * FROM a TABLESAMPLE (10 PERCENT)",
            "a TABLE",
            "TABLESAMPLE reads other rows on every run, so the table would never settle. Filter by a column instead.",
        ),
        (
            "SELECT * FROM a VERSION AS OF 3",
            "a VERSION",
            "VERSION AS OF and TIMESTAMP AS OF are not allowed: each tick pins the snapshots it reads. "
            "Leave it out; to see an older state, run the tick for that time.",
        ),
        (
            "SELECT * FROM a FOR TIMESTAMP AS OF '2026-01-01' x",
            "a FOR",
            "VERSION AS OF and TIMESTAMP AS OF are not allowed: each tick pins the snapshots it reads. "
            "Leave it out; to see an older state, run the tick for that time.",
        ),
        (
            "SELECT * FROM f(TABLE(t))",
            "TABLE(t)",
            "TABLE(…) hides which table is read. Name the table in a FROM clause.",
        ),
        (
            "SELECT * FROM a, IDENTIFIER('b')",
            "IDENTIFIER",
            "IDENTIFIER(…) hides which table is read. Name the table in a FROM clause.",
        ),
        (
            "WITH a AS (INSERT INTO b SELECT 1) SELECT * FROM c",
            "a AS",
            "the CTE 'a' is not a SELECT. Write a SELECT between its parentheses.",
        ),
        (
            "SELECT {{ ds }} FROM a",
            "{{",
            "the query has a parameter or a template, and nothing fills it in. Write the value itself.",
        ),
        (
            "SELECT :day FROM a",
            ":day",
            "the query has a parameter or a template, and nothing fills it in. Write the value itself.",
        ),
        (
            "SELECT FROM a",
            "a",
            "the SELECT has no columns. Name them between SELECT and FROM.",
        ),
        (
            "WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a",
            "b), b AS",
            "'b' is read before WITH RECURSIVE defines it. Define it first, or make it a stream table of its own.",
        ),
        (
            "SELECT * FROM a WHER x = 1 AND",
            "x = 1",
            "the query does not parse: 'x' is not expected here. Correct the SQL there.",
        ),
        (
            "SELECT (1 FROM a",
            "FROM",
            "the query does not parse: ')' is expected before 'FROM'. Correct the SQL there.",
        ),
        (
            "SELECT * FROM a WHERE i IN (1, 2",
            "2",
            "the query does not parse: ')' is expected, but the query ends with '2'. Correct the SQL there.",
        ),
        (
            "SELECT * FROM a WHERE",
            "",
            "the query does not parse: it ends after 'WHERE', where more is expected. Correct the SQL there.",
        ),
        (
            "SELECT * FROM WHERE x",
            "WHERE",
            "the query does not parse: the name of a table is expected before 'WHERE'. Correct the SQL there.",
        ),
        (
            "SELECT 'it''s -- \"' FROM a -- it's\n WHERE x = 'b",
            "'b",
            "the query does not parse: the quote ' that opens here is never closed. Close it.",
        ),
        (
            "SELECT 1 /* FROM a",
            "/*",
            "the query does not parse: the comment that opens here is never closed. Close it.",
        ),
        (
            "SELECT " + "(" * 100 + "[1]" + ")" * 100,
            "[",
            "the query nests brackets more than 100 levels deep. Split it with a WITH clause, or into tables.",
        ),
    ],
)
def test_what_cannot_be_a_stream_table_is_refused_at_its_place(text, place, message, caplog):
    with caplog.at_level(logging.WARNING):
        (problem,) = parse_query(text).problems
    assert f"{problem.message} {problem.hint}".strip() == message
    assert text[problem.offset :].startswith(place)
    assert place or problem.offset in (0, len(text))
    assert "\x1b" not in problem.message
    assert caplog.records == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x FROM ^n.a TABLESAMPLE (10 PERCENT) AS t",
        "SELECT x FROM a AS t ^TABLESAMPLE (10 PERCENT)",
        "SELECT x FROM a AS t ^tablesample (BUCKET 1 OUT OF 4)",
        "SELECT x FROM (SELECT x FROM a) ^TABLESAMPLE (5 ROWS)",
        "SELECT x FROM (SELECT x FROM a) AS t ^TABLESAMPLE (5 ROWS)",
        "SELECT x FROM (SELECT x FROM a) ^TABLESAMPLE (5 ROWS) AS t",
        "SELECT x FROM b JOIN (SELECT x FROM a) ^TABLESAMPLE (5 ROWS) t USING (x)",
        "WITH c AS (SELECT x FROM a) SELECT x FROM ^c TABLESAMPLE (5 ROWS)",
        "SELECT * FROM ^range(10) TABLESAMPLE (5 ROWS)",
        "SELECT * FROM VALUES (1) ^TABLESAMPLE (5 ROWS)",
    ],
)
def test_a_sample_is_refused_wherever_it_stands(text):
    place = text.index("^")
    (problem,) = parse_query(text.replace("^", "")).problems
    assert (problem.offset, problem.message.partition(" ")[0]) == (place, "TABLESAMPLE")


def test_several_mistakes_are_told_at_once():
    text = "SELECT * FROM a VERSION AS OF 1, b TABLESAMPLE (1 ROWS)"
    assert [problem.offset for problem in parse_query(text).problems] == [14, 33]


def test_columns_named_with_their_namespace_are_found():
    text = "SELECT db.a.x, a.s.f, s.f, db.a.*, db.a.s.f.g FROM db.a"
    assert parse_query(text).qualified_columns == (
        ("db", "a", 7),
        ("a", "s", 15),
        ("db", "a", 27),
        ("db", "a", 35),
    )


def test_a_parser_that_stumbles_takes_nothing_else_down(monkeypatch):
    def stumble(*args, **kwargs):
        raise TypeError("no such thing")

    monkeypatch.setattr("sqlglot.dialects.spark.Spark.parser", stumble)
    (problem,) = parse_query("SELECT 1").problems
    assert f"{problem.message} {problem.hint}" == "the query does not parse. The parser gave up: no such thing."
