"""Edge types of what is not understood, or not held by the tree."""

from __future__ import annotations

import pytest
from sqlglot.dialects.dialect import Dialect

from airflow_trickle.algebra import functions, nodes
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.monotonicity import reads_of
from airflow_trickle.analysis.strata import EdgeType
from tests.analysis.edge_readers import because, edges, read_of, signs

# What is not understood.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT my_function(x) FROM a WHERE x IN (SELECT x FROM b)", "a- b-"),
        ("SELECT x FROM a WHERE my_function(x)", "a-"),
        ("SELECT x FROM a WHERE my_function(x, (SELECT max(x) FROM b))", "a- b-"),
        ("SELECT x FROM a JOIN b ON my_function(a.x, b.x)", "a- b-"),
        ("SELECT x, (SELECT max(x) FROM b) FROM a GROUP BY my_function(x)", "b- a-"),
        ("SELECT db.my_function(x) FROM a", "a-"),
        ("SELECT `my function`(x) FROM a", "a-"),
        ("SELECT my_function(x) OVER (ORDER BY x) FROM a", "a-"),
        ("SELECT x FROM a JOIN (SELECT my_function(x) AS x FROM b) s USING (x)", "a+ b-"),
        ("SELECT * FROM a LATERAL VIEW my_function(xs) t AS v", "a-"),
    ],
)
def test_an_unknown_function_makes_its_select_opaque(text, expected):
    assert signs(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x FROM a |> WHERE x > 1",
        "FROM a |> AGGREGATE count(*) GROUP BY x",
        "SELECT TRANSFORM(x) USING 'cat' AS (y) FROM a",
        "SELECT DISTINCT ON (x) x FROM a",
        "SELECT explode(xs), count(*) OVER (PARTITION BY y) FROM a",
    ],
)
def test_what_is_not_understood_is_not_monotone(text):
    assert signs(text) == "a-"


def test_pipes_make_every_table_opaque():
    assert signs("SELECT * FROM a |> JOIN b ON a.x = b.x |> WHERE EXISTS (SELECT 1 FROM c)") == "a- b- c-"
    assert because("FROM a |> WHERE x > 1", "a") == "the pipe syntax |> is not understood"


@pytest.mark.parametrize(
    "text",
    ["SELECT x FROM a TABLESAMPLE (10 PERCENT)", "SELECT x FROM a VERSION AS OF 3", "SELECT * FROM f(TABLE(a))"],
)
def test_what_is_refused_has_no_edges_to_judge(text):
    assert parse_query(text).problems
    assert parse_query(text).tree is None


#: Spark takes all of these; the places are not part of the tree.
HIDDEN = [
    "SELECT * FROM b LATERAL VIEW explode((SELECT collect_list(x) FROM {})) e AS y",
    "SELECT * FROM b, LATERAL explode((SELECT collect_list(x) FROM {})) AS e(y)",
    "SELECT * FROM explode((SELECT collect_list(x) FROM {})) AS e(y) JOIN b",
    "SELECT x FROM b UNION SELECT y FROM b ORDER BY (SELECT max(x) FROM {}), x LIMIT 1",
    "(SELECT x FROM b) ORDER BY (SELECT max(x) FROM {}), x LIMIT 1",
    "SELECT sum(x) OVER w FROM b WINDOW w AS (ORDER BY (SELECT max(y) FROM {}))",
    "SELECT * FROM b PIVOT (sum(x + (SELECT max(x) FROM {})) FOR y IN (1, 3))",
    "SELECT x FROM b SORT BY (SELECT max(x) FROM {}) LIMIT 1",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_a_table_in_a_place_that_the_tree_does_not_hold_is_not_monotone(text):
    assert edges(text.format("a"))["a"].type is EdgeType.NON_MONOTONE


#: Not noticed yet: the tree has lost the only place that reads the CTE.
@pytest.mark.parametrize("text", HIDDEN)
def test_a_cte_in_a_place_that_the_tree_does_not_hold_is_not_monotone(text):
    assert edges(f"WITH c AS (SELECT x, y FROM a) {text.format('c')}")["a"].type is EdgeType.NON_MONOTONE


@pytest.mark.parametrize("text", HIDDEN[:2])
def test_a_self_reference_in_a_place_that_the_tree_does_not_hold_is_not_monotone(text):
    query = f"WITH RECURSIVE r AS (SELECT x FROM a UNION ALL {text.format('r')}) SELECT x FROM r"
    assert edges(query)["a"].type is EdgeType.NON_MONOTONE


@pytest.mark.parametrize(
    "call",
    [
        *("list(x)", "merge(x)", "array_sum(x)", "to_base32(x)", "db.abs(x)", "keep(x)", "session(x)"),
        # The parser has a grammar of its own for these, or takes them for an operator.
        *("normalize(x)", "glob(x, y)", "weight_string(x)", "safe_cast(x AS INT)", "convert(x USING utf8)"),
        *("json_object(x, y)", "xmlelement(x)", "connect_by_root(x)", "cast(x AS INT) + try_convert(x USING utf8)"),
    ],
)
def test_a_function_that_only_other_databases_have_is_an_unknown_one(call):
    assert "is not one of Spark's own functions" in because(f"SELECT {call} FROM a", "a")


@pytest.mark.parametrize("name", sorted(name.lower() for name in Dialect.get_or_raise("spark").parser_class.FUNCTIONS))
def test_no_function_that_spark_does_not_have_passes_for_one_of_its_own(name):
    calls = [f"{name}({arguments})" for arguments in ("", "x", "x, y", "x, y, z", "x, y, z, x")]
    for call in calls if name not in functions.KNOWN else ():
        parsed = parse_query(f"SELECT {call} AS y FROM a")
        assert parsed.problems or isinstance(parsed.tree, nodes.Opaque) or parsed.doubts, call


@pytest.mark.parametrize(
    "text",
    [
        "SELECT agg(x), group_concat(x) FROM a",
        "SELECT arg_max(x, y) FROM a",
        "SELECT stdev(x) OVER (ORDER BY x) FROM a",
        "SELECT * FROM a LATERAL VIEW flatten(xs) t AS v",
    ],
)
def test_an_aggregate_or_generator_that_only_other_databases_have_is_an_unknown_one(text):
    assert isinstance(read_of(text).operator, nodes.Opaque)


# Names.


@pytest.mark.parametrize("name", ["db.b", "`db`.`b`", "cat.db.b", "`b`", "B"])
def test_a_table_is_judged_however_it_is_named(name):
    found = edges(f"SELECT x FROM a EXCEPT SELECT x FROM {name} AS q")
    assert [edge.type for edge in found.values()] == [EdgeType.MONOTONE, EdgeType.NON_MONOTONE]
    found = edges(f"SELECT x FROM {name}, LATERAL (SELECT count(*) FROM db.b) AS l")
    assert EdgeType.NON_MONOTONE in {edge.type for edge in found.values()}


def test_every_scan_stands_where_the_query_names_its_table():
    parsed = parse_query("SELECT * FROM db.a x JOIN `b c` ON true WHERE x.i IN (SELECT i FROM c . d . e)")
    assert set(reads_of(parsed.tree)) == {ref.start for ref in parsed.references}


def test_one_bad_place_of_two_decides():
    assert signs("SELECT x FROM a WHERE x NOT IN (SELECT y FROM a)") == "a-"
    assert signs("SELECT x FROM a UNION ALL SELECT max(x) FROM a") == "a-"
    assert signs("SELECT x FROM a UNION ALL SELECT y FROM a") == "a+"
    assert signs("SELECT max(x) FROM a UNION ALL SELECT x FROM A") == "a-"
