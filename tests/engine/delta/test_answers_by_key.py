"""Random queries around subqueries that are answered by key from state: rows are read once, with both answers."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from tests import budgets
from tests.engine.delta.duckdb_judge import DuckDBJudge, Rows, changed_rows, random_rows
from tests.engine.delta.golden import Table

TABLES = {
    "p": Table("p", {"k": "INT", "v": "INT"}),
    "q": Table("q", {"k": "INT", "w": "INT"}),
    "r": Table("r", {"k": "INT", "z": "INT"}),
    "i": Table("i", {"k": "INT", "n": "INT", "b": "BIGINT"}),
}
_FROM = {
    "p": "p",
    "p, q WHERE": "p, q WHERE p.k = q.k",
    "p JOIN q": "q JOIN p ON q.w = p.k",
    "p, q, r WHERE": "r, q, p WHERE p.k = q.k AND q.w = r.k",
    "p LEFT JOIN q": "p LEFT JOIN q ON q.k = p.k",
}


#: A relation of which only some rows are read.
_CUT = re.compile(r"SELECT \* FROM `[qr]_\w+` WHERE (?!false)")


def _condition(chance: Random) -> str:
    """A condition with a subquery over i, about a column of p."""
    key, limit = chance.choice(["p.k", "p.v"]), chance.choice(["", " AND i.n > 1", " AND i.n IS NOT NULL"])
    where = limit.removeprefix(" AND ")
    return chance.choice(
        [
            f"EXISTS (SELECT 1 FROM i WHERE i.k = {key}{limit})",
            f"NOT EXISTS (SELECT * FROM i WHERE i.k = {key}{limit})",
            f"p.v >= (SELECT count(*) FROM i WHERE i.k = {key}{limit})",
            f"p.v < (SELECT sum(i.n) FROM i WHERE i.k = {key}{limit})",
            f"coalesce((SELECT sum(n) + count(*) FROM i WHERE i.k = {key}), 0) <> p.k",
            f"{key} IN (SELECT i.k FROM i{' WHERE ' + where if where else ''})",
            f"{key} NOT IN (SELECT i.k FROM i WHERE i.k IS NOT NULL{limit})",
            f"{key} NOT IN (SELECT i.k FROM i{' WHERE ' + where if where else ''})",
            f"{key} IN (SELECT i.k FROM i, r AS s WHERE s.k = i.n)",
            f"EXISTS (SELECT 1 FROM i WHERE i.b = {key})",
        ]
    )


def _query(chance: Random) -> str:
    tables = chance.choice(list(_FROM.values()))
    tests = [_condition(chance)]
    if chance.random() < 0.3:
        tests.append(chance.choice(["p.v > 0", _condition(chance), "p.k IS NOT NULL"]))
    chance.shuffle(tests)
    joined = f" {chance.choice(['AND', 'AND', 'AND', 'OR'])} ".join(tests)
    where = f"{tables} {'AND' if ' WHERE ' in tables else 'WHERE'} ({joined})" if " OR " in joined else ""
    where = where or f"{tables} {'AND' if ' WHERE ' in tables else 'WHERE'} {joined}"
    return chance.choice(
        [
            f"SELECT p.k, p.v FROM {where}",
            f"SELECT *, p.k + 1 AS more FROM {where}",
            f"SELECT p.k, count(*) AS n, sum(p.v) AS s FROM {where} GROUP BY p.k",
            f"SELECT g, count(*) AS n FROM (SELECT p.v AS g FROM {where}) AS d GROUP BY g",
        ]
    ).replace(
        "SELECT *, p.k + 1 AS more", "SELECT *, p.k + 1 AS more" if tables == "p" else "SELECT p.*, p.k + 1 AS more"
    )


def _states(chance: Random) -> tuple[Rows, Rows]:
    before = {name: random_rows(chance, table, chance.randrange(2, 9)) for name, table in TABLES.items()}
    moving = {"i"} | {name for name in TABLES if chance.random() < 0.3}
    after = {
        name: changed_rows(chance, TABLES[name], rows, grows=chance.random() < 0.2) if name in moving else rows
        for name, rows in before.items()
    }
    return before, after


@pytest.mark.seeded
def test_rows_around_a_subquery_are_right_whatever_its_answers_become() -> None:
    judge, used = DuckDBJudge(TABLES), Counter[str]()
    rounds = budgets.rounds(120)
    for seed in range(rounds):
        chance = budgets.chance(f"answers {seed}")
        query = _query(chance)
        for _ in range(2):
            before, after = _states(chance)
            reads = {name: rows for name, rows in before.items() if f"{name}." in query or f" {name} " in query}
            then = {name: after[name] for name in reads}
            verdict = judge.judge(query, reads, then, state=True, of_parts_alone=seed % 2 == 0)
            sql = " ".join([str(verdict.sql), *verdict.steps])
            assert verdict.found == verdict.wanted, (seed, query, reads, then, sql)
            assert verdict.state is None or verdict.state[0] == verdict.state[1], (seed, query, reads, then, sql)
            used["both answers at once"] += "__trickle_answers" in sql
            used["cut"] += _CUT.search(sql) is not None
            used["state"] += verdict.state is not None
    # Else the rules would not have been judged.
    assert used["both answers at once"] > rounds / 4, used
    assert used["cut"] > rounds / 40, used
    assert used["state"] > rounds, used
