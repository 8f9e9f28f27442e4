"""What a query reads: its table references, found in the text so that they can be replaced verbatim."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlglot import Token, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError

from airflow_trickle.algebra.comments import blank_comments
from airflow_trickle.algebra.scope import Cte, cte_seen
from airflow_trickle.algebra.syntax import QueryProblem, explain_parse_error, explain_token_error
from airflow_trickle.algebra.tokens import check_statement, normal_form

_SPARK = Dialect.get_or_raise("spark")
#: Long enough that sqlglot hands back all the text before an error, which tells its exact place.
_WHOLE_TEXT = 1 << 40
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"\{\{|\$\{|[:@][A-Za-z_]|\?")
#: Words that Spark takes as the name of a table but not as an alias.
_NO_ALIAS = frozenset(
    ["anti", "cross", "except", "full", "inner", "intersect", "join", "lateral", "left", "minus"]
).union(["natural", "on", "right", "semi", "union", "using"])
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
#: Functions that read a table by its name, which would hide it from the graph.
_HIDING = frozenset({"identifier", "stream", "table"})


@dataclass(frozen=True)
class TableRef:
    """One place where a query names a table: ``text[start:end]`` is the name as it was written."""

    parts: tuple[str, ...]
    start: int
    end: int
    #: The bare name to add as an alias when the name is replaced; None where the text has an alias.
    alias: str | None

    @property
    def name(self) -> str:
        """The name without its quotes."""
        return ".".join(self.parts)


@dataclass(frozen=True)
class ParsedQuery:
    """What is known of a query's text without any catalog."""

    references: tuple[TableRef, ...] = ()
    #: Columns written as ``namespace.table.column``: the first two parts, and where.
    qualified_columns: tuple[tuple[str, str, int], ...] = ()
    #: The text without comments, layout, and the case of keywords; references are marked, not named.
    normal: str = ""
    problems: tuple[QueryProblem, ...] = ()


def parse_query(text: str) -> ParsedQuery:
    """Reads one query in Spark SQL; what is wrong with it is in ``problems``, nothing is raised.

    >>> [ref.name for ref in parse_query("WITH a AS (SELECT * FROM x.b) SELECT * FROM a, c").references]
    ['x.b', 'c']
    """
    bare = blank_comments(text)
    try:
        tokens = _SPARK.tokenize(bare)
    except TokenError:
        return ParsedQuery(problems=(explain_token_error(text),))
    tree = check_statement(tokens) or _parse(bare, tokens)
    if isinstance(tree, QueryProblem):
        return ParsedQuery(problems=(tree,))
    return _Reader(bare).read(tree, tokens)


def _parse(text: str, tokens: list[Token]) -> exp.Expr | QueryProblem:
    try:
        tree = _SPARK.parser(error_message_context=_WHOLE_TEXT).parse(tokens, text)[0]
    except ParseError as error:
        return explain_parse_error(error)
    except RecursionError:
        return QueryProblem(0, "the query is nested too deep to be read.", "Split it with a WITH clause.")
    except Exception as error:
        # sqlglot stumbles over some nonsense with errors of any type; one query must not hide all others.
        return QueryProblem(0, "the query does not parse.", f"The parser gave up: {error}.")
    return tree if isinstance(tree, _QUERIES) else _not_a_query(tree)


