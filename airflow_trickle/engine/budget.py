"""How much of a change the worker process holds: rows with their copies, and bytes. More is left to Spark."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

log = logging.getLogger("airflow_trickle")

_MIB = 1024 * 1024


@dataclass
class Meter:
    """Counts rows as they arrive, batch by batch, so that too many are noticed before they are all here.

    Attributes:
        most_rows: So many rows fit, a row of weight 3 or -3 counted three times.
        most_bytes: So many bytes fit, as Arrow holds them, the copies of a row included: they are written out.
        counted: The column of weights, if the rows have one.
    """

    most_rows: int
    most_bytes: int
    counted: str | None = None
    rows: int = 0
    bytes: int = 0

    def takes(self, batch: pa.RecordBatch | pa.Table) -> bool:
        """Count a batch; whether all that has come so far fits."""
        self.bytes += batch.nbytes
        if self.counted is None:
            self.rows += batch.num_rows
        else:
            copies = pc.abs(batch.column(self.counted))
            self.rows += int(pc.sum(copies).as_py() or 0)
            self.bytes += _more_copies(batch, copies, self.counted)
        return self.fits

    @property
    def fits(self) -> bool:
        """Whether what has come so far fits."""
        return self.rows <= self.most_rows and self.bytes <= self.most_bytes

    @property
    def excess(self) -> str:
        """What does not fit, in words."""
        if self.rows > self.most_rows:
            return f"more than {self.most_rows:,} rows"
        return f"more than {self.most_bytes / _MIB:,.1f} MiB"


def _more_copies(batch: pa.RecordBatch | pa.Table, copies: pa.Array | pa.ChunkedArray, counted: str) -> int:
    """The bytes of the second and further copies of rows."""
    more = pc.max_element_wise(pc.subtract(copies, 1), 0)
    if not pc.any(pc.greater(more, 0)).as_py():
        return 0
    total = 0
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if field.name == counted or pa.types.is_nested(field.type):
            continue  # places are not copied
        total += int(pc.sum(pc.multiply(more, _sizes(column))).as_py() or 0)
    return total


def _sizes(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray | pa.Scalar:
    """How many bytes each value takes."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pc.add(pc.fill_null(pc.binary_length(column).cast(pa.int64()), 0), 4)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return pc.add(pc.fill_null(pc.binary_length(column), 0), 8)
    return pa.scalar(max(1, kind.bit_width // 8), pa.int64())


def widest_row(*tables: pa.Table) -> int:
    """How many bytes a row of several tables takes at most, their columns side by side."""
    return sum(int(pc.max(_sizes(column)).as_py() or 0) for table in tables for column in table.columns)


def left_to_spark(what: str, meter: Meter) -> None:
    """Log that something is left to Spark since it does not fit here."""
    log.info(
        "%s: %s do not fit into the worker process, so Spark does it ([trickle] worker_memory).", what, meter.excess
    )
