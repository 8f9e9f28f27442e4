"""Aggregates that add up: which they are, of what, and whether an expression is made of them alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import TokenType

from airflow_trickle.blocks.aggregates import argument_of
from airflow_trickle.blocks.cursor import Cursor
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Call, Span
from airflow_trickle.engine.delta.context import Version
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.terms import all_of

#: Whole numbers, and how many digits are room enough for them.
WHOLE = {"tinyint": 20, "smallint": 20, "int": 20, "bigint": 20}
_NAMES = frozenset({"count", "count_if", "sum", "avg", "mean", "min", "max"})
#: Types whose smallest and largest values are kept; of others a group is read again.
_ORDERED = frozenset([*WHOLE, "float", "double", "string", "date", "timestamp", "timestamp_ntz", "boolean"])
#: Decimals with more digits could overflow when they are multiplied with a weight.
_MOST_DIGITS = 27
#: Functions of values alone: what they answer depends neither on how their arguments are called nor on the time.
_FUNCTIONS = frozenset(
    {"abs", "cast", "ceil", "ceiling", "coalesce", "concat", "date", "day", "exp", "floor", "greatest", "if", "ifnull"}
    | {"isnull", "least", "left", "length", "lower", "lpad", "ltrim", "month", "nullif", "nvl", "power", "replace"}
    | {"right", "round", "rpad", "rtrim", "sign", "sqrt", "substr", "substring", "to_date", "trim", "trunc"}
    | {"try_divide", "upper", "year"}
)
_WORDS = frozenset(
    {"and", "as", "between", "case", "else", "end", "false", "in", "is", "like", "not", "null", "or", "then", "true"}
    | {"when"}
)
#: Types behind AS, where CAST has them.
_TYPES = frozenset(
    {"bigint", "boolean", "char", "date", "decimal", "double", "float", "int", "string", "timestamp", "varchar"}
)
_SIGNS = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA, TokenType.PLUS}
    | {TokenType.DASH, TokenType.SLASH, TokenType.MOD, TokenType.DPIPE, TokenType.EQ, TokenType.NEQ}
    | {TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.NULLSAFE_EQ}
)


@dataclass(frozen=True)
class Part:
    """One aggregate: what it counts or sums, and the types that go with it."""

    number: int
    name: str
    #: The values as SQL needs a state for subqueries, so they stay spans.
    value: Span | None
    only: Span | None
    #: The type of the values, and of the answer.
    kind: str = ""
    answer: str = ""

    @property
    def sums(self) -> bool:
        """Whether it needs the sum of the values."""
        return self.name in ("sum", "avg", "mean")

    @property
    def is_extreme(self) -> bool:
        """Whether it is a minimum or maximum: what is published of it tells what lines cannot."""
        return self.name in ("min", "max")

    @property
    def averages_doubles(self) -> bool:
        """Whether the answer is a double, which is exact only as long as all values together are not too large."""
        return self.name != "sum" and self.kind in WHOLE

    @property
    def scale(self) -> int:
        """Digits of the values behind the point."""
        return int(self.kind.rstrip(")").split(",")[1]) if self.kind.startswith("decimal") else 0


def has_no_names(blocks: Blocks, span: Span, calls: list[Call]) -> bool:
    """Whether an expression is made of literals, operators and plain functions, some calls left out.

    Such an expression says the same whatever its calls are replaced by. A name would not: what it stands for depends
    on where it is looked up, on its dots and on its neighbours.
    """
    cursor = blocks.cursor(span)
    begin = cursor.at
    while not cursor.done:
        start = cursor.tokens[cursor.at].start
        call = next((call for call in calls if call.span.start == start), None)
        if call is not None:
            while not cursor.done and cursor.tokens[cursor.at].start < call.span.end:
                cursor.at += 1
        elif _is_no_name(cursor, cursor.tokens[cursor.at - 1].token_type if cursor.at > begin else None):
            cursor.at += 1
        else:
            return False
    return True


def _is_no_name(cursor: Cursor, before: TokenType | None) -> bool:
    """Whether the next token is a literal, an operator, a plain function or a word of the language."""
    if cursor.kind is TokenType.STAR:
        return before in (TokenType.R_PAREN, TokenType.NUMBER)  # elsewhere it stands for all columns
    if cursor.kind in _SIGNS:
        return True
    if cursor.kind is TokenType.IDENTIFIER:
        return False
    word = cursor.word().lower()
    if before is TokenType.ALIAS:
        return word in _TYPES
    if cursor.peek(1) is TokenType.STRING and word in ("date", "timestamp"):
        return True
    return word in _WORDS or (word in _FUNCTIONS and cursor.peek(1) is TokenType.L_PAREN)


def part_of(blocks: Blocks, call: Call, number: int) -> Part | None:
    """The call of an aggregate taken apart; None if it is of a kind that does not add up."""
    if call.over is not None or call.window is not None or call.name not in _NAMES:
        return None
    found = argument_of(blocks, call)
    return None if found is None else Part(number, call.name, *found)


def typed(block: Block, parts: list[Part]) -> list[Part] | None:
    """The parts with their types; None if one of them does not add up exactly."""
    sums = [part for part in parts if part.sums or part.is_extreme]
    if any(part.value is None for part in sums):
        return None
    if not sums:
        return parts
    said = block.context.expression
    texts = [said(part.value, Version.NEW, block.scope) for part in sums if part.value is not None]
    every = all_of(block.count, Version.NEW)
    values = block.context.bench.columns(block.sql(every, columns=", ".join(texts), grouped=False, filtered=False))
    calls = ", ".join(f"{part.name}({text})" for part, text in zip(sums, texts, strict=True))
    answers = block.context.bench.columns(block.sql(every, columns=calls, grouped=False, filtered=False))
    found = list(parts)
    for part, value, answer in zip(sums, values, answers, strict=True):
        if not _adds_up(part.name, value.type):
            return None
        found[part.number] = replace(part, kind=value.type, answer=answer.type)
    return found


def _adds_up(name: str, kind: str) -> bool:
    if name in ("min", "max"):
        return kind in _ORDERED or kind.startswith("decimal")
    if kind.startswith("decimal"):
        digits, scale = (int(number) for number in kind.removeprefix("decimal(").rstrip(")").split(","))
        # Of an average, enough digits must be left behind those that are shown to round it only once.
        spare = 38 - (digits + 10 - scale) - (scale + 4)
        return digits <= _MOST_DIGITS and (name == "sum" or spare >= 9)
    return kind in WHOLE and not (name != "sum" and kind == "bigint")
