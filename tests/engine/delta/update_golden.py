"""Rewrites what the golden files of delta rules expect: `make golden`. Whoever runs it reads the diff."""

from __future__ import annotations

from dataclasses import replace

from tests.engine.delta import golden
from tests.engine.delta.duckdb_executor import NotOnDuckDB
from tests.engine.delta.duckdb_judge import DuckDBJudge, explained
from tests.engine.delta.golden import GoldenCase


def main() -> None:
    """Writes every file anew, and says how many cases came out differently."""
    judge, changed = DuckDBJudge(), 0
    for path in golden.families():
        before = golden.read(path)
        after = [one if one.spark_only else replace(one, expected=_expected(judge, one)) for one in before]
        golden.write(path, after)
        changed += sum(old != new for old, new in zip(before, after, strict=True))
    print(f"{len(golden.cases())} cases in {len(golden.families())} files, {changed} changed")


def _expected(judge: DuckDBJudge, case: GoldenCase) -> str:
    try:
        return explained(judge, case)
    except NotOnDuckDB as error:
        raise SystemExit(
            f"{case.family}.sql: DuckDB does not take '{case.title}': {error}\n"
            f"If Spark does, add the line `-- engine: spark` to the case. Nothing was written to this file."
        ) from None


if __name__ == "__main__":
    main()
