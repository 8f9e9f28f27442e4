"""AUTO's choice: from metadata and from what earlier refreshes took."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_trickle.engine.choose import PastRefresh, Workload, choose, times_share, why_not_retract
from airflow_trickle.results import Cause, ChoiceCode

MIB = 1024 * 1024


def past(mode: str, seconds: float, **more: Any) -> PastRefresh:
    row = {"mode": mode, "seconds": seconds, "phases": {}, "rows_in": 1000, "bytes_read": 100 * MIB, "error": None}
    row["rows_deleted"] = 0
    row["cause"] = "inputs_changed"
    return PastRefresh.of({**row, **more})


def test_small_inputs_are_recomputed_until_something_was_measured() -> None:
    small = Workload(size=5 * MIB, rows=1000, changed=1)
    choice = choose(small, [past("FULL", 3.0)])
    assert (choice.full, choice.why) == (True, "it reads less than 5 MiB")
    assert not choose(small, [past("DIFFERENTIAL", 0.5), past("FULL", 3.0, bytes_read=5 * MIB)]).full


def test_a_small_share_of_a_large_input_is_refreshed_from_changes() -> None:
    work = Workload(size=1000 * MIB, rows=10_000_000, changed=1000)
    assert not choose(work, []).full
    choice = choose(work, [past("FULL", 8.0, bytes_read=1000 * MIB)])
    assert (choice.full, choice.why) == (False, "about 0.5 s, in full about 8.0 s")


def test_a_large_share_is_recomputed() -> None:
    work = Workload(size=1000 * MIB, rows=1000, changed=500)
    assert choose(work, []).why == "the changed files hold 500 rows, and the inputs 1,000"
    assert choose(work, [past("FULL", 8.0, bytes_read=1000 * MIB)]).full


def test_what_was_measured_counts_more_than_what_is_assumed() -> None:
    work = Workload(size=1000 * MIB, rows=10_000_000, changed=1000)
    slow = [past("DIFFERENTIAL", 9.0), past("FULL", 8.0, bytes_read=1000 * MIB)]
    choice = choose(work, slow)
    assert (choice.full, choice.why) == (True, "that takes about 8.0 s, and from changes about 9.0 s")


def test_more_changed_rows_than_ever_are_expected_to_take_longer() -> None:
    known = [past("DIFFERENTIAL", 1.0, rows_in=1000), past("FULL", 8.0, bytes_read=1000 * MIB)]
    assert choose(Workload(1000 * MIB, 10_000_000, 100_000), known).why == "about 1.3 s, in full about 8.0 s"
    assert choose(Workload(1000 * MIB, 10_000_000, 5_000_000), known).full


def test_rows_that_only_come_are_expected_to_cost_less_than_rows_that_go_too() -> None:
    known = [past("DIFFERENTIAL", 0.5), past("FULL", 20.0, bytes_read=1000 * MIB)]
    work = {"size": 1000 * MIB, "rows": 15_000_000, "changed": 5_000_000}
    growth = choose(Workload(**work, times_share=times_share(windows=False, only_grew=True)), known)
    assert (growth.full, growth.why) == (False, "about 13.8 s, in full about 20.0 s, plain Spark about 10.0 s")
    assert choose(Workload(**work, times_share=times_share(windows=False, only_grew=False)), known).full
    assert times_share(windows=True, only_grew=True) == 100


def test_two_that_were_measured_tell_how_steep_it_is_for_more_rows_than_ever() -> None:
    known = [past("DIFFERENTIAL", 1.5, rows_in=1_000_000), past("DIFFERENTIAL", 1.0, rows_in=100_000)]
    known.append(past("FULL", 8.0, bytes_read=1000 * MIB))
    # By the share alone it would be 14.3 s; no less than in proportion to a full one is expected, which is 4.7 s.
    assert choose(Workload(1000 * MIB, 10_000_000, 5_000_000), known).why == (
        "about 4.7 s, in full about 8.0 s, plain Spark about 4.0 s"
    )
    # Ten times the rows took three times as long: five times those will take a bit more than twice as long.
    known[1] = past("DIFFERENTIAL", 0.5, rows_in=100_000)
    assert choose(Workload(1000 * MIB, 100_000_000, 5_000_000), known).why == "about 3.2 s, in full about 8.0 s"


def test_time_is_expected_to_grow_with_the_rows_also_if_two_refreshes_took_the_same() -> None:
    known = [past("DIFFERENTIAL", 1.0, rows_in=1_000_000), past("DIFFERENTIAL", 1.0, rows_in=100_000)]
    known.append(past("FULL", 8.0, bytes_read=1000 * MIB))
    # Four times the rows, so twice the time; by the share alone it would be 2.2 s.
    assert choose(Workload(1000 * MIB, 80_000_000, 4_000_000), known).why == "about 2.0 s, in full about 8.0 s"
    # By the share it is hardly more.
    assert choose(Workload(1000 * MIB, 8_000_000_000, 4_000_000), known).why == "about 1.0 s, in full about 8.0 s"
    known[1] = past("DIFFERENTIAL", 0.0, rows_in=100_000)
    assert choose(Workload(1000 * MIB, 80_000_000, 4_000_000), known).why == "about 2.2 s, in full about 8.0 s"


def test_between_two_that_were_measured_a_refresh_takes_a_time_between_theirs() -> None:
    known = [past("DIFFERENTIAL", 6.0, rows_in=1_000_000), past("DIFFERENTIAL", 1.0, rows_in=200_000)]
    known.append(past("FULL", 8.0, bytes_read=1000 * MIB))
    assert choose(Workload(1000 * MIB, 10_000_000, 600_000), known).why == "about 3.5 s, in full about 8.0 s"


def test_far_fewer_rows_than_ever_are_assumed_to_be_quick_until_they_are_measured() -> None:
    known = [past("DIFFERENTIAL", 11.0, rows_in=1_000_000), past("FULL", 10.0, bytes_read=1000 * MIB)]
    assert choose(Workload(1000 * MIB, 10_000_000, 900_000), known).full
    assert choose(Workload(1000 * MIB, 10_000_000, 1000), known).why == "about 0.5 s, in full about 10.0 s"
    measured = [past("DIFFERENTIAL", 9.9, rows_in=1000), *known]
    assert choose(Workload(1000 * MIB, 10_000_000, 1200), measured).full
    quick = [past("DIFFERENTIAL", 0.3, rows_in=1000), past("FULL", 8.0, bytes_read=1000 * MIB)]
    assert choose(Workload(1000 * MIB, 10_000_000, 10), quick).why == "about 0.3 s, in full about 8.0 s"


def test_one_slow_refresh_does_not_decide_for_ever() -> None:
    full = past("FULL", 8.0, bytes_read=1000 * MIB)
    known = [past("DIFFERENTIAL", 30.0, rows_in=900), past("DIFFERENTIAL", 1.0, rows_in=1000), full]
    assert choose(Workload(1000 * MIB, 10_000_000, 800), known).why == "about 1.0 s, in full about 8.0 s"


def test_a_refresh_that_made_notes_of_all_groups_is_no_measure_for_those_that_use_them() -> None:
    work = Workload(size=1000 * MIB, rows=10_000_000, changed=1000)
    slow = past("DIFFERENTIAL", 12.0, phases={"compute": 6.0, "keep": 6.0})
    full = past("FULL", 8.0, bytes_read=1000 * MIB)
    assert choose(work, [slow, full]).why == "about 0.5 s, in full about 8.0 s"
    assert choose(work, [past("DIFFERENTIAL", 9.0), slow, full]).full


def test_refreshes_of_an_earlier_query_tell_nothing() -> None:
    work = Workload(size=1000 * MIB, rows=10_000_000, changed=1000)
    before = [past("DIFFERENTIAL", 60.0), past("FULL", 1.0, bytes_read=1000 * MIB)]
    changed = past("FULL", 8.0, bytes_read=1000 * MIB, cause="query_changed")
    assert choose(work, [changed, *before]).why == "about 0.5 s, in full about 8.0 s"


def test_the_time_that_spark_needs_to_start_does_not_count() -> None:
    work = Workload(size=1000 * MIB, rows=10_000_000, changed=1000)
    cold = past("FULL", 9.0, bytes_read=1000 * MIB, phases={"pin": 0.1, "read": 8.0, "compute": 0.2, "commit": 0.1})
    assert choose(work, [cold]).full


def test_failed_refreshes_tell_nothing() -> None:
    work = Workload(size=1000 * MIB, rows=10_000_000, changed=1000)
    assert choose(work, [past("FULL", 0.1, error="no")]).why == ""


def test_a_first_refresh_took_less_than_one_that_compares() -> None:
    work = Workload(size=100 * MIB, rows=10_000_000, changed=1000)
    assert choose(work, [past("FULL", 0.4)]).full
    assert choose(work, [past("FULL", 0.4, cause="first_refresh")]).why == (
        "about 0.5 s, in full about 0.8 s, plain Spark about 0.4 s"
    )


def test_windows_are_expected_to_cost_more_than_their_share() -> None:
    known = [past("DIFFERENTIAL", 2.0, rows_in=1000), past("FULL", 5.0)]
    share = {"size": 100 * MIB, "rows": 1_000_000, "changed": 11_000}
    assert not choose(Workload(**share), known).full
    assert choose(Workload(**share, times_share=60), known).full


def test_a_cycle_that_lost_rows_too_slowly_is_derived_from_nothing() -> None:
    slow = past("DIFFERENTIAL", 9.0, rows_deleted=5)
    assert why_not_retract([slow, past("FULL", 4.0)]) == "that takes about 4.0 s, and taking rows away took 9.0 s"
    assert why_not_retract([slow, past("FULL", 4.0), past("DIFFERENTIAL", 2.0, rows_deleted=5)]) == ""
    assert why_not_retract([slow, past("FULL", 5.0, cause="first_refresh")]) == ""


def test_only_refreshes_that_took_rows_away_tell_how_long_that_takes() -> None:
    assert why_not_retract([past("DIFFERENTIAL", 9.0, rows_deleted=0), past("FULL", 4.0)]) == ""
    assert why_not_retract([past("DIFFERENTIAL", 9.0, rows_deleted=3)]) == ""


def table_of_workloads() -> list[tuple[str, Workload, list[PastRefresh], ChoiceCode]]:
    """Workloads with past refreshes as they were seen, and the choice that was right."""
    gib = 1024 * MIB
    first = past("FULL", 36.0, bytes_read=3 * gib, cause="first_refresh")
    full = past("FULL", 8.0, bytes_read=gib)
    small, large = Workload(gib, 10_000_000, 1000), Workload(gib, 10_000_000, 2_000_000)
    changes, in_full = ChoiceCode.QUICKER_FROM_CHANGES, ChoiceCode.QUICKER_IN_FULL
    return [
        ("nothing is known of a small table", Workload(5 * MIB, 1000, 10), [], ChoiceCode.SMALL_INPUTS),
        ("nothing is known, few rows changed", small, [], ChoiceCode.FEW_CHANGES),
        ("nothing is known, many rows changed", replace(large, changed=3_000_000), [], ChoiceCode.MANY_CHANGES),
        ("the program reads the change only", replace(small, size=3 * gib, read=1e6), [first], changes),
        ("the program reads every input once", replace(small, size=3 * gib, read=3.0 * gib), [first], changes),
        (
            "the program reads every input twice and more",
            replace(small, size=3 * gib, read=7.0 * gib),
            [first],
            in_full,
        ),
        ("it reads little, but most rows changed", replace(small, changed=9_500_000, read=1e6), [full], in_full),
        ("it was quick before", small, [past("DIFFERENTIAL", 0.4), full], changes),
        ("it was slow before", small, [past("DIFFERENTIAL", 9.0), full], in_full),
        (
            "it was slow before, but the query was another",
            small,
            [replace(full, cause=Cause.QUERY_CHANGED), past("DIFFERENTIAL", 9.0), full],
            changes,
        ),
        ("only one that made state was slow", small, [past("DIFFERENTIAL", 9.0, phases={"keep": 8.0}), full], changes),
        ("many more rows than ever", large, [past("DIFFERENTIAL", 0.4), full], changes),
        (
            "many more rows than ever, over windows",
            replace(large, times_share=100),
            [past("DIFFERENTIAL", 0.4), full],
            in_full,
        ),
    ]


@pytest.mark.parametrize("case", table_of_workloads(), ids=lambda case: case[0])
def test_the_choice_is_the_expected_one(case: tuple[str, Workload, list[PastRefresh], ChoiceCode]) -> None:
    _, work, refreshes, code = case
    choice = choose(work, refreshes)
    assert choice.code is code
    assert choice.full == (code not in (ChoiceCode.QUICKER_FROM_CHANGES, ChoiceCode.FEW_CHANGES))


def test_a_choice_says_what_it_was_made_by() -> None:
    work = Workload(1024 * MIB, 10_000_000, 1000, read=512.0 * MIB)
    first = past("FULL", 10.0, bytes_read=1024 * MIB, cause="first_refresh")
    choice = choose(work, [first])
    assert (choice.by_program, choice.from_changes, choice.in_full, choice.plain_spark) == (True, 5.502, 20.0, 10.0)
    assert not choose(work, [past("DIFFERENTIAL", 1.0), first]).by_program


def test_from_changes_slower_than_plain_spark_is_said() -> None:
    work = Workload(1024 * MIB, 10_000_000, 1000)
    known = [past("DIFFERENTIAL", 12.0), past("FULL", 10.0, bytes_read=1024 * MIB, cause="first_refresh")]
    assert choose(work, known).why == "about 12.0 s, in full about 20.0 s, plain Spark about 10.0 s"


def test_words_of_the_reason_decide_nothing() -> None:
    row = {
        "mode": "FULL",
        "seconds": 8.0,
        "phases": {},
        "rows_in": 1,
        "rows_deleted": 0,
        "bytes_read": 1,
        "error": None,
    }
    assert not PastRefresh.of({**row, "reason": "first refresh", "cause": None}).made_the_table
    assert PastRefresh.of({**row, "reason": "", "cause": "first_refresh"}).made_the_table
