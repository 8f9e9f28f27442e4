"""AUTO: from changes or in full, whichever is likely quicker.

Metadata tell how much there is to read and how much has changed; the history of the table tells how long its earlier
refreshes took. What was measured counts for more than what is assumed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_trickle.engine.decide import FIRST_REFRESH, QUERY_CHANGED
from airflow_trickle.engine.phases import Phase
from airflow_trickle.engine.states import ChangedInput
from airflow_trickle.results import Mode
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
#: Good enough for a guess: a word in a text or a comment makes it no worse than a guess.
_WINDOW = re.compile(r"\bover\b", re.IGNORECASE)
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

    @classmethod
    def of(cls, inputs: Mapping[str, ChangedInput], query: str) -> Workload:
        """The workload of a refresh."""
        changed = [one.after for one in inputs.values() if not one.nothing]
        return cls(
            size=sum(one.after.size for one in inputs.values()),
            # Rows that delete files take away are few.
            rows=sum(file.record_count for source in changed for file in source.files),
            changed=sum(one.rows for one in inputs.values()),
            times_share=_times_share(query, only_grew=all(one.only_grew for one in inputs.values())),
        )

    @property
    def share(self) -> float:
        """Which share of the rows has changed."""
        return self.changed / max(self.rows, 1)


def _times_share(query: str, *, only_grew: bool) -> float:
    if _WINDOW.search(query):
        return _TIMES_SHARE_OF_WINDOWS
    return _TIMES_SHARE_OF_GROWTH if only_grew else _TIMES_SHARE


@dataclass(frozen=True)
class Choice:
    """Whether to refresh in full, and why."""

    full: bool
    why: str


def choose(work: Workload, past: Sequence[Mapping[str, Any]]) -> Choice:
    """What is likely quicker.

    Args:
        work: What there is to do.
        past: Earlier refreshes of the table, the newest first, as `state.read_history` gives them.
    """
    refreshes = [row for row in _of_this_query(past) if row["error"] is None]
    full = _seconds_in_full(work, refreshes)
    measured = _seconds_from_changes(work, refreshes, full) if full is not None else None
    if full is not None and measured is not None:
        return _quicker(full, measured)
    if work.size < tuning().auto_full_bytes:
        return Choice(full=True, why=f"it reads less than {max(1, -(-work.size // _MIB))} MiB")
    if full is not None:
        return _quicker(full, _FIXED + work.times_share * work.share * full)
    if work.share > _TOO_MUCH:
        return Choice(full=True, why=f"the changed files hold {work.changed:,} rows, and the inputs {work.rows:,}")
    return Choice(full=False, why="")


def _of_this_query(past: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The refreshes since the query was changed, with that one."""
    for row in past:
        yield row
        if row["error"] is None and (row["reason"] or "").startswith(QUERY_CHANGED):
            return


def _quicker(full: float, changes: float) -> Choice:
    if changes * _MARGIN > full:
        return Choice(full=True, why=f"that takes about {full:.1f} s, and from changes about {changes:.1f} s")
    return Choice(full=False, why=f"about {changes:.1f} s, in full about {full:.1f} s")


def _seconds_in_full(work: Workload, past: Iterable[Mapping[str, Any]]) -> float | None:
    """How long a full refresh will take: as the latest did, in proportion to what it read."""
    for row in past:
        if row["mode"] == Mode.FULL.value and row["bytes_read"]:
            # Even of nothing a refresh costs something.
            grown = max(0.3, min(work.size / int(row["bytes_read"]), 10.0))
            return _worked(row) * grown * (_COMPARED if _made_the_table(row) else 1.0)
    return None


def _made_the_table(row: Mapping[str, Any]) -> bool:
    return bool((row["reason"] or "").startswith(FIRST_REFRESH))


def _seconds_from_changes(work: Workload, past: Iterable[Mapping[str, Any]], full: float) -> float | None:
    """How long a refresh from changes will take, by those with the next fewer and the next more rows.

    For more rows than ever it is longer by what is assumed where nothing was measured: most of a small refresh is the
    same whatever there is to do. For far fewer than ever it is assumed to be quick, which the refresh then shows.
    """
    seen = [row for row in past if row["mode"] == Mode.DIFFERENTIAL.value and row["rows_in"] and not _is_first(row)]
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


def _measured(seen: Iterable[Mapping[str, Any]]) -> list[tuple[int, float]]:
    """Rows and seconds of earlier refreshes, in the order of rows.

    A refresh was slow by chance if one with as many rows or more was quicker: the machine did other work.
    """
    found: list[tuple[int, float]] = []
    for row in sorted(seen, key=lambda row: -int(row["rows_in"])):
        seconds = _worked(row)
        found.append((int(row["rows_in"]), min(seconds, found[-1][1]) if found else seconds))
    return found[::-1]


def _is_first(row: Mapping[str, Any]) -> bool:
    """Whether a refresh made the notes by which those after it are quicker."""
    return Phase.KEEP.value in row["phases"]


def _worked(row: Mapping[str, Any]) -> float:
    """The seconds of a refresh without those that Spark may have needed to start."""
    phases: Mapping[str, float] = row["phases"]
    return sum(seconds for phase, seconds in phases.items() if phase != Phase.READ.value) or float(row["seconds"])


def why_not_retract(past: Sequence[Mapping[str, Any]]) -> str:
    """Why a cycle that loses rows is better derived from nothing; empty if it is not, or nothing tells.

    Args:
        past: Earlier refreshes of one of its tables, the newest first.
    """
    refreshes = [row for row in _of_this_query(past) if row["error"] is None]
    took = [_worked(row) for row in refreshes if row["mode"] == Mode.DIFFERENTIAL.value and row["rows_deleted"]]
    anew = next((row for row in refreshes if row["mode"] == Mode.FULL.value), None)
    if not took or anew is None:
        return ""
    full = _worked(anew) * (_COMPARED if _made_the_table(anew) else 1.0)
    if min(took) <= full + _WORTH_IT:
        return ""
    return f"that takes about {full:.1f} s, and taking rows away took {min(took):.1f} s"
