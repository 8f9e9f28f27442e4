"""Effective schedules of tables, cycles and groups."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.analysis.components import components
from airflow_trickle.analysis.groups import find_groups
from airflow_trickle.analysis.schedules import ScheduleGroup, effective_schedules, period
from airflow_trickle.definition.schedules import PRESETS
from tests.analysis.graphs import graphs, read_of, shuffled

DAY = 86400.0
FOUR_YEARS = 1461 * DAY


def effective(text, *groups, fallback="1d", **own):
    reads = read_of(text)
    declared = {table: own.get(table, "calculated") for table in reads}
    return effective_schedules(components(reads), reads, declared, dict.fromkeys(reads, fallback), groups)


# --- periods ---


@pytest.mark.parametrize(
    ("schedule", "seconds"),
    [
        ("30s", 30.0),
        ("1h30m", 5400.0),
        ("1d", DAY),
        ("asset", 0.0),
        (None, math.inf),
        ("* * * * *", 60.0),
        ("*/5 * * * *", 300.0),
        ("0 * * * *", 3600.0),
        ("0,30 6-17 * * *", DAY / 24),
        ("0 6 * * *", DAY),
        ("0 6 * * mon-fri", FOUR_YEARS / 1045),
        ("0 6 * * SUN", FOUR_YEARS / 208),
        ("0 6 * * 7", FOUR_YEARS / 208),
        ("0 6 * * 0-7", DAY),
        ("0 0 31 * *", FOUR_YEARS / 28),
        ("0 0 29 2 *", FOUR_YEARS),
        ("0 0 L * *", FOUR_YEARS / 48),
        ("0 0 31,l * *", FOUR_YEARS / 48),
        ("0 0 15,l * *", FOUR_YEARS / 96),
        # Either is enough: 48 firsts of a month and 209 Mondays, 9 days of which are both.
        ("0 0 1 * mon", FOUR_YEARS / (48 + 209 - 9)),
        ("0 0 */2 * 1", FOUR_YEARS / 847),
        ("0 0 1-31 * 1", DAY),
        ("0 0 * jan mon", FOUR_YEARS / 17),
        ("@hourly", 3600.0),
        ("@daily", DAY),
        ("@weekly", FOUR_YEARS / 208),
        ("@monthly", FOUR_YEARS / 48),
        ("@quarterly", FOUR_YEARS / 16),
        ("@yearly", FOUR_YEARS / 4),
    ],
)
def test_the_period_is_the_mean_time_between_two_runs(schedule, seconds):
    assert period(schedule) == seconds


def test_presets_are_ordered_as_their_names_say():
    assert sorted(PRESETS, key=period) == list(PRESETS)


@pytest.mark.parametrize("text", ["calculated", "often", "0 0 * *"])
def test_what_does_not_tell_has_no_period(text):
    with pytest.raises(ValueError, match=r"duration|five fields"):
        period(text)


def test_a_day_that_never_comes_is_never_run():
    assert period("0 0 30 2 *") == math.inf


# --- tables ---


def test_an_explicit_schedule_stands():
    assert effective("s>a a>b", a="1h", b="5m") == {"a": "1h", "b": "5m"}
    assert effective("s>a a>b", a=None, b="5m") == {"a": None, "b": "5m"}


def test_a_calculated_table_runs_at_the_fastest_of_its_direct_readers():
    assert effective("s>a a>bcd", b="1h", c="5m", d=None)["a"] == "5m"
    # c is slow although d, below it, is fast.
    assert effective("s>a a>c c>d", c="1h", d="5m")["a"] == "1h"


def test_a_calculated_table_passes_on_what_it_calculated():
    assert effective("s>a a>b b>c", c="*/5 * * * *") == dict.fromkeys("abc", "*/5 * * * *")


def test_a_calculated_table_that_nobody_reads_has_the_schedule_of_its_pipeline():
    assert effective("s>a a>b", fallback="2h") == {"a": "2h", "b": "2h"}
    assert effective("s>a", fallback=None) == {"a": None}


def test_a_calculated_table_with_readers_by_hand_only_is_run_by_hand():
    assert effective("s>a a>b", b=None)["a"] is None


def test_a_reader_that_follows_its_sources_is_the_fastest():
    assert effective("s>a a>bc", b="1s", c="asset")["a"] == "asset"


def test_of_equal_periods_the_shorter_text_and_then_the_first_is_taken():
    assert effective("s>a a>bcd", b="0 * * * *", c="60m", d="1h")["a"] == "1h"
    assert effective("s>a a>bc", b="5 * * * *", c="0 * * * *")["a"] == "0 * * * *"


# --- cycles ---


def test_a_cycle_runs_at_the_fastest_of_its_members():
    assert effective("s>a a>b b>a", a="1h", b="5m") == {"a": "5m", "b": "5m"}


def test_a_calculated_member_of_a_cycle_asks_only_readers_outside():
    assert effective("s>a a>b b>ac", a="1h", c="2h") == {"a": "1h", "b": "1h", "c": "2h"}
    assert effective("s>a a>b b>ac", a="1h", c="5m")["b"] == "5m"
    # An explicit member does not ask its readers.
    assert effective("s>a a>b b>ac", b="1h", c="5m")["b"] == "1h"


def test_a_cycle_about_which_nothing_is_known_has_the_fastest_schedule_of_its_pipelines():
    reads = {"a": ["a", "b"], "b": ["a"]}
    own = dict.fromkeys(reads, "calculated")
    assert effective_schedules(components(reads), reads, own, {"a": "2h", "b": "1h"}, []) == {"a": "1h", "b": "1h"}


def test_a_table_above_a_cycle_sees_what_the_cycle_does():
    assert effective("s>u u>a a>b b>a", a="1h", b="5m")["u"] == "5m"


# --- groups ---

DIAMOND = "s>u u>ab a>v b>v v>w"
MEMBERS = ("a", "b", "v")


@pytest.mark.parametrize(("policy", "expected"), [("slowest", "1h"), ("fastest", "5m")])
def test_a_group_runs_as_a_whole_and_what_is_above_it_sees_that(policy, expected):
    found = effective(DIAMOND, ScheduleGroup(MEMBERS, policy), a="5m", b="10m", v="1h", w="1m")
    assert found == {**dict.fromkeys("uabv", expected), "w": "1m"}


def test_a_calculated_member_of_a_group_asks_its_readers_before_the_group_decides():
    found = effective(DIAMOND, ScheduleGroup(MEMBERS, "slowest"), v="1h", w="1m")
    assert found["a"] == "1h"
    assert effective(DIAMOND, ScheduleGroup(MEMBERS, "slowest"), w="1m") == dict.fromkeys("uabvw", "1m")


def test_a_group_with_a_member_by_hand_is_by_hand_if_the_slowest_decides():
    assert effective(DIAMOND, ScheduleGroup(MEMBERS, "slowest"), a=None, v="1h", w="1h")["v"] is None
    assert effective(DIAMOND, ScheduleGroup(MEMBERS, "fastest"), a=None, v="1h", w="1h")["a"] == "1h"


def test_a_cycle_inside_a_group_is_one_of_its_members():
    group = ScheduleGroup(("b", "x", "c", "d"), "slowest")
    found = effective("s>bc b>x x>b x>d c>d", group, b="1m", x="5m", c="2m", d="3m")
    # The cycle alone would run each minute, so the slowest is d.
    assert found == dict.fromkeys("bxcd", "3m")


def test_the_slowest_of_equal_periods_is_the_shorter_text():
    assert effective("s>ab a>v b>v", ScheduleGroup(MEMBERS, "slowest"), a="60m", b="1h", v="1m")["v"] == "1h"


# --- any graph ---

SCHEDULES = st.sampled_from(["calculated", "calculated", "5m", "1h", "60m", "0 * * * *", "@daily", "asset", None])


@st.composite
def scheduled(draw):
    reads = draw(graphs())
    own = {table: draw(SCHEDULES) for table in sorted(reads)}
    fallback = {table: draw(st.sampled_from(["2h", "30s", None])) for table in sorted(reads)}
    order = components(reads)
    policies = st.sampled_from(["slowest", "fastest"])
    groups = [ScheduleGroup(group.members, draw(policies)) for group in find_groups(order, reads)]
    return reads, own, fallback, groups


@given(scheduled())
def test_every_schedule_follows_from_the_rules(case):
    reads, own, fallback, groups = case
    order = components(reads)
    found = effective_schedules(order, reads, own, fallback, groups)
    assert list(found) == [table for part in order for table in part.members]
    assert "calculated" not in found.values()
    for whole in (*groups, *order):
        assert len({found[table] for table in whole.members}) == 1
    together = {table for group in groups for table in group.members}
    for part in order:
        table = part.members[0]
        if len(part.members) > 1 or table in together:
            continue
        readers = [reader for reader in reads if table in reads[reader] and reader != table]
        if own[table] != "calculated":
            assert found[table] == own[table]
        elif readers:
            assert period(found[table]) == min(period(found[reader]) for reader in readers)
        else:
            assert found[table] == fallback[table]


@given(scheduled())
def test_schedules_do_not_depend_on_the_order_of_the_input(case):
    reads, own, fallback, groups = case
    found = effective_schedules(components(reads), reads, own, fallback, groups)
    other = shuffled(reads)
    again = effective_schedules(components(other), other, own, fallback, groups[::-1])
    assert list(again.items()) == list(found.items())
