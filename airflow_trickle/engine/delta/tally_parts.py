"""Aggregates that add up: which they are, of what, and whether an expression is made of them alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_trickle.blocks.aggregates import argument_of
from airflow_trickle.blocks.expressions import folded
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Call, Span, Subquery, SubqueryKind, is_within
from airflow_trickle.engine.delta.context import Version
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.terms import all_of

#: Whole numbers, and how many digits are room enough for them.
WHOLE = {"tinyint": 20, "smallint": 20, "int": 20, "bigint": 20}
_NAMES = frozenset({"count", "count_if", "sum", "avg", "mean", "min", "max"})
#: Types whose smallest and largest values are kept; of others a group is read again.
_ORDERED = frozenset([*WHOLE, "float", "double", "string", "date", "timestamp", "timestamp_ntz", "boolean"])
#: Decimals with more digits may overflow when they are multiplied with a weight.
MOST_DIGITS = 27
#: Spark keeps so many digits behind the point of a product or sum that does not fit; more would be rounded.
_SAFE_SCALE = 6


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
    #: Whether there is an entry for each value of a group: entries with sums do not tell how many values are distinct.
    valued: bool = False

    @property
    def sums(self) -> bool:
        """Whether it needs the sum of the values."""
        return self.name in ("sum", "avg", "mean")

    @property
    def is_extreme(self) -> bool:
        """Whether it is a minimum or maximum: what is published of it tells what lines cannot."""
        return self.name in ("min", "max") and not self.valued

    @property
    def averages_doubles(self) -> bool:
        """Whether the answer is a double, which is exact only as long as all values together are not too large."""
        return self.name != "sum" and self.kind in WHOLE

    @property
    def is_wide(self) -> bool:
        """Whether the values are decimals of so many digits that sums and products of them may not fit."""
        return self.kind.startswith("decimal") and int(self.kind.removeprefix("decimal(").split(",")[0]) > MOST_DIGITS

    @property
    def scale(self) -> int:
        """Digits of the values behind the point."""
        return int(self.kind.rstrip(")").split(",")[1]) if self.kind.startswith("decimal") else 0


def part_of(blocks: Blocks, call: Call, number: int) -> Part | None:
    """The call of an aggregate taken apart; None if it is of a kind that does not add up."""
    if call.over is not None or call.window is not None or call.name not in _NAMES:
        return None
    found = argument_of(blocks, call)
    if found is not None:
        return Part(number, call.name, *found)
    found = argument_of(blocks, call, distinct=True) if call.name == "count" else None
    return None if found is None or found[0] is None else Part(number, call.name, *found, valued=True)


def typed(block: Block, parts: list[Part]) -> list[Part] | None:
    """The parts with their types; None if one of them does not add up exactly."""
    sums = [part for part in parts if part.sums or part.is_extreme or part.valued]
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
        if not _adds_up("min" if part.valued else part.name, value.type):
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
        if name == "sum":
            return digits <= MOST_DIGITS or scale <= _SAFE_SCALE
        return digits <= MOST_DIGITS and spare >= 9
    return kind in WHOLE and not (name != "sum" and kind == "bigint")


def parts_of(block: Block, calls: list[Call]) -> tuple[list[Part], dict[Span, Part]] | None:
    """The aggregates of a SELECT, each once, and by call; None if one of them does not add up."""
    blocks = block.context.blocks
    parts: dict[tuple[str, bool, str, str], Part] = {}
    found: dict[Span, Part] = {}
    for call in calls:
        part = part_of(blocks, call, len(parts))
        if part is None:
            return None
        value, only = ("" if span is None else folded(blocks, span) for span in (part.value, part.only))
        found[call.span] = parts.setdefault((part.name, part.valued, value, only), part)
    known = typed(block, list(parts.values()))
    return None if known is None else (known, {span: known[part.number] for span, part in found.items()})


def with_values(parts: list[Part], calls: dict[Span, Part]) -> tuple[list[Part], dict[Span, Part]] | None:
    """The same with an entry for each value of minima and maxima; None if values of one entry may differ."""
    known = [replace(part, valued=part.valued or part.is_extreme) for part in parts]
    # Of 0.0 and -0.0 there is one entry only.
    if any(part.is_extreme and part.kind in ("float", "double") for part in parts):
        return None
    return known, {span: known[part.number] for span, part in calls.items()}


def closed_answers(block: Block, spans: list[Span], calls: list[Call]) -> tuple[Subquery, ...]:
    """The scalar subqueries beside the aggregates that name nothing of the query around them."""
    context = block.context
    return tuple(
        one
        for one in context.blocks.subqueries(*spans)
        if one.kind is SubqueryKind.SCALAR
        and not any(is_within(one.span, call.span) for call in calls)
        and context.bench.resolves(context.render(one.query, Version.NEW, block.scope))
    )
