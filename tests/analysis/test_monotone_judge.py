"""Random queries, judged by what DuckDB does: a table called MONOTONE never takes a row away with a row more."""

from __future__ import annotations

from collections import Counter
from random import Random
from types import SimpleNamespace

import duckdb
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from sqlglot import exp

from airflow_trickle.algebra import nodes, predicates, survey
from airflow_trickle.algebra.nodes import JoinKind, LookupKind
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis import monotonicity
from airflow_trickle.analysis.edges import edges_of
from airflow_trickle.analysis.strata import EdgeType
from tests import budgets
from tests.analysis.random_queries import TABLES, Query, random_query
from tests.budgets import budget

VALUES = (None, 0, 1, 2)


class Judge:
    """Many small databases, each also with one row more in each of its tables.

    Database 7 is the schema ``s7``, ``s7_a`` is the same with a row more in table a.
    """

    def __init__(self, seed=0, size=48):
        self.size = size
        random = Random(seed)
        made = []
        for number in range(size):
            rows = {table: _some_rows(random) for table in TABLES}
            for more in ("", *TABLES):
                schema = f"s{number}_{more}" if more else f"s{number}"
                made.append(f"CREATE SCHEMA {schema}")
                for table in TABLES:
                    here = rows[table] + ([_row(random)] if table == more else [])
                    made.append(f"CREATE TABLE {schema}.{table} (x INT, y INT)")
                    if here:
                        values = ", ".join(str(row).replace("None", "NULL") for row in here)
                        made.append(f"INSERT INTO {schema}.{table} VALUES {values}")
        self._made = ";".join(made)
        self._open()

    def _open(self):
        self._con = duckdb.connect(config={"threads": 1})
        self._con.execute(self._made)

    def rows(self, query: Query, number, more=""):
        self._con.execute(f"USE s{number}_{more}" if more else f"USE s{number}")
        try:
            return Counter(self._con.execute(query.duckdb).fetchall())
        except (duckdb.InternalException, duckdb.FatalException) as error:
            # A defect of DuckDB, after which the database is of no use.
            self._open()
            raise duckdb.NotImplementedException(str(error)) from None

    def lost(self, query: Query, tables, numbers):
        """The first table and database in which a row more in that table takes a row of the result away."""
        for number in numbers:
            before = self.rows(query, number)
            for table in tables:
                if before and not before <= self.rows(query, number, table):
                    return table, number
        return None

    def told(self, query: Query, table, number):
        self._con.execute(f"USE s{number}_{table}")
        data = {name: self._con.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}
        before, after = self.rows(query, number), self.rows(query, number, table)
        return (
            f"{query.spark}\n{table} is called MONOTONE; with the last row of {table} in {data}, "
            f"{dict(before)} becomes {dict(after)}"
        )


def _row(random):
    return random.choice(VALUES), random.choice(VALUES)


def _some_rows(random):
    rows = [_row(random) for _ in range(random.randrange(4))]
    return [*rows, random.choice(rows)] if rows and random.random() < 0.5 else rows


def edges(query: Query):
    """Table -> its edge, over all its places, as the graph sees it."""
    parsed = parse_query(query.spark)
    if any("directly behind another one" in problem.message for problem in parsed.problems):
        return {}  # Refused, so there is nothing to judge.
    assert parsed.problems == ()
    return edges_of(parsed, tuple(SimpleNamespace(identifier=ref.name) for ref in parsed.references))


def types_of(query: Query):
    return {table: edge.type for table, edge in edges(query).items()}


def monotone(types):
    return [table for table, kind in types.items() if kind is EdgeType.MONOTONE]


@pytest.fixture(scope="module")
def judge():
    return Judge()


def check(judge, query, numbers):
    """Whether there was anything to judge."""
    tables = monotone(types_of(query))
    if not tables:
        return False
    try:
        found = judge.lost(query, tables, numbers)
    except duckdb.NotImplementedException:
        return False
    assert found is None, judge.told(query, *found)
    return True


@given(st.randoms(use_true_random=False), st.integers(2, 4))
@budget(4, suppress_health_check=list(HealthCheck))
def test_a_row_more_in_a_monotone_table_never_takes_a_row_away(judge, random, depth):
    query = random_query(random, depth)
    assume(check(judge, query, random.sample(range(judge.size), 6)))


@pytest.mark.seeded
@pytest.mark.parametrize("seed", range(4))
def test_seeded_queries_are_judged_alike_on_every_run(judge, seed):
    count = budgets.rounds(60)
    judged = sum(
        check(judge, random_query(random), random.sample(range(judge.size), 6))
        for random in (budgets.chance(f"{seed}/{number}") for number in range(count))
    )
    assert judged >= count // 3


@pytest.mark.soak
def test_random_queries_as_long_as_one_likes(capsys):
    made = judged = 0
    judge = None
    for seed in budgets.soak_seeds(seconds=60):
        if made % 2000 == 0:
            judge = Judge(seed)
        random = Random(seed)
        query = random_query(random, random.choice((2, 3, 4, 4, 5)), random.choice((4, 7, 10)))
        judged += check(judge, query, random.sample(range(judge.size), 8))
        made += 1
    with capsys.disabled():
        print(f"\nsoak: {made} queries, {judged} with something to judge")