def fingerprint(parsed: ParsedQuery, identifiers: Iterable[str]) -> str:
    """What the query means, as 16 hexadecimal digits.

    Comments, layout, the case of keywords and functions, an optional AS and the way a table is named do
    not change it; everything else does, the tables that the names stand for included.

    Args:
        parsed: The query.
        identifiers: The Iceberg table of each of its references, in their order.
    """
    meaning = "\x00".join((parsed.normal, *identifiers))
    return hashlib.sha256(meaning.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _not_a_query(tree: exp.Expr | None) -> QueryProblem:
    what = "an empty statement" if tree is None else tree.key.upper()
    return QueryProblem(0, f"the query must be a SELECT, but is {what}.", "Write a SELECT that returns the rows.")


class _Reader:
    """Walks the tree once and keeps what is of interest."""

    def __init__(self, text: str) -> None:
        self._text = text
        #: By start: the pipe syntax may show one place twice.
        self._references: dict[int, TableRef] = {}
        self._columns: list[tuple[str, str, int]] = []
        self._problems: list[QueryProblem] = []
        #: Where identifiers begin, and which of them are aliases that may do without AS.
        self._names: set[int] = set()
        self._aliases: set[int] = set()

    def read(self, tree: exp.Expr, tokens: list[Token]) -> ParsedQuery:
        for node in tree.walk():
            visit = _VISITORS.get(type(node))
            if visit is not None:
                visit(self, node)
        references = tuple(self._references[start] for start in sorted(self._references))
        return ParsedQuery(
            references=references,
            qualified_columns=tuple(sorted(self._columns, key=lambda column: column[2])),
            normal=normal_form(self._text, tokens, references, self._names, self._aliases),
            problems=tuple(sorted(set(self._problems))),
        )

    def _identifier(self, identifier: exp.Expr) -> None:
        self._names.add(identifier.meta.get("start", -1))

    def _table(self, table: exp.Table) -> None:
        parts = table.parts
        if not all(isinstance(part, exp.Identifier) for part in parts):
            return  # A table function such as range(10).
        if isinstance(table.parent, (exp.Into, exp.JoinHint)):
            return  # Written, not read; a hint names a relation of the query by its alias, which stays.
        self._alias(table)
        names = tuple(part.name for part in parts)
        if len(names) == 1 and self._is_cte(table, names[0], parts[0]):
            return
        self._check_extras(table, parts[0])
        start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        bare = self._text[parts[-1].meta["start"] : end]
        plain = _PLAIN.fullmatch(bare) and bare.casefold() not in _NO_ALIAS
        quoted = bare if plain or bare.startswith("`") else f"`{bare}`"
        self._references[start] = TableRef(names, start, end, None if table.args.get("alias") else quoted)

    def _is_cte(self, table: exp.Expr, name: str, identifier: exp.Expr) -> bool:
        """Whether the name is a CTE's, seen from inside out; a later one of WITH RECURSIVE is refused."""
        seen = cte_seen(table, name.casefold())
        if seen is Cte.LATER:
            self._refuse(
                identifier,
                f"'{name}' is read before WITH RECURSIVE defines it; mutual recursion is not built yet.",
                "Define it first, or make it a stream table of its own.",
            )
        return seen is not Cte.NONE

    def _check_extras(self, table: exp.Expr, name: exp.Expr) -> None:
        if table.args.get("sample"):
            self._refuse(
                name,
                "TABLESAMPLE reads other rows on every run, so the table would never settle.",
                "Filter by a column instead.",
            )
        if table.args.get("version"):
            self._refuse(
                name,
                "VERSION AS OF and TIMESTAMP AS OF are not allowed: each tick pins the snapshots it reads.",
                "Leave it out; to see an older state, run the tick for that time.",
            )

    def _column(self, column: exp.Expr) -> None:
        parts = column.parts if isinstance(column, exp.Column) else []
        if len(parts) > 2:
            self._columns.append((parts[0].name, parts[1].name, parts[0].meta.get("start", 0)))

    def _alias(self, node: exp.Expr) -> None:
        alias = node.args.get("alias")
        identifier = alias.this if isinstance(alias, exp.TableAlias) else alias
        if isinstance(identifier, exp.Identifier):
            self._aliases.add(identifier.meta.get("start", -1))

    def _cte(self, cte: exp.Expr) -> None:
        if not isinstance(cte.this, _QUERIES):
            self._refuse(cte, f"the CTE '{cte.alias}' is not a SELECT.", "Write a SELECT between its parentheses.")

    def _select(self, select: exp.Expr) -> None:
        if select.args.get("into"):
            self._refuse(select.args["into"], "SELECT INTO writes a table.", "Leave INTO out: the result is the table.")
        if not select.expressions:
            self._refuse(select, "the SELECT has no columns.", "Name them between SELECT and FROM.")

    def _parameter(self, node: exp.Expr) -> None:
        # sqlglot does not say where a parameter stands.
        found = _PARAMETER.search(self._text)
        message = "the query has a parameter or a template, and nothing fills it in."
        self._problems.append(QueryProblem(found.start() if found else 0, message, "Write the value itself."))

    def _function(self, node: exp.Expr) -> None:
        name = str(node.this).casefold()
        if name in _HIDING:
            self._refuse(
                node,
                f"{name.upper()}(…) hides which table is read.",
                "Name the table in a FROM clause.",
            )

    def _refuse(self, node: exp.Expr, message: str, hint: str) -> None:
        starts = (part.meta["start"] for part in node.walk() if "start" in part.meta)
        self._problems.append(QueryProblem(min(starts, default=0), message, hint))


#: The concrete classes of the tree -> what to do with them; all others are passed over.
_VISITORS: dict[type[exp.Expr], Any] = {
    exp.Identifier: _Reader._identifier,
    exp.Table: _Reader._table,
    exp.Alias: _Reader._alias,
    exp.Subquery: _Reader._alias,
    exp.CTE: _Reader._cte,
    exp.Column: _Reader._column,
    exp.Select: _Reader._select,
    exp.Parameter: _Reader._parameter,
    exp.Placeholder: _Reader._parameter,
    exp.Anonymous: _Reader._function,
}
