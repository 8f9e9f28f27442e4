"""Whether a query may read a column of a table, by its text alone; in doubt it does."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from airflow_trickle.algebra.parsing import parse_statement
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.identifiers import fold


def reads_column(text: str, tables: Collection[int], column: str) -> int | None:
    """Where a query may read a column; None if it certainly does not.

    By name: unless another table stands in front of it. By a star over the table. Or in a way that takes in all
    columns: NATURAL JOIN, PIVOT, a list of names behind the table, the pipe syntax.

    >>> reads_column("SELECT id FROM t", [15], "at")
    >>> reads_column("SELECT o.at, t.id FROM t JOIN o ON o.id = t.id", [23], "at")
    >>> reads_column("SELECT id FROM t WHERE at > 1", [15], "at")
    23
    >>> reads_column("SELECT count(*), t.* FROM t", [26], "at")
    17

    Args:
        text: The query.
        tables: Where it names the table.
        column: The name of the column.
    """
    statement = parse_statement(text)
    if isinstance(statement, QueryProblem) or "|>" in text:
        return 0
    scans = [scan for scan in statement.tree.find_all(exp.Table) if _start(scan) in tables]
    if {_start(scan) for scan in scans} != set(tables):
        return min(tables, default=0)
    for scan in scans:
        alias = scan.args.get("alias")
        whole = not isinstance(scan.parent, (exp.From, exp.Join)) or (alias is not None and alias.args.get("columns"))
        if whole or scan.args.get("pivots"):
            return _start(scan)
    names = {fold(scan.alias_or_name) for scan in scans}
    found = [*_by_name(statement.tree, fold(column), names), *_by_star(statement.tree, scans), *_whole(statement.tree)]
    return min(found, default=None)


def _start(node: exp.Expr) -> int:
    parts = node.parts if isinstance(node, exp.Table) else [node]
    return int(parts[0].meta.get("start", 0))


def _by_name(tree: exp.Expr, column: str, tables: Collection[str]) -> Iterator[int]:
    for node in tree.find_all(exp.Column):
        if fold(node.name) == column and (not node.table or fold(node.table) in tables):
            yield _start(node.parts[0])
    for join in tree.find_all(exp.Join):
        for name in join.args.get("using") or ():
            if fold(name.name) == column:
                yield _start(name)


def _by_star(tree: exp.Expr, scans: Collection[exp.Table]) -> Iterator[int]:
    """The stars of the SELECTs that read the table; that of count(*) counts rows."""
    for star in tree.find_all(exp.Star):
        select, around = star.find_ancestor(exp.Select), star.parent
        if isinstance(around, exp.Count) or select is None:
            continue
        own = [scan for scan in scans if scan.find_ancestor(exp.Select) is select]
        qualifier = fold(around.table) if isinstance(around, exp.Column) and around.table else None
        if any(qualifier is None or fold(scan.alias_or_name) == qualifier for scan in own):
            yield _start(around.parts[0]) if isinstance(around, exp.Column) and qualifier else _start(star)


def _whole(tree: exp.Expr) -> Iterator[int]:
    """What takes in all columns of what it reads."""
    for join in tree.find_all(exp.Join):
        if join.args.get("method") == "NATURAL" and join.this is not None:
            yield _start(join.this)
    for pivot in tree.find_all(exp.Pivot):
        yield min((part.meta["start"] for part in pivot.walk() if "start" in part.meta), default=0)
