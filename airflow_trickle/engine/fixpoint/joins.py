"""Joins of Arrow tables in this process, by columns whose names are variables: v0, v1, …

Joins of Arrow know no NULL that is equal to another one; whoever calls has made sure that there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from airflow_trickle.engine.budget import widest_row
from airflow_trickle.tuning import tuning


class NotNear(Exception):
    """It has to be done on Spark."""


def named(rows: pa.Table, columns_of: Iterable[tuple[int, int]], *also: str) -> pa.Table:
    """Columns of some rows under the names of variables; the same variable twice has to be equal.

    Args:
        rows: The rows.
        columns_of: Which column is which variable.
        also: Columns that keep their names.
    """
    columns: dict[str, pa.ChunkedArray] = {}
    equal = None
    for place, variable in columns_of:
        name = f"v{variable}"
        if name in columns:
            same = pc.equal(columns[name], rows.column(place))
            equal = same if equal is None else pc.and_(equal, same)
        else:
            columns[name] = rows.column(place)
    found = pa.table({**columns, **{name: rows.column(name) for name in also}})
    return found if equal is None else found.filter(equal)


def joined(tables: Sequence[pa.Table], wanted: Sequence[str]) -> pa.Table:
    """Tables joined by the columns whose names they share: the small ones first, and only what is wanted is kept."""
    rest = sorted(tables, key=lambda table: table.num_rows)
    found = rest.pop(0)
    while rest:
        if not found.num_rows:
            return _nothing(tables, wanted)
        near = next(one for one in rest if set(one.column_names) & set(found.column_names))
        rest.remove(near)
        keys = [name for name in found.column_names if name in near.column_names]
        needed = {*wanted, *(name for one in rest for name in one.column_names)}
        found = _pair(found, near, keys, needed)
    return found.select(list(wanted))


def _pair(one: pa.Table, other: pa.Table, keys: list[str], needed: set[str]) -> pa.Table:
    """Two tables joined, in the columns that are needed."""
    # The right one is put into a hash table, and the left one runs past it.
    small, large = sorted((one, other), key=lambda table: table.num_rows)
    shown = [name for name in dict.fromkeys([*large.column_names, *small.column_names]) if name in needed]
    limits = tuning()
    width = max(1, widest_row(large, small))
    at_once = max(1, min(limits.arrow_join_slice_rows, limits.arrow_fixpoint_bytes // width))
    slices = -(-_size(large, small, keys, at_once) // at_once)
    if slices <= 1:
        return large.join(small, keys, join_type="inner").select(shown)
    if slices > large.num_rows:
        raise NotNear  # one row alone has more partners than fit
    found: list[pa.Table] = []
    each = -(-large.num_rows // slices)
    for begin in range(0, large.num_rows, each):
        part = large.slice(begin, each).join(small, keys, join_type="inner").select(shown)
        found.append(distinct(part))
        if sum(table.num_rows for table in found) > at_once:
            found = [distinct(pa.concat_tables(found))]
            if found[0].num_rows > limits.arrow_join_rows or found[0].nbytes > limits.arrow_fixpoint_bytes:
                raise NotNear
    return distinct(pa.concat_tables(found))


def _size(large: pa.Table, small: pa.Table, keys: list[str], at_once: int) -> int:
    """How many rows a join gives; only counted if it might be many."""
    if large.num_rows * small.num_rows <= at_once:
        return 0
    counts = small.select(keys).group_by(keys).aggregate([([], "count_all")])
    matched = large.select(keys).join(counts, keys, join_type="inner")
    return int(pc.sum(matched["count_all"]).as_py() or 0)


def _nothing(tables: Sequence[pa.Table], wanted: Sequence[str]) -> pa.Table:
    kinds = {field.name: field.type for table in tables for field in table.schema}
    return pa.table({name: pa.array([], kinds[name]) for name in wanted})


def distinct(rows: pa.Table) -> pa.Table:
    """Each row once."""
    return rows.group_by(rows.column_names).aggregate([]) if rows.num_rows > 1 else rows


def among(rows: pa.Table, others: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Of some rows those whose keys others have."""
    if not rows.num_rows or not others.num_rows:
        return rows.slice(0, 0)
    if rows.num_rows < others.num_rows:
        return others.select(list(keys)).join(rows, list(keys), join_type="right semi").select(rows.column_names)
    return rows.join(others.select(list(keys)), list(keys), join_type="left semi")


def without(rows: pa.Table, others: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Of some rows those whose keys no others have."""
    if not rows.num_rows or not others.num_rows:
        return rows
    if rows.num_rows < others.num_rows:
        return others.select(list(keys)).join(rows, list(keys), join_type="right anti").select(rows.column_names)
    return rows.join(others.select(list(keys)), list(keys), join_type="left anti")
