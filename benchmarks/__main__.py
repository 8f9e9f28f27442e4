"""``make bench``: what the parts cost, as ratios within one run (machines differ and are noisy)."""

from __future__ import annotations

import argparse
import signal
import sys

from benchmarks import (
    analysis,
    auto,
    chain,
    charts,
    commits,
    differential,
    growth,
    idle,
    maintenance,
    memory,
    orchestration,
    parsing,
    recursion,
    ticks,
    tpch,
)

PARTS = {
    "analysis": analysis.main,
    "parsing": parsing.main,
    "idle": idle.main,
    "commits": commits.main,
    "maintenance": maintenance.main,
    "ticks": ticks.main,
    "differential": differential.main,
    "growth": growth.main,
    "memory": memory.main,
    "recursion": recursion.main,
    "auto": auto.main,
    "chain": chain.main,
    "tpch": tpch.main,
    "orchestration": orchestration.main,
    "charts": charts.main,
}
#: It measures nothing.
_ONLY_WHEN_NAMED = "charts"


def main() -> None:
    """Run all parts, or those named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    # So that what a benchmark has started is stopped and removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name in parser.parse_args().parts or [name for name in PARTS if name != _ONLY_WHEN_NAMED]:
        print(f"\n== {name} ==", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
