"""A cycle in several submissions is the same cycle: rows, passes, cap and resume."""

from __future__ import annotations

import logging

import pytest

from airflow_trickle import Mode, TickFailed
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.iterations import read_iterations
from airflow_trickle.lakehouse.staging import leftovers
from tests.engine.fixpoint.test_resume import CHAIN, CLOSURE, EDGE, SETS, define, die, finish, pinned
from tests.engine.world import World

STEPS = "SELECT {f}.src, e.dst FROM {f} JOIN edges AS e ON e.src = {f}.dst"
#: Rules with ranks, also of two members; numbers of copies; every pass in full.
TABLES = {
    **SETS,
    "even": f"SELECT src, dst FROM edges UNION {STEPS.format(f='odd')}",
    "odd": STEPS.format(f="even"),
    "paths": f"SELECT src, dst FROM edges UNION ALL {STEPS.format(f='paths')}",
    "anew": f"SELECT src, dst FROM edges UNION (SELECT src, dst FROM edges INTERSECT SELECT src, dst FROM anew) "
    f"UNION {STEPS.format(f='anew')}",
}
RECURSIVE = ("reach", "even", "paths", "anew")
JUDGED = f"{CLOSURE} SELECT * FROM r"


def limited(world: World, passes: int | str) -> None:
    """The same pipeline with another number of passes in a submission."""
    text = world.yaml.read_text().partition("passes_per_submission")[0]
    world.yaml.write_text(f"{text}passes_per_submission: {passes}\n")


def observed(world: World, caplog: pytest.LogCaptureFixture, **options: object) -> tuple[object, ...]:
    """What a tick did: modes, rows, and every pass of every table; then how often work was submitted again."""
    caplog.clear()
    results = world.tick(**options)
    with open_lakehouse("trickle") as lake:
        assert leftovers(lake, pipeline="p") == []
        passes: dict[str, list[tuple[str, dict[str, int]]]] = {}
        for one in read_iterations(lake):
            # The latest come first.
            passes.setdefault(one.unit, [(each.phase, dict(each.changes)) for each in one.passes])
    again = [record.message for record in caplog.records if "submitting it again" in record.message]
    for name in ("reach", "paths", "anew"):
        assert world.rows(name) == world.judge(JUDGED), name
    told = {name: (one.mode, one.reason, one.rows_inserted, one.rows_deleted) for name, one in results.items()}
    settled = [record.message for record in caplog.records if "converged after" in record.message]
    counts = {name: results[name].iterations for name in RECURSIVE}
    assert any(f"converged after {counts['reach']} pass" in message for message in settled)
    return (told, counts, passes, world.rows("even"), world.rows("odd")), len(again)


def test_any_number_of_passes_in_a_submission_gives_the_same_rows_by_the_same_passes(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Design 000 part 5: one pass a submission is the loop as it is drawn there."""
    caplog.set_level(logging.INFO, logger="airflow_trickle")
    world.source("edges", EDGE, CHAIN[3:])
    define(world, TABLES)
    world.yaml.write_text(world.yaml.read_text().replace("allow_circular: true", "allow_circular: unsafe"))
    world.tick()
    expected: list[object] = []
    for passes in ("all", 1, 2, 3, 7):
        limited(world, passes)
        anew = observed(world, caplog, full_refresh=list(TABLES))
        if passes not in ("all", 1, 3):
            assert (anew[0], anew[1] > 0) == (expected[0], passes < 5), passes
            continue
        world.append("edges", {"src": 7, "dst": 8}, {"src": 20, "dst": 4})
        grown = observed(world, caplog)
        world.delete("edges", "src = 7 or src = 20")
        shrunk = observed(world, caplog)
        if passes == "all":
            expected = [anew[0], grown[0], shrunk[0]]
            assert (anew[1], grown[1], shrunk[1]) == (0, 0, 0)
            modes = {name: one[0] for name, one in shrunk[0][0].items()}
            assert modes == {**dict.fromkeys(TABLES, Mode.DIFFERENTIAL), "anew": Mode.FULL}
            continue
        assert [anew[0], grown[0], shrunk[0]] == expected, passes
        if passes == 1:
            # What has more than one pass to derive is submitted again after each but the last.
            assert anew[1] == sum(count - 1 for count in anew[0][1].values())
        assert anew[1] > 0, passes


@pytest.mark.parametrize("passes", ["all", 2])
def test_the_cap_counts_the_passes_of_all_submissions(world: World, passes: int | str) -> None:
    world.source("edges", EDGE, CHAIN)
    define(world, {name: TABLES[name] for name in ("reach", "paths", "anew")})
    text = world.yaml.read_text().replace("allow_circular: true", "allow_circular: unsafe\nmax_fixpoint_iterations: 5")
    world.yaml.write_text(text)
    limited(world, passes)
    with pytest.raises(TickFailed) as raised:
        world.tick()
    for name in ("reach", "paths", "anew"):
        result = raised.value.results[name]
        assert result.iterations == 5, name
        assert "did not settle within 5 passes" in str(result.error)
    with open_lakehouse("trickle") as lake:
        assert leftovers(lake, pipeline="p") == []


def test_a_killed_refresh_goes_on_behind_its_last_submission(world: World) -> None:
    """Without the clock of checkpoints: what was submitted before is not computed again."""
    world.source("edges", EDGE, CHAIN)
    define(world, {"anew": TABLES["anew"]})
    world.yaml.write_text(world.yaml.read_text().replace("allow_circular: true", "allow_circular: unsafe"))
    limited(world, 2)
    tick = pinned(world)
    die(world, tick)
    assert [one.number for one in finish(world, tick)] == [3, 4, 5, 6, 7, 8]
    assert world.rows("anew") == world.judge(JUDGED)
