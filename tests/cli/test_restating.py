"""``trickle restate``; the past is written by hand, without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_trickle.lakehouse.catalog import open_lakehouse
from tests.cli.conftest import Shell
from tests.engine.restate.past import YAML, Past

FIRST = "2026-01-01T01:00:00.000000+00:00"
SECOND = "2026-01-01T02:00:00.000000+00:00"
TABLE = f"""\
Pipeline p
table  outcome       state of                          epoch  reason
a      REWOUND       {FIRST}      3  published by tick p/1
b      REWOUND       {FIRST}      1  its rows have not changed since; published by tick p/1
c      STARTED_OVER  -                                     1  it did not exist then; the next tick computes it anew
"""


def row(n: int) -> dict[str, object]:
    return {"n": n, "s": "x"}


@pytest.fixture
def past(shell: Shell) -> Iterator[Past]:
    """Two ticks of a pipeline in the folder ``dags``."""
    shell.write("dags/p.yaml", YAML)
    with open_lakehouse("trickle") as lake:
        made = Past(lake)
        made.tick(1, a=[row(1)], b=[row(1)])
        made.tick(2, a=[row(2)], b=None, c=[row(2)])
        yield made


def test_it_shows_what_it_would_do_and_asks(shell: Shell, past: Past) -> None:
    outcome = shell("restate", "p", "--to", "2026-01-01T01:30:00", typed="n\n")
    assert outcome.code == 1
    assert outcome.out == f"{TABLE}Take pipeline p back to {FIRST}? [y/N]: "
    assert past.rows("a") == [row(2)]
    outcome = shell.ok("restate", "p", "--to", "2026-01-01T01:30:00", typed="y\n")
    assert outcome.out == f"{TABLE}Take pipeline p back to {FIRST}? [y/N]: Done.\n"
    assert past.rows("a") == [row(1)]


def test_yes_asks_nothing(shell: Shell, past: Past) -> None:
    assert shell.ok("restate", "dags/p.yaml", "--to", "2026-01-01T01:00Z", "--yes").out == TABLE
    assert past.rows("a") == [row(1)]
    told = shell.ok("history", "a").out.splitlines()[1]
    assert "RESTATE" in told
    assert told.endswith(f"taken back to {FIRST}: published by tick p/1")


def test_json_tells_of_every_table(shell: Shell, past: Past) -> None:
    said = shell.ok("restate", "p", "--to", "2026-01-01T02:00:00+01:00", "-y", "--json").json
    assert (said["pipeline"], said["to"]) == ("p", FIRST)
    assert {name: (one["outcome"], one["effective_at"], one["epoch"]) for name, one in said["tables"].items()} == {
        "a": ("REWOUND", FIRST, 3),
        "b": ("REWOUND", FIRST, 1),
        "c": ("STARTED_OVER", None, 1),
    }


def test_refusals_are_one_message_each(shell: Shell, past: Past) -> None:
    outcome = shell("restate", "p", "--to", "2025-01-01", "-y")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: Pipeline 'p' had published nothing by 2025-01-01T00:00:00.000000+00:00; ")
    assert "lies in the future" in shell("restate", "p", "--to", "2999-01-01", "-y").err
    assert shell("restate", "shop", "--to", SECOND, "-y").err == (
        "error: There is no pipeline 'shop' in 'dags'. There is: p.\n"
    )
    failed = shell("restate", "p", "--to", "2025-01-01", "-y", "--json")
    assert (failed.code, failed.json["error"]["type"]) == (1, "CannotRestate")
    assert past.rows("a") == [row(2)]


def test_a_folder_of_several_pipelines_is_no_pipeline(shell: Shell, past: Past) -> None:
    shell.write("more/dags/p.yaml", YAML)
    assert shell.ok("restate", "p", "more/dags", "--to", SECOND, "-y").out.count("UNTOUCHED") == 3
    shell.write("more/dags/q.yaml", "pipeline: q\nstream_tables:\n  z: {query: SELECT 1 AS x}\n")
    outcome = shell("restate", "more/dags", "--to", SECOND, "-y")
    assert outcome.code == 2
    assert "'more/dags' has several pipelines: p, q. Name one of them." in outcome.err


def test_a_broken_file_is_told_as_such(shell: Shell, past: Past) -> None:
    shell.write("dags/p.yaml", YAML.replace("query: SELECT n FROM a", "quary: SELECT n FROM a"))
    assert "unknown key 'quary'" in shell("restate", "p", "--to", SECOND, "-y").err
