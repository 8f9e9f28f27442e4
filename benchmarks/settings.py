"""Settings of the benchmarks that compare refreshes with plain Spark, from the environment."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.changes import KINDS

MODES = ("DIFFERENTIAL", "AUTO", "FULL")


@dataclass(frozen=True)
class Settings:
    """What a run measures.

    Attributes:
        scale: Scale factor of TPC-H (``TRICKLE_BENCH_SCALE``).
        kinds: The kinds of changes, see `benchmarks.changes.KINDS` (``TRICKLE_BENCH_CHANGES``).
        shares: Shares of changed rows of orders and lineitem (``TRICKLE_BENCH_SHARES``).
        queries: Their names (``TRICKLE_BENCH_QUERIES``).
        rounds: Rounds for each kind and share that count; one before them warms up (``TRICKLE_BENCH_ROUNDS``).
        mode: The refresh mode (``TRICKLE_BENCH_MODE``).
        phases: Whether phases and reasons are printed too (``TRICKLE_BENCH_PHASES``).
        out: A JSON file that gets all figures (``TRICKLE_BENCH_OUT``).

    The server gets ``TRICKLE_BENCH_DRIVER_MEMORY`` where that is set, such as ``2g``.
    """

    scale: float
    kinds: tuple[str, ...]
    shares: tuple[float, ...]
    queries: tuple[str, ...]
    rounds: int
    mode: str
    phases: bool
    out: Path | None


def settings(queries: Iterable[str], shares: str = "0.001", kinds: str = "mixed") -> Settings:
    """The settings of this process.

    Args:
        queries: The known queries.
        shares: What is measured if the environment says nothing.
        kinds: The same for the kinds of changes.
    """
    known = tuple(queries)
    return Settings(
        scale=float(os.environ.get("TRICKLE_BENCH_SCALE", "1")),
        kinds=_words("TRICKLE_BENCH_CHANGES", kinds, KINDS),
        shares=tuple(float(one) for one in os.environ.get("TRICKLE_BENCH_SHARES", shares).split(",")),
        queries=_words("TRICKLE_BENCH_QUERIES", ",".join(known), known),
        rounds=int(os.environ.get("TRICKLE_BENCH_ROUNDS", "3")),
        mode=_words("TRICKLE_BENCH_MODE", "DIFFERENTIAL", MODES)[0],
        phases=bool(os.environ.get("TRICKLE_BENCH_PHASES")),
        out=Path(os.environ["TRICKLE_BENCH_OUT"]) if os.environ.get("TRICKLE_BENCH_OUT") else None,
    )


def _words(variable: str, default: str, known: Iterable[str]) -> tuple[str, ...]:
    words = tuple(word.strip() for word in os.environ.get(variable, default).split(","))
    wrong = sorted(set(words) - set(known))
    if wrong:
        raise SystemExit(f"{variable}: {', '.join(wrong)}: not one of {', '.join(known)}")
    return words
