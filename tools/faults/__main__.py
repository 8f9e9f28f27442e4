"""The command line of mutation testing: ``python -m tools.faults``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tools.faults.fault import Fault, FaultError, stale
from tools.faults.layers import LAYERS
from tools.faults.record import Finder, read_record, write_record
from tools.faults.report import print_faults, print_result, print_results, write_json
from tools.faults.rooms import FAULTS
from tools.faults.running import Result, Runner
from tools.faults.tree import copied

_ROOT = Path(__file__).resolve().parent.parent.parent


def main(arguments: Sequence[str] | None = None, faults: tuple[Fault, ...] = FAULTS) -> int:
    """Try faults; returns 0 if all were found, 1 if one was not, 2 if the tool cannot do its work."""
    asked = _arguments(arguments)
    console = Console(width=None if sys.stdout.isatty() else 200)
    try:
        chosen = _chosen(faults, asked.only, asked.part)
        if asked.list:
            print_faults(console, chosen)
            return 0
        chosen = _plantable(console, chosen, asked.tree, skip=asked.skip_stale)
        results = _tried(console, chosen, asked)
    except FaultError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    print_results(console, results)
    return 0 if all(one.found for one in results) else 1


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.faults", description=__doc__)
    parser.add_argument("--list", action="store_true", help="list the faults and do nothing")
    parser.add_argument("--only", nargs="+", metavar="ID", default=[], help="try only these faults")
    parser.add_argument("--part", nargs="+", metavar="PART", default=[], help="try only faults of these parts")
    parser.add_argument("--layer", choices=[layer.name for layer in LAYERS], help="run only this layer of the tests")
    parser.add_argument("--tree", type=Path, default=_ROOT, help="the checkout to test (default: this one)")
    parser.add_argument("--skip-stale", action="store_true", help="leave out faults whose anchor the tree lacks")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="for each run of pytest")
    parser.add_argument("--afresh", action="store_true", help="do not begin with the test that found a fault before")
    parser.add_argument("--record", action="store_true", help="write down which test has found each fault")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too, after every fault")
    return parser.parse_args(arguments)


def _chosen(faults: tuple[Fault, ...], only: Sequence[str], parts: Sequence[str]) -> tuple[Fault, ...]:
    if unknown := sorted(set(only) - {fault.id for fault in faults}):
        raise FaultError(f"There is no fault {', '.join(unknown)}; --list shows all.")
    if unknown := sorted(set(parts) - {fault.part for fault in faults}):
        raise FaultError(f"There is no part {', '.join(unknown)}; --list shows all.")
    return tuple(fault for fault in faults if (not only or fault.id in only) and (not parts or fault.part in parts))


def _plantable(console: Console, faults: tuple[Fault, ...], tree: Path, *, skip: bool) -> tuple[Fault, ...]:
    found = stale(faults, tree)
    if found and not skip:
        raise FaultError("\n".join([*found.values(), "Mend these anchors, or leave such faults out: --skip-stale"]))
    for why in found.values():
        console.print(f"left out: {why}", style="yellow", markup=False)
    return tuple(fault for fault in faults if fault.id not in found)


def _tried(console: Console, faults: tuple[Fault, ...], asked: argparse.Namespace) -> list[Result]:
    tree = asked.tree.resolve()
    layers = [layer for layer in LAYERS if asked.layer in (None, layer.name)]
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="trickle-faults-") as scratch:
        folder = Path(scratch).resolve()
        earlier = {} if asked.afresh else read_record()
        runner = Runner(copied(tree, folder), folder, layers, asked.timeout, earlier)
        runner.check_import()
        try:
            for number, fault in enumerate(faults, 1):
                results.append(runner.tried(fault))
                print_result(console, number, len(faults), results[-1])
                if asked.json is not None:
                    write_json(asked.json, tree, results)
                if asked.record and results[-1].outcome == "found":
                    write_record({fault.id: Finder(results[-1].layer, results[-1].test)}, [one.id for one in FAULTS])
        finally:
            runner.close()
    return results


if __name__ == "__main__":
    sys.exit(main())
