"""Random queries of a lattice, judged by what DuckDB does: where they are accepted, better values give better ones."""

from __future__ import annotations

from random import Random

import duckdb
import pytest

from airflow_trickle.algebra.lattice.flow import Member, check_uses
from airflow_trickle.algebra.lattice.shape import shape_of
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.monotonicity import outermost_aggregate, reads_of
from airflow_trickle.analysis.strata import EdgeType
from tests import budgets

DATABASES = 40


class Queries:
    """Random queries, most of which are nearly right."""

    def __init__(self, random: Random):
        self._random = random

    def value(self, column: str, depth: int = 2) -> str:
        if depth == 0 or self._random.random() < 0.2:
            return column
        inner = self.value(column, depth - 1)
        other = self._random.choice(["1", "e.w", "NULL", "2"])
        form = self._random.choice(
            ["({0} + {1})", "({1} + {0})", "({0} - {1})", "least({0}, {1})", "greatest({1}, {0})", "CAST({0} AS INT)"]
            * 3
            + ["({1} - {0})", "({0} * {1})", "(- {0})", "abs({0})", "coalesce({0}, {1})", "({0} + {0})"]
            + ["CASE WHEN {0} > 1 THEN {1} ELSE {0} END"]
        )
        return form.format(inner, other)

    def condition(self, column: str) -> str:
        value = self.value(column, self._random.randint(0, 1))
        sign = self._random.choice(["<", "<=", ">", ">=", "<", "=", "<>"])
        return self._random.choice(
            [
                f"{value} {sign} 2",
                f"e.w {sign} {value}",
                f"{column} IS NOT NULL",
                f"{column} IS NULL",
                f"({column} {sign} 2 OR e.w > 1)",
                f"{column} {sign} 1 AND {column} IS NOT NULL",
                "e.w > 0",
            ]
        )

    def part(self) -> str:
        choice = self._random.choice
        where = f" WHERE {self.condition('s.cost')}" if self._random.random() < 0.6 else ""
        on = f" AND {self.condition('s.cost')}" if self._random.random() < 0.3 else ""
        join = choice(["JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"])
        source = choice(["t AS s", "t AS s", "(SELECT node, cost FROM t) AS s", "t AS s(node, cost)"])
        inner = f"{source} {join} e ON e.src = s.node{on}{where}"
        asked, made = self.condition("s.cost"), self.value("s.cost", 1)
        forms = [f"SELECT e.dst, {self.value('s.cost')} FROM {inner}"] * 6
        forms += [
            f"SELECT DISTINCT e.dst, {self.value('s.cost')} FROM {inner}",
            f"SELECT s.node, {self.value('s.cost')} FROM {inner} UNION SELECT src, w FROM e",
            f"SELECT {made}, 1 FROM {inner}",
            "SELECT node, cost FROM t INTERSECT SELECT src, w FROM e",
            "SELECT node, cost FROM t EXCEPT SELECT src, w FROM e",
            f"SELECT e.dst, 1 FROM e WHERE EXISTS (SELECT 1 FROM t AS s WHERE s.node = e.src AND {asked})",
            "SELECT e.dst, 1 FROM e WHERE e.src IN (SELECT node FROM t)",
            f"SELECT d.n, d.c + 1 FROM (SELECT e.dst AS n, {made} AS c FROM {inner}) AS d WHERE d.c < 3",
        ]
        return choice(forms)

    def query(self, best: str) -> str:
        return (
            f"SELECT node, {best}(cost) AS cost FROM (SELECT src AS node, 0 AS cost FROM e WHERE w = 2 "
            f"UNION ALL ({self.part()})) AS q GROUP BY node"
        )


def accepted(query: str, best: str) -> bool:
    """Whether a cycle may have such a table."""
    parsed = parse_query(query)
    if parsed.problems or parsed.statement is None or parsed.tree is None:
        return False
    shape = shape_of(parsed.statement.tree, "cost", best)
    own = {ref.start: Member("t", ("node", "cost"), "cost", best) for ref in parsed.references if ref.name == "t"}
    reads = reads_of(parsed.tree, outermost_aggregate(parsed.tree))
    if any(reads[start].type is EdgeType.NON_MONOTONE for start in own):
        return False
    return not check_uses(parsed.statement.tree, "t", shape, own)


class Judge:
    """Small databases, each with a state of the table and a better one."""

    def __init__(self, best: str):
        self._best = best
        self._con = duckdb.connect(config={"threads": 1})
        random = Random(best)
        for number in range(DATABASES):
            edges = [tuple(random.choice([None, 1, 2, 3]) for _ in range(2)) for _ in range(random.randint(1, 6))]
            before = {node: random.choice([None, 0, 1, 2, 3]) for node in (1, 2, 3) if random.random() < 0.7}
            after = {node: self._better(random, before.get(node)) for node in (1, 2, 3)}
            after = {node: cost for node, cost in after.items() if node in before or random.random() < 0.5}
            weighted = [(*edge, random.choice([None, 0, 1, 2])) for edge in edges]
            for state, rows in (("before", before), ("after", after)):
                self._con.execute(f"CREATE SCHEMA {state}{number}; USE {state}{number}")
                self._table("e", "src INT, dst INT, w INT", weighted)
                self._table("t", "node INT, cost INT", list(rows.items()))

    def _better(self, random: Random, cost: int | None) -> int | None:
        values = [one for one in range(-1, 6) if cost is None or self._is_better(one, cost)]
        return random.choice([cost, *values])

    def _is_better(self, one: int | None, other: int | None) -> bool:
        if one is None or other is None:
            return other is None
        return one <= other if self._best == "min" else one >= other

    def _table(self, name: str, columns: str, rows: list) -> None:
        self._con.execute(f"CREATE TABLE {name} ({columns})")
        if rows:
            self._con.execute(
                f"INSERT INTO {name} VALUES " + ", ".join(str(row) for row in rows).replace("None", "NULL")
            )

    def refutes(self, query: str) -> int | None:
        """The first database in which a better state gives a worse result."""
        for number in range(DATABASES):
            before, after = (self._rows(query, number, state) for state in ("before", "after"))
            if not all(node in after and self._is_better(after[node], cost) for node, cost in before.items()):
                return number
        return None

    def _rows(self, query: str, number: int, state: str) -> dict:
        self._con.execute(f"USE {state}{number}")
        return dict(self._con.execute(query).fetchall())


def judged(best: str, seed: int, count: int) -> tuple[int, int, int]:
    """How many queries were accepted, refused, and refused with a database that shows why."""
    judge, queries = Judge(best), Queries(Random(seed))
    good = bad = shown = 0
    for _ in range(count):
        query = queries.query(best)
        if accepted(query, best):
            good += 1
            refuted = judge.refutes(query)
            assert refuted is None, f"database {refuted} of {best}: {query}"
        else:
            bad += 1
            shown += judge.refutes(query) is not None
    return good, bad, shown


@pytest.mark.seeded
@pytest.mark.parametrize("best", ["min", "max"])
def test_accepted_queries_only_improve(best):
    count = budgets.rounds(100)
    good, bad, shown = judged(best, seed=budgets.SEED + 1, count=count)
    # Enough of both, and the judge would see most of what is refused.
    assert good >= count // 5
    assert shown >= bad // 4


@pytest.mark.soak
def test_accepted_queries_only_improve_for_long():
    good = 0
    for seed in budgets.soak_seeds(seconds=300):
        for best in ("min", "max"):
            good += judged(best, seed, 100)[0]
    print(f"{good} accepted queries, from seed {budgets.SEED}")
    assert good
