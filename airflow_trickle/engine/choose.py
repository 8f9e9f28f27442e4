"""AUTO: chooses between a refresh from changes and one in full by their estimated seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_trickle.engine.phases import Phase
from airflow_trickle.results import Cause, Choice, ChoiceCode, Mode
from airflow_trickle.tuning import tuning

_MIB = 1024 * 1024
#: What a refresh from changes costs, where nothing was measured: some seconds whatever there is to do, and of a full
#: refresh the share of the rows that have changed, several times.
_FIXED = 0.5
_TIMES_SHARE = 4.0
#: If rows only came: nothing has to be found that goes. Seen with half as many rows again: 1.0 to 2.2 times over 60
#: million rows, 1.4 to 2.9 times over 6 million (benchmarks/RESULTS.md).
_TIMES_SHARE_OF_GROWTH = 2.0
#: A window is computed anew for all rows that share a partition with a changed one.
_TIMES_SHARE_OF_WINDOWS = 100.0
#: Refreshes of which one had so many times the rows of the other tell how steep it is: by which power of the rows the
#: time grows. What is the same whatever there is to do makes that look flatter than it will be; so it is at least this,
#: unless less is assumed by the share.
_FAR_MORE = 3
_LEAST_POWER = 0.5
#: A first refresh writes what it finds; any other in full compares it with what is published besides.
_COMPARED = 2.0
#: Where nothing at all was measured: the share of changed rows up to which a change is assumed to be cheaper.
_TOO_MUCH = 0.2
#: From changes must promise to be quicker by this factor: its estimate is the less certain one.
_MARGIN = 1.1
#: A program that reads the inputs several times is not expected to take longer than this many times plain Spark.
_MOST_TIMES = 4.0
#: For fewer seconds than this, rows are not derived from nothing that could be taken away one by one.
_WORTH_IT = 2.0
#: So many refreshes of the past are looked at.
LOOKED_AT = 40


@dataclass(frozen=True)
class Workload:
    """What there is to do: bytes of all inputs, rows of those that changed (at most), and rows of the changes."""

    size: int
    rows: int
    changed: int
    #: How many times the share of changed rows a refresh from changes costs, of a full one.
    times_share: float = _TIMES_SHARE
    #: The bytes that a refresh from changes reads, as its program tells; None if the query cannot be taken apart.
    read: float | None = None

    @property
    def share(self) -> float:
        """Which share of the rows has changed."""
        return self.changed / max(self.rows, 1)


def times_share(*, windows: bool, only_grew: bool) -> float:
    """How many times the share of changed rows a refresh from changes costs, of a full one."""
    if windows:
        return _TIMES_SHARE_OF_WINDOWS
    return _TIMES_SHARE_OF_GROWTH if only_grew else _TIMES_SHARE


@dataclass(frozen=True)
class PastRefresh:
    """An earlier refresh of the table, as far as it tells what the next one costs."""

    mode: Mode
    cause: Cause | None
    failed: bool
    #: Seconds without those that Spark may have needed to start, and without those for making auxiliary state.
    seconds: float
    #: Whether it made auxiliary state, by which those after it are quicker.
    made_state: bool
    rows_in: int
    rows_deleted: int
    bytes_read: int

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> PastRefresh:
        """A row of the history, as `state.read_history` gives it."""
        phases: Mapping[str, float] = row["phases"]
        worked = sum(seconds for phase, seconds in phases.items() if phase not in _NOT_WORK)
        return cls(
            mode=Mode(row["mode"]),
            cause=Cause(row["cause"]) if row["cause"] else None,
            failed=row["error"] is not None,
            seconds=worked or float(row["seconds"]),
            made_state=Phase.KEEP.value in phases,
            rows_in=int(row["rows_in"] or 0),
            rows_deleted=int(row["rows_deleted"] or 0),
            bytes_read=int(row["bytes_read"] or 0),
        )

    @property
    def made_the_table(self) -> bool:
        """Whether it wrote what it found without comparing, as plain Spark does."""
        return self.cause is Cause.FIRST_REFRESH


_NOT_WORK = frozenset([Phase.READ.value, Phase.KEEP.value])


@dataclass(frozen=True)
class _InFull:
    """Seconds of a full refresh, and of plain Spark that overwrites the table."""

    ours: float
    plain_spark: float


def choose(work: Workload, past: Sequence[PastRefresh]) -> Choice:
    """What is likely quicker.

    Args:
        work: What there is to do.
        past: Earlier refreshes of the table, the newest first.
    """
    refreshes = [one for one in _of_this_query(past) if not one.failed]
    full = _seconds_in_full(work, refreshes)
    measured = _seconds_from_changes(work, refreshes, full.ours) if full is not None else None
    if full is not None and measured is not None:
        return _quicker(full, measured)
    if work.size < tuning().auto_full_bytes:
        why = f"it reads less than {max(1, -(-work.size // _MIB))} MiB"
        return Choice(code=ChoiceCode.SMALL_INPUTS, full=True, why=why)
    if full is not None:
        return _quicker(full, _seconds_by_program(work, full), by_program=work.read is not None)
    if work.share > _TOO_MUCH:
        why = f"the changed files hold {work.changed:,} rows, and the inputs {work.rows:,}"
        return Choice(code=ChoiceCode.MANY_CHANGES, full=True, why=why)
    return Choice(code=ChoiceCode.FEW_CHANGES, full=False)


def _seconds_by_program(work: Workload, full: _InFull) -> float:
    """How long a refresh from changes takes that was never measured.

    It reads what its program reads at the pace of plain Spark; the changed rows go through all of it and are written.
    """
    if work.read is None:
        return _FIXED + work.times_share * work.share * full.ours
    read = min(work.read / max(work.size, 1), _MOST_TIMES)
    return _FIXED + read * full.plain_spark + work.share * full.ours


def _of_this_query(past: Iterable[PastRefresh]) -> Iterator[PastRefresh]:
    """The refreshes since the query was changed, with that one."""
    for one in past:
        yield one
        if not one.failed and one.cause is Cause.QUERY_CHANGED:
            return


def _quicker(full: _InFull, changes: float, *, by_program: bool = False) -> Choice:
    seconds = {"from_changes": round(changes, 3), "in_full": round(full.ours, 3)}
    seconds["plain_spark"] = round(full.plain_spark, 3)
    if changes * _MARGIN > full.ours:
        why = f"that takes about {full.ours:.1f} s, and from changes about {changes:.1f} s"
        return Choice(code=ChoiceCode.QUICKER_IN_FULL, full=True, why=why, by_program=by_program, **seconds)
    why = f"about {changes:.1f} s, in full about {full.ours:.1f} s"
    if changes > full.plain_spark:
        why += f", plain Spark about {full.plain_spark:.1f} s"
    return Choice(code=ChoiceCode.QUICKER_FROM_CHANGES, full=False, why=why, by_program=by_program, **seconds)


def _seconds_in_full(work: Workload, past: Iterable[PastRefresh]) -> _InFull | None:
    """How long a full refresh will take: as the latest did, in proportion to what it read."""
    for one in past:
        if one.mode is Mode.FULL and one.bytes_read:
            # Even of nothing a refresh costs something.
            seconds = one.seconds * max(0.3, min(work.size / one.bytes_read, 10.0))
            if one.made_the_table:
                return _InFull(seconds * _COMPARED, seconds)
            return _InFull(seconds, seconds / _COMPARED)
    return None


def _seconds_from_changes(work: Workload, past: Iterable[PastRefresh], full: float) -> float | None:
    """How long a refresh from changes will take, by those with the next fewer and the next more rows.

    For more rows than ever it is longer by what is assumed where nothing was measured: most of a small refresh is the
    same whatever there is to do. For far fewer than ever it is assumed to be quick, which the refresh then shows.
    """
    seen = [one for one in past if one.mode is Mode.DIFFERENTIAL and one.rows_in and not one.made_state]
    if not seen:
        return None
    points = _measured(seen)
    fewer = [(rows, seconds) for rows, seconds in points if rows <= work.changed]
    more = [(rows, seconds) for rows, seconds in points if rows > work.changed]
    if not more:
        return fewer[-1][1] + _beyond(work, fewer, full)
    rows, seconds = more[0]
    if not fewer:
        return min(seconds, _FIXED + seconds * work.changed / rows)
    least, quickest = fewer[-1]
    return quickest + (seconds - quickest) * (work.changed - least) / (rows - least)


def _beyond(work: Workload, fewer: Sequence[tuple[int, float]], full: float) -> float:
    """How much longer than ever a refresh with more rows than ever takes.

    Two refreshes tell how steep it is, if one had far more rows; but never less than in proportion to a full one. Who
    expects too little here learns better from the refresh; who expects too much refreshes in full and never knows.
    """
    rows, seconds = fewer[-1]
    in_proportion = (work.changed - rows) / max(work.rows, 1) * full
    assumed = work.times_share * in_proportion
    far = [(least, quickest) for least, quickest in fewer if least * _FAR_MORE <= rows and quickest > 0]
    if not far:
        return assumed
    least, quickest = far[-1]
    more = work.changed / rows
    learned = seconds * (more ** (math.log(seconds / quickest) / math.log(rows / least)) - 1)
    cautious = seconds * (more**_LEAST_POWER - 1)
    return float(max(in_proportion, learned, min(assumed, cautious)))


def _measured(seen: Iterable[PastRefresh]) -> list[tuple[int, float]]:
    """Rows and seconds of earlier refreshes, in the order of rows.

    A refresh was slow by chance if one with as many rows or more was quicker: the machine did other work.
    """
    found: list[tuple[int, float]] = []
    for one in sorted(seen, key=lambda one: -one.rows_in):
        found.append((one.rows_in, min(one.seconds, found[-1][1]) if found else one.seconds))
    return found[::-1]


def why_not_retract(past: Sequence[PastRefresh]) -> str:
    """Why a cycle that loses rows is better derived from nothing; empty if it is not, or nothing tells.

    Args:
        past: Earlier refreshes of one of its tables, the newest first.
    """
    refreshes = [one for one in _of_this_query(past) if not one.failed]
    took = [one.seconds for one in refreshes if one.mode is Mode.DIFFERENTIAL and one.rows_deleted]
    anew = next((one for one in refreshes if one.mode is Mode.FULL), None)
    if not took or anew is None:
        return ""
    full = anew.seconds * (_COMPARED if anew.made_the_table else 1.0)
    if min(took) <= full + _WORTH_IT:
        return ""
    return f"that takes about {full:.1f} s, and taking rows away took {min(took):.1f} s"
