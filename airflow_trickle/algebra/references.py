"""What a query reads: its table references, found in the text so that they can be replaced verbatim."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import Token, TokenType, exp

from airflow_trickle.algebra.building import offset_of
from airflow_trickle.algebra.code_execution import code_in_query
from airflow_trickle.algebra.functions import BARE
from airflow_trickle.algebra.nodes import Node, Opaque, Scan
from airflow_trickle.algebra.parsing import QUERIES, Statement, parse_statement
from airflow_trickle.algebra.scope import cte_seen
from airflow_trickle.algebra.survey import Doubt, Survey, Visit, visit_of
from airflow_trickle.algebra.syntax import QueryProblem, refuse_sample
from airflow_trickle.algebra.tokens import normal_form
from airflow_trickle.algebra.tree import build_tree
from airflow_trickle.algebra.walks import all_reads
from airflow_trickle.identifiers import fold

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"\{\{|\$\{|[:@][A-Za-z_]|\?")
_SAMPLE = re.compile(r"\bTABLESAMPLE\b", re.IGNORECASE)
#: Words that Spark takes as the name of a table but not as an alias.
_NO_ALIAS = frozenset(
    ["anti", "cross", "except", "full", "inner", "intersect", "join", "lateral", "left", "minus"]
).union(["natural", "on", "right", "semi", "union", "using"])
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

    #: The text with blanks for comments.
    text: str = field(default="", repr=False)
    references: tuple[TableRef, ...] = ()
    #: Columns written as ``namespace.table.column``: the first two parts, and where.
    qualified_columns: tuple[tuple[str, str, int], ...] = ()
    #: The text without comments, layout, and the case of keywords; references are marked, not named.
    normal: str = ""
    #: The operator tree; None for a query that could not be read.
    tree: Node | None = None
    #: Functions whose answer is not given by their arguments, in the order of the text.
    doubts: tuple[Doubt, ...] = ()
    problems: tuple[QueryProblem, ...] = ()
    #: What runs code on the machine of Spark: a problem, unless an operator allows it.
    code: tuple[QueryProblem, ...] = ()
    #: What the parser made of it, for those who look closer.
    statement: Statement | None = field(default=None, repr=False, compare=False)


def parse_query(text: str) -> ParsedQuery:
    """Reads one query in Spark SQL; what is wrong with it is in ``problems``, nothing is raised.

    >>> [ref.name for ref in parse_query("WITH a AS (SELECT * FROM x.b) SELECT * FROM a, c").references]
    ['x.b', 'c']
    """
    statement = parse_statement(text)
    if isinstance(statement, QueryProblem):
        return ParsedQuery(problems=(statement,))
    # Before the reader, which may change the tree.
    code = code_in_query(statement.tokens, statement.tree)
    return replace(_Reader(statement.text).read(statement.tree, statement.tokens), code=code, statement=statement)


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


class _Reader:
    """Walks the tree once and keeps what is of interest."""

    def __init__(self, text: str) -> None:
        self._text = text
        #: By start: the pipe syntax may show one place twice.
        self._references: dict[int, TableRef] = {}
        #: Where a name is a CTE's.
        self._cte_reads: dict[int, str] = {}
        self._columns: list[tuple[str, str, int]] = []
        self._problems: list[QueryProblem] = []
        #: Where identifiers begin, and which of them are aliases that may do without AS.
        self._names: set[int] = set()
        self._aliases: set[int] = set()
        self._survey = Survey(text)

    def read(self, tree: exp.Expr, tokens: list[Token]) -> ParsedQuery:
        survey = self._survey
        for node in tree.walk():
            kind = type(node)
            visits = _VISITS.get(kind)
            if visits is None:
                visits = _VISITS[kind] = (_VISITORS.get(kind), visit_of(kind))
            visit, look = visits
            if visit is not None:
                visit(self, node)
            if look is not None:
                look(survey, node, self._place(node))
        references = tuple(self._references[start] for start in sorted(self._references))
        built = None if self._problems else self._tree(tree, tokens, references)
        return ParsedQuery(
            text=self._text,
            references=references,
            qualified_columns=tuple(sorted(self._columns, key=lambda column: column[2])),
            normal=normal_form(self._text, tokens, references, self._names, self._aliases),
            problems=tuple(sorted(set(self._problems))),
            tree=built,
            doubts=tuple(sorted(survey.doubts)),
        )

    def _place(self, node: exp.Expr) -> int:
        """Where a function stands; those that are written without parentheses have no place of their own."""
        start = node.meta.get("start")
        if start is None and isinstance(node, exp.Func) and not isinstance(node, exp.SubqueryPredicate):
            found = re.search(rf"\b{re.escape(node.sql_name())}\b", self._text, re.IGNORECASE)
            start = found.start() if found else None
        return offset_of(node) if start is None else int(start)

    def _tree(self, tree: exp.Expr, tokens: list[Token], references: tuple[TableRef, ...]) -> Node | None:
        if "|>" in self._text and any(token.token_type is TokenType.PIPE_GT for token in tokens):
            # The parser turns pipes into CTEs, and not always into those that Spark means.
            scans = tuple(Scan(ref.start, ref.name) for ref in references)
            return Opaque(0, scans, "QUERY", "the pipe syntax |> is not understood")
        built, problems = build_tree(tree, self._survey)
        self._problems += problems
        return None if built is None else self._complete(built, references)

    def _complete(self, tree: Node, references: tuple[TableRef, ...]) -> Node:
        """The tree; if it does not hold every read that the text has, all of it is opaque."""
        known = {read.offset for read in all_reads(tree)}
        reads = {**{ref.start: ref.name for ref in references}, **self._cte_reads}
        missing = sorted(start for start in reads if start not in known)
        if not missing:
            return tree
        # A CTE that is read where nobody looks may be the only way to its tables.
        scans = tuple(Scan(ref.start, ref.name) for ref in references)
        why = f"'{reads[missing[0]]}' is read in a place that is not understood"
        return Opaque(missing[0], (tree, *scans), "QUERY", why)

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
            self._cte_reads[parts[0].meta.get("start", -1)] = names[0]
            return
        self._check_extras(table, parts[0])
        start, end = parts[0].meta["start"], parts[-1].meta["end"] + 1
        bare = self._text[parts[-1].meta["start"] : end]
        plain = _PLAIN.fullmatch(bare) and fold(bare) not in _NO_ALIAS
        quoted = bare if plain or bare.startswith("`") else f"`{bare}`"
        self._references[start] = TableRef(names, start, end, None if table.args.get("alias") else quoted)

    def _is_cte(self, table: exp.Expr, name: str, identifier: exp.Expr) -> bool:
        """Whether the name is a CTE's, seen from inside out; a later one of WITH RECURSIVE is refused."""
        seen = cte_seen(table, fold(name))
        if seen is not None and seen.later:
            self._refuse(
                identifier,
                f"'{name}' is read before WITH RECURSIVE defines it.",
                "Define it first, or make it a stream table of its own.",
            )
        return seen is not None

    def _check_extras(self, table: exp.Expr, name: exp.Expr) -> None:
        if table.args.get("version"):
            self._refuse(
                name,
                "VERSION AS OF and TIMESTAMP AS OF are not allowed: each tick pins the snapshots it reads.",
                "Leave it out; to see an older state, run the tick for that time.",
            )

    def _sample(self, sample: exp.Expr) -> None:
        """TABLESAMPLE, wherever it stands: told at the table, else at the word itself."""
        owner = sample.parent
        if isinstance(owner, exp.Table):
            place = offset_of(owner.parts[0])
        else:
            words = [word.start() for word in _SAMPLE.finditer(self._text, 0, offset_of(sample, len(self._text)))]
            place = words[-1] if words else 0
        self._problems.append(refuse_sample(place))

    def _column(self, column: exp.Expr) -> None:
        parts = column.parts if isinstance(column, exp.Column) else []
        if len(parts) == 1 and fold(parts[0].name) in BARE and not parts[0].args.get("quoted"):
            self._survey.named(column, parts[0].name, parts[0].meta.get("start", 0))
        if len(parts) > 2:
            self._columns.append((parts[0].name, parts[1].name, parts[0].meta.get("start", 0)))

    def _alias(self, node: exp.Expr) -> None:
        alias = node.args.get("alias")
        identifier = alias.this if isinstance(alias, exp.TableAlias) else alias
        if isinstance(identifier, exp.Identifier):
            self._aliases.add(identifier.meta.get("start", -1))

    def _cte(self, cte: exp.Expr) -> None:
        if not isinstance(cte.this, QUERIES):
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
        name = fold(str(node.this))
        if name in _HIDING:
            self._refuse(
                node,
                f"{name.upper()}(…) hides which table is read.",
                "Name the table in a FROM clause.",
            )

    def _refuse(self, node: exp.Expr, message: str, hint: str) -> None:
        starts = (part.meta["start"] for part in node.walk() if "start" in part.meta)
        self._problems.append(QueryProblem(min(starts, default=0), message, hint))


#: Class of an expression -> what the reader and the survey do with it; filled as classes are met.
_VISITS: dict[type[exp.Expr], tuple[Any, Visit | None]] = {}

#: The concrete classes of the tree -> what to do with them; all others are passed over.
_VISITORS: dict[type[exp.Expr], Any] = {
    exp.Identifier: _Reader._identifier,
    exp.Table: _Reader._table,
    exp.TableSample: _Reader._sample,
    exp.Alias: _Reader._alias,
    exp.Subquery: _Reader._alias,
    exp.CTE: _Reader._cte,
    exp.Column: _Reader._column,
    exp.Select: _Reader._select,
    exp.Parameter: _Reader._parameter,
    exp.Placeholder: _Reader._parameter,
    exp.Anonymous: _Reader._function,
}