def needless(judge, seed, count):
    """Reason -> how many tables of simple queries are NON_MONOTONE for it, and how many never lose a row."""
    called, never = Counter(), Counter()
    for number in range(count):
        random = Random(f"{seed}/{number}")
        query = random_query(random, random.choice((2, 3)), 3)
        for table, edge in edges(query).items():
            if edge.type is EdgeType.MONOTONE:
                continue
            reason = edge.because.partition(" (")[0]
            try:
                never[reason] += judge.lost(query, [table], range(judge.size)) is None
            except duckdb.NotImplementedException:
                continue
            called[reason] += 1
    return {reason: (called[reason], never[reason]) for reason, _ in called.most_common()}


@pytest.mark.soak
def test_how_often_a_table_is_called_non_monotone_though_it_never_loses_a_row(judge, capsys):
    found = needless(judge, "precision", 600)
    with capsys.disabled():
        total, never = (sum(counts[place] for counts in found.values()) for place in range(2))
        print(f"\nNON_MONOTONE: {total} tables, {never} of them never seen to lose a row in {judge.size} databases")
        for reason, (called, kept) in found.items():
            print(f"  {kept:4} of {called:4}: {reason}")


# Does the judge bite? Each rule is bent, and a query must be found that gives it away.


def _bent(node_class, changes):
    """The rule of a node, but with no reason against a child where ``changes(node, place)`` says so."""
    rule = monotonicity._PATHS[node_class]

    def steps(node):
        for place, (child, why, ends) in enumerate(rule(node)):
            yield child, None if changes(node, place) else why, ends

    return lambda patch: patch.setitem(monotonicity._PATHS, node_class, steps)


def _bent_join(kind, place, origin="JOIN"):
    return _bent(nodes.Join, lambda node, at: node.kind is kind and at == place and (node.origin or "JOIN") == origin)


def _replaced(owner, name, value):
    return lambda patch: patch.setattr(owner, name, value)


def _is_exists_or_in(one, condition):
    return isinstance(one, (exp.Exists, exp.In))


def _never_negated(part):
    return part.find(exp.Exists, exp.In) or part, False


def _any_unless_compared(self, node):
    if not isinstance(node.parent, exp.Binary):
        self.aggregate(node)


BENT = {
    "LEFT JOIN, right side": _bent_join(JoinKind.LEFT, 1),
    "RIGHT JOIN, left side": _bent_join(JoinKind.RIGHT, 0),
    "FULL JOIN, left side": _bent_join(JoinKind.FULL, 0),
    "FULL JOIN, right side": _bent_join(JoinKind.FULL, 1),
    "ANTI JOIN": _bent_join(JoinKind.ANTI, 1),
    "NOT EXISTS": _bent_join(JoinKind.ANTI, 1, "NOT EXISTS"),
    "NOT IN": _bent_join(JoinKind.ANTI, 1, "NOT IN"),
    "EXCEPT": _bent(nodes.SetOperation, lambda node, place: not node.all),
    "EXCEPT ALL": _bent(nodes.SetOperation, lambda node, place: node.all),
    "scalar subquery": _bent(nodes.Lookup, lambda node, place: node.kind is LookupKind.SCALAR),
    "EXISTS as a value": _bent(nodes.Lookup, lambda node, place: node.kind is LookupKind.EXISTS),
    "IN as a value": _bent(nodes.Lookup, lambda node, place: node.kind is LookupKind.IN),
    "GROUP BY with functions": _bent(nodes.Aggregate, lambda node, place: node.keys and node.functions),
    "aggregate of all rows": _bent(nodes.Aggregate, lambda node, place: not node.keys and node.functions),
    "window": _bent(nodes.Window, lambda node, place: True),
    "LIMIT": _bent(nodes.TopK, lambda node, place: node.limit is not None),
    "NOT before a lookup": _replaced(predicates, "_is_positive", _is_exists_or_in),
    "NOT before EXISTS and IN": _replaced(predicates, "_inside_not", _never_negated),
    "any() in a comparison": _replaced(survey.Survey, "any_", _any_unless_compared),
}


def given_away(judge, bend, seed, most=4000):
    """The first query that the bent rules call monotone, the real ones do not, and the data neither."""
    for number in range(most):
        random = Random(f"{seed}/{number}")
        query = random_query(random, random.choice((2, 3)), 4)
        real = types_of(query)
        if len(monotone(real)) == len(real):
            continue
        with pytest.MonkeyPatch.context() as patch:
            bend(patch)
            wrong = [table for table in monotone(types_of(query)) if real[table] is not EdgeType.MONOTONE]
        try:
            if wrong and judge.lost(query, wrong, range(judge.size)):
                return query
        except duckdb.NotImplementedException:
            continue
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", BENT)
def test_the_judge_finds_a_bent_rule(judge, name):
    assert given_away(judge, BENT[name], name)
