"""``trickle maintain``."""

from __future__ import annotations

import pytest

from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.leases import Lease, try_acquire
from tests.cli.conftest import Shell
from tests.lakehouse.maintenance.world import at_once, publish, rows_at, snapshots_of

NAME = "default.totals"
PIPELINE = """
pipeline: p
sources: [orders]
maintenance: {keep_snapshots: 3, restate_window: 1s}
stream_tables: {totals: {query: SELECT * FROM orders}}
"""


@pytest.fixture
def filled(shell: Shell) -> Shell:
    with open_lakehouse("trickle") as lake:
        for number in range(8):
            publish(lake, NAME, [number])
    return shell


def test_nothing_to_maintain_is_said(shell: Shell) -> None:
    assert shell.ok("maintain").out == "There is no stream table to maintain.\n"


def test_by_default_the_last_day_stays(filled: Shell) -> None:
    told = filled.ok("maintain", "--no-compact", "--keep-snapshots", "2").out
    assert "0 of 8" in told
    assert told.endswith("Won 0 files and 0 B; 0 rows of the state tables pruned.\n")


def test_a_dry_run_tells_and_changes_nothing(filled: Shell) -> None:
    with at_once():
        told = filled.ok(
            "maintain", "totals", "--dry-run", "--json", "--restate-window", "1s", "--keep-snapshots-for", "1s"
        )
    (table,) = told.json["tables"]
    assert (table["identifier"], table["files_compacted"]) == (NAME, 8)
    assert told.json["dry_run"] is True
    with open_lakehouse("trickle") as lake:
        assert len(snapshots_of(lake, NAME)) == 8


def test_the_knobs_of_the_pipeline_count_and_options_win(filled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled.write("dags/p.yaml", PIPELINE)
    seen = []

    def maintain(_lake: object, rules: object, *_arguments: object, **_options: object) -> object:
        from airflow_trickle.results import Maintenance

        seen.append(rules)
        return Maintenance()

    monkeypatch.setattr("airflow_trickle.engine.maintenance.maintain.maintain", maintain)
    filled.ok("maintain", "--pipelines", str(path), "--keep-snapshots-for", "2d")
    policy = seen[0].of("p")
    assert (policy.keep_snapshots, policy.restate_window, policy.keep_snapshots_for) == (3, 1.0, 172_800.0)
    assert seen[0].of("other").keep_snapshots == 100


def test_a_table_that_is_being_refreshed_is_left_alone_with_the_reason(filled: Shell) -> None:
    with open_lakehouse("trickle") as lake:
        assert isinstance(try_acquire(lake, NAME, "tick p/1"), Lease)
    told = filled.ok("maintain", "--wait", "0").out
    assert "is being refreshed by tick p/1" in told


def test_an_error_is_told_and_the_exit_code_is_1(filled: Shell) -> None:
    with open_lakehouse("trickle") as lake:
        table = lake.table(NAME)
        assert table is not None
        lake.catalog.register_table("default.copy", table.metadata_location)
    outcome = filled("maintain")
    assert outcome.code == 1
    assert f"error: Table {NAME} was not maintained: Table {NAME} shares its folder with default.copy" in outcome.err
    assert filled("maintain", "--json").code == 1


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--keep-snapshots-for", "a week", "is not a duration such as 30s, 5m, 1h30m or 1d"),
        ("--orphans-after", "2h", "files that nobody names are kept for a day at least"),
        ("--keep-snapshots", "0", "--keep-snapshots"),
    ],
)
def test_wrong_options_are_refused(shell: Shell, option: str, value: str, told: str) -> None:
    outcome = shell("maintain", option, value)
    assert outcome.code == 2
    assert told in outcome.err


def test_an_unknown_table_is_refused_with_the_nearest_name(filled: Shell) -> None:
    outcome = filled("maintain", "total")
    assert outcome.code == 1
    assert "Did you mean 'totals'?" in outcome.err


def test_rows_stay(filled: Shell) -> None:
    with at_once():
        filled.ok("maintain")
    with open_lakehouse("trickle") as lake:
        assert rows_at(lake, NAME) == list(range(8))
