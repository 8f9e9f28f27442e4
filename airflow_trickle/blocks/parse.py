"""From the tokens of a query to its blocks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlglot import Token, TokenType, exp

from airflow_trickle.algebra import functions
from airflow_trickle.algebra.nodes import SetKind
from airflow_trickle.algebra.parsing import Statement
from airflow_trickle.blocks import sources
from airflow_trickle.blocks.cursor import QUERY_STARTS, Cursor
from airflow_trickle.blocks.shapes import (
    Body,
    Call,
    ConstantRows,
    CteBlock,
    Item,
    NotInBlocks,
    Query,
    Select,
    SetOperation,
    Span,
    Subquery,
    SubqueryKind,
)
from airflow_trickle.identifiers import fold, unquote

_SETS = {
    TokenType.UNION: SetKind.UNION,
    TokenType.INTERSECT: SetKind.INTERSECT,
    TokenType.EXCEPT: SetKind.EXCEPT,
}
_ORDERS = {TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY}
_TAIL = _ORDERS | {TokenType.LIMIT, TokenType.OFFSET}
_AFTER_GROUP = {TokenType.HAVING, TokenType.QUALIFY, TokenType.WINDOW}
_CLAUSES = {TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, *_AFTER_GROUP, *_TAIL, *_SETS}
#: What may stand between a function and its OVER.
_BETWEEN = {"FILTER", "IGNORE", "RESPECT", "NULLS", "WITHIN"}
_ASKED = {TokenType.EXISTS: SubqueryKind.EXISTS, TokenType.IN: SubqueryKind.IN}
_CALLS = functions.AGGREGATES | functions.WINDOW_ONLY


@dataclass
class Blocks:
    """A query taken apart: its text and tokens, and where its aliases stand."""

    text: str
    tokens: list[Token]
    aliases: frozenset[int]
    #: Whether WITH RECURSIVE is taken apart too, for who can bring it to its fixed point.
    recursion: bool = False
    _starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._starts = [token.start for token in self.tokens]

    def cursor(self, span: Span) -> Cursor:
        """The tokens of a part of the text."""
        return Cursor(
            self.text, self.tokens, bisect_left(self._starts, span.start), bisect_left(self._starts, span.end)
        )

    def slice(self, span: Span) -> str:
        """A part of the text as written."""
        return self.text[span.start : span.end]

    # --- queries -----------------------------------------------------------------------------------

    def query(self, cursor: Cursor) -> Query:
        """A whole query: WITH, body, ORDER BY, LIMIT."""
        span = cursor.span
        ctes = tuple(self._ctes(cursor)) if cursor.take(TokenType.WITH) else ()
        begin = cursor.span.start
        body = self._body(cursor)
        order: tuple[Span, ...] = ()
        limit = skip = None
        while not cursor.done:
            if cursor.take(TokenType.ORDER_BY):
                order = tuple(part.span for part in cursor.until(_TAIL).split())
            elif cursor.take(*_ORDERS):
                cursor.until(_TAIL)  # where rows go, which changes nothing about the rows
            elif cursor.take(TokenType.LIMIT):
                part = cursor.until(_TAIL)
                limit = None if part.word() == "ALL" else part.span
            elif cursor.take(TokenType.OFFSET):
                skip = cursor.until(_TAIL).span
            elif not cursor.take(TokenType.SEMICOLON):
                raise cursor.lost()
        if not ctes and not order and limit is None and skip is None and isinstance(body, Query):
            return body
        return Query(span, ctes, body, order, limit, skip, begin)

    def _ctes(self, cursor: Cursor) -> Iterator[CteBlock]:
        recursive = cursor.take_word("RECURSIVE")
        if recursive and not self.recursion:
            raise NotInBlocks("WITH RECURSIVE is brought to its fixed point in full", cursor.span.start)
        while True:
            name = fold(unquote(cursor.name()))
            columns = ""
            if cursor.kind is TokenType.L_PAREN:
                columns = self.slice(cursor.inside().span)
            cursor.take(TokenType.ALIAS)
            if cursor.kind is not TokenType.L_PAREN:
                raise cursor.lost()
            yield CteBlock(name, columns, self.query(cursor.inside()), recursive)
            if not cursor.take(TokenType.COMMA):
                return

    def _body(self, cursor: Cursor) -> Body:
        first = cursor.at
        left = self._intersections(cursor)
        while cursor.kind in (TokenType.UNION, TokenType.EXCEPT):
            left = self._combined(cursor, first, left, self._intersections)
        return left

    def _intersections(self, cursor: Cursor) -> Body:
        first = cursor.at
        left = self._term(cursor)
        while cursor.kind is TokenType.INTERSECT:
            left = self._combined(cursor, first, left, self._term)
        return left

    def _combined(self, cursor: Cursor, first: int, left: Body, following: Callable[[Cursor], Body]) -> Body:
        kind = _SETS[cursor.tokens[cursor.at].token_type]
        cursor.at += 1
        every = cursor.take(TokenType.ALL)
        cursor.take(TokenType.DISTINCT)
        if cursor.take_word("BY"):
            raise NotInBlocks("UNION BY NAME is recomputed in full", cursor.span.start)
        right = following(cursor)
        # With the brackets of its sides.
        span = Span(cursor.tokens[first].start, cursor.tokens[cursor.at - 1].end + 1)
        return SetOperation(kind, every, _as_query(left), _as_query(right), span)

    def _term(self, cursor: Cursor) -> Body:
        if cursor.kind is TokenType.L_PAREN:
            return self.query(cursor.inside())
        if cursor.kind is TokenType.VALUES:
            return ConstantRows(cursor.until({*_SETS, *_TAIL}).span)
        if cursor.kind is TokenType.SELECT:
            return self._select(cursor)
        raise cursor.lost()

    # --- SELECT ------------------------------------------------------------------------------------

    def _select(self, cursor: Cursor) -> Select:
        start = cursor.need(TokenType.SELECT).start
        cursor.take(TokenType.HINT)
        distinct = cursor.take(TokenType.DISTINCT)
        cursor.take(TokenType.ALL)
        items = tuple(self._item(part) for part in cursor.until(_CLAUSES).split())
        found: dict[str, object] = {}
        if cursor.take(TokenType.FROM):
            part = cursor.until(_CLAUSES)
            found["sources"], found["laterals"] = sources.parse(self, part)
        if cursor.take(TokenType.WHERE):
            found["where"] = cursor.until(_CLAUSES).span
        if cursor.take(TokenType.GROUP_BY):
            found.update(self._group(cursor.until(_AFTER_GROUP | _TAIL | set(_SETS))))
        for name, kind in (("having", TokenType.HAVING), ("qualify", TokenType.QUALIFY), ("windows", TokenType.WINDOW)):
            if cursor.kind is kind:
                cursor.at += 1
                found[name] = cursor.until(_AFTER_GROUP | _TAIL | set(_SETS)).span
        end = cursor.tokens[cursor.at - 1].end + 1
        return Select(Span(start, end), distinct, items, **{"sources": (), **found})  # type: ignore[arg-type]

    def _item(self, part: Cursor) -> Item:
        last = part.tokens[part.end - 1]
        alias: str | None = None
        end = part.end
        if last.start in self.aliases and part.end - part.at > 1:
            alias = self.text[last.start : last.end + 1]
            end -= 1
        rest = Cursor(self.text, self.tokens, part.at, end)
        expression = rest.until({TokenType.ALIAS})
        if rest.take(TokenType.ALIAS) and not rest.done:
            alias = self.slice(rest.span)
        star, more = _star(expression)
        return Item(expression.span, alias, star, more)

    def _group(self, part: Cursor) -> dict[str, object]:
        span = part.span
        whole = Cursor(self.text, self.tokens, part.at, part.end)
        words = {part.tokens[at].text.upper() for at in range(part.at, part.end) if not part.is_name(at)}
        sets = bool(words & {"ROLLUP", "CUBE", "GROUPING SETS", "SETS"})
        if whole.word() == "ALL" and whole.end - whole.at == 1:
            return {"group": span, "group_all": True}
        if sets:
            return {"group": span, "sets": True}
        return {"group": span, "keys": tuple(one.span for one in whole.split())}

    # --- inside expressions ------------------------------------------------------------------------

    def subqueries(self, *spans: Span | None) -> Iterator[Subquery]:
        """The outermost queries inside expressions."""
        for span in spans:
            if span is None:
                continue
            cursor = self.cursor(span)
            while not cursor.done:
                if cursor.kind is TokenType.L_PAREN and cursor.peek(1) in QUERY_STARTS:
                    yield self._subquery(cursor)
                else:
                    cursor.at += 1

    def _subquery(self, cursor: Cursor) -> Subquery:
        before = cursor.tokens[cursor.at - 1].token_type if cursor.at else None
        if before in (TokenType.ANY, TokenType.ALL, TokenType.SOME):
            raise NotInBlocks("ANY and ALL of a query are recomputed in full", cursor.tokens[cursor.at].start)
        kind = SubqueryKind.SCALAR if before is None else _ASKED.get(before, SubqueryKind.SCALAR)
        start = cursor.tokens[cursor.at].start
        begin = cursor.tokens[cursor.at - 1].start if kind is SubqueryKind.EXISTS else start
        inside = cursor.inside()
        end = cursor.tokens[cursor.at - 1].end + 1
        return Subquery(Span(start, end), kind, self.query(inside), Span(begin, end))

    def calls(self, *spans: Span | None) -> Iterator[Call]:
        """The calls of aggregates and window functions, those inside other queries left out."""
        for span in spans:
            if span is None:
                continue
            cursor = self.cursor(span)
            while not cursor.done:
                if cursor.kind is TokenType.L_PAREN and cursor.peek(1) in QUERY_STARTS:
                    cursor.skip_one()
                elif (
                    cursor.peek(1) is TokenType.L_PAREN
                    and cursor.word().lower() in _CALLS
                    and not (cursor.at and cursor.tokens[cursor.at - 1].token_type is TokenType.DOT)
                ):
                    yield self._call(cursor)
                else:
                    cursor.at += 1

    def _call(self, cursor: Cursor) -> Call:
        first = cursor.at
        ahead = Cursor(self.text, self.tokens, first + 1, len(self.tokens))
        ahead.skip_one()
        while not ahead.done and ahead.word() in _BETWEEN and not ahead.is_name():
            ahead.at += 1
            if ahead.word() == "GROUP":
                ahead.at += 1
            if ahead.kind is TokenType.L_PAREN:
                ahead.skip_one()
        over: Span | None = None
        window: str | None = None
        if ahead.take(TokenType.OVER):
            if ahead.kind is TokenType.L_PAREN:
                inside = ahead.inside()
                over = Span(self.tokens[inside.at - 1].start, self.tokens[inside.end].end + 1)
            else:
                window = ahead.name()
        name = cursor.word().lower()
        cursor.at = first + 2  # an aggregate may stand inside a window function
        return Call(name, Span(self.tokens[first].start, self.tokens[ahead.at - 1].end + 1), over, window)


def _star(expression: Cursor) -> tuple[str | None, int | None]:
    """The qualifier of a star, and where its EXCEPT list ends."""
    at = expression.at
    while at < expression.end and expression.tokens[at].token_type is not TokenType.STAR:
        if expression.tokens[at].token_type is not TokenType.DOT and not expression.is_name(at):
            return None, None
        at += 1
    if at >= expression.end or (at > expression.at and expression.tokens[at - 1].token_type is not TokenType.DOT):
        return None, None
    qualifier = expression.text[expression.tokens[expression.at].start : expression.tokens[at].start]
    if at + 1 == expression.end:
        return qualifier, None
    if expression.tokens[at + 1].token_type is TokenType.EXCEPT:
        return qualifier, expression.tokens[expression.end - 1].start
    raise NotInBlocks("a star with more than EXCEPT is recomputed in full", expression.span.start)


def _as_query(body: Body) -> Query:
    return body if isinstance(body, Query) else Query(body.span, (), body)


def take_apart(statement: Statement, *, recursion: bool = False) -> tuple[Blocks, Query]:
    """The blocks of a query by its tokens alone; `check.blocks_of` has them checked.

    Raises:
        NotInBlocks: the query cannot be taken apart.
    """
    tokens = [token for token in statement.tokens if token.token_type is not TokenType.SEMICOLON]
    for token in tokens:
        if token.text.upper() in ("COLLATE", "COLLATION"):
            raise NotInBlocks("strings that are equal by a COLLATE are written in several ways", token.start)
    blocks = Blocks(statement.text, tokens, _aliases(statement.tree), recursion)
    cursor = Cursor(statement.text, tokens)
    query = blocks.query(cursor)
    if not cursor.done:
        raise cursor.lost()
    return blocks, query


def _aliases(tree: exp.Expr) -> frozenset[int]:
    """Where the aliases of columns and tables stand."""
    found: set[int] = set()
    for node in tree.walk():
        alias = node.args.get("alias") if isinstance(node, (exp.Alias, exp.Table, exp.Subquery, exp.Lateral)) else None
        if isinstance(node, exp.Values):
            alias = node.args.get("alias")
        identifier = alias.this if isinstance(alias, exp.TableAlias) else alias
        if isinstance(identifier, exp.Identifier) and "start" in identifier.meta:
            found.add(identifier.meta["start"])
    return frozenset(found)
