"""The keys of groups and partitions: a view of some of them, and which rows belong to these.

In such a view the keys are called `__trickle_k0`, `__trickle_k1` and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_trickle.blocks.equalities import word_or_column
from airflow_trickle.blocks.shapes import Span, TableName
from airflow_trickle.engine.delta.context import Published, Version
from airflow_trickle.engine.delta.ranges import RangesOfFiles
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.identifiers import quote


def key_name(number: int) -> str:
    """How a key is called in a view of keys.

    >>> key_name(0)
    '__trickle_k0'
    """
    return f"{RESERVED}k{number}"


def key_texts(block: Block, keys: Sequence[Span], version: Version) -> list[str]:
    """The keys as expressions over the rows of a block."""
    return [block.context.expression(key, version, block.scope) for key in keys]


def rows_among(block: Block, keys: Sequence[Span], view: str) -> tuple[str, ...]:
    """That a row of the block has one of the keys of a view, and lies where these lie."""
    texts, ranges = key_texts(block, keys, Version.NEW), block.context.bench.ranges(view)
    equal = " AND ".join(f"{quote(key_name(number))} <=> ({text})" for number, text in enumerate(texts))
    within = [
        ranges[name].holds_or_null(f"({text})")
        for number, text in enumerate(texts)
        if (name := key_name(number)) in ranges
    ]
    return (f"EXISTS (SELECT 1 FROM {quote(view)} WHERE {equal or 'true'})", *within)


def found_by_range(block: Block, keys: Sequence[Span]) -> bool:
    """Whether the rows of a few keys are found without state: the files of a table are sorted by one of them."""
    for key in keys:
        column = word_or_column(block.context.blocks, key)
        at = None if column is None else block.narrowing.relations.find(column)
        relation = None if at is None else block.select.sources[at].relation
        if column is None or not isinstance(relation, TableName):
            continue
        ranges = block.context.bench.ranges(block.context.views_of(relation, block.scope).new)
        if isinstance(ranges, RangesOfFiles) and ranges.is_apart(column.name):
            return True
    return False


def published_among(block: Block, shown: Sequence[int | None], view: str, published: Published) -> str:
    """That a published row, called `__trickle_p`, has one of the keys of a view.

    Args:
        block: The SELECT.
        shown: By key: the column that shows it.
        view: The keys.
        published: The result before.
    """
    ranges = block.context.bench.ranges(view)
    equal, within = [], []
    for number, at in enumerate(shown):
        assert at is not None  # noqa: S101 - asked for shown keys only
        name, column = key_name(number), f"{RESERVED}p.{quote(published.columns[at])}"
        equal.append(f"{quote(name)} <=> {column}")
        if name in ranges and ranges[name].type == published.types[at]:
            within.append(ranges[name].holds_or_null(column))
    return " AND ".join([f"EXISTS (SELECT 1 FROM {quote(view)} WHERE {' AND '.join(equal) or 'true'})", *within])
