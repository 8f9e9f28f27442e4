"""A fingerprint follows the meaning of a query, not its looks."""

from __future__ import annotations

import pytest

from airflow_trickle.algebra.references import fingerprint, parse_query

QUERY = (
    "SELECT o.Id, count(*) AS n, Date FROM orders AS o JOIN db.people ON o.p = people.id WHERE s <> 'x' GROUP BY ALL"
)
TABLES = ("db.orders", "db.people")


def of(text, tables=TABLES):
    parsed = parse_query(text)
    assert parsed.problems == ()
    return fingerprint(parsed, tables)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SELECT", "select"),
        ("count(*)", "COUNT( * )"),
        ("GROUP BY ALL", "group\n  by all"),
        ("GROUP BY ALL", "GROUP /* what for */ BY ALL"),
        ("SELECT", "-- why\nSELECT /* what */"),
        ("GROUP BY ALL", "GROUP BY ALL;\n"),
        ("<>", "!="),
        ("AS n", "n"),
        ("AS o", "o"),
        ("db.people", "people"),
        ("db.people", "`people`"),
        ("db.people", "people AS people"),
        ("orders AS o", "shop.all_orders AS o"),
    ],
)
def test_looks_do_not_change_it(old, new):
    assert old in QUERY
    assert of(QUERY.replace(old, new)) == of(QUERY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'x'", "'X'"),
        ("'x'", "' x'"),
        ("o.Id", "o.id"),
        ("AS n", "AS N"),
        ("AS n", "AS m"),
        (", Date", ", date"),
        ("AS n", "AS `n`"),
        ("count(*)", "count(o.Id)"),
        ("count(*)", "count(DISTINCT o.Id)"),
        ("<>", "="),
        ("JOIN", "LEFT JOIN"),
        ("o.Id, count(*) AS n", "count(*) AS n, o.Id"),
        ("SELECT", "SELECT DISTINCT"),
    ],
)
def test_meaning_changes_it(old, new):
    assert old in QUERY
    assert of(QUERY.replace(old, new)) != of(QUERY)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT CAST(x AS INT) FROM a", "SELECT TRY_CAST(x AS INT) FROM a"),
        ("SELECT x / 2 FROM a", "SELECT x DIV 2 FROM a"),
        ("SELECT 1.0 FROM a", "SELECT 1.00 FROM a"),
        ("SELECT '\\n' FROM a", "SELECT r'\\n' FROM a"),
        ("SELECT * FROM a LATERAL VIEW explode(x) AS c", "SELECT * FROM a LATERAL VIEW explode(x) c"),
        ("SELECT * FROM a UNION SELECT 1", "SELECT * FROM a UNION ALL SELECT 1"),
        ("SELECT x FROM a ORDER BY x LIMIT 1", "SELECT x FROM a ORDER BY x DESC LIMIT 1"),
        ("SELECT x FROM a ORDER BY x LIMIT 1", "SELECT x FROM a ORDER BY x NULLS LAST LIMIT 1"),
        ("SELECT CAST(x AS STRUCT<Ab: INT>) FROM a", "SELECT CAST(x AS STRUCT<ab: INT>) FROM a"),
    ],
)
def test_pairs_that_a_tree_may_confuse_differ(one, other):
    assert of(one, ("db.a",)) != of(other, ("db.a",))


def test_the_tables_behind_the_names_count():
    assert of(QUERY, ("db.orders", "db.people")) != of(QUERY, ("db.orders", "db.people2"))
    assert of(QUERY, ("db.orders", "db.people")) != of(QUERY, ("db.people", "db.orders"))


def test_it_is_short_and_stable():
    # A change here recomputes every table of every user once: make it on purpose.
    assert of("SELECT id FROM orders", ("default.orders",)) == "a16a00a1cce6b0fe"
