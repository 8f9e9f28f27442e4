"""Rewrites what the golden files of delta rules expect: `make golden`. Whoever runs it reads the diff."""

from __future__ import annotations

from dataclasses import replace

from tests.engine.delta import golden
from tests.engine.delta.duckdb_judge import DuckDBJudge, explained


def main() -> None:
    """Writes every file anew, and says how many cases came out differently."""
    judge, changed = DuckDBJudge(), 0
    for path in golden.families():
        before = golden.read(path)
        after = [one if one.spark_only else replace(one, expected=explained(judge, one)) for one in before]
        golden.write(path, after)
        changed += sum(old != new for old, new in zip(before, after, strict=True))
    print(f"{len(golden.cases())} cases in {len(golden.families())} files, {changed} changed")


if __name__ == "__main__":
    main()
