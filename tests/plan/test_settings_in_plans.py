"""What the settings, the pipeline and the table say of cycles, diamonds and schedules, and who wins."""

from __future__ import annotations

from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
from tests.yaml_files import planned, write

CYCLE = """
    pipeline: p
    sources: [s, k]
    stream_tables:
      a: {query: SELECT x FROM s UNION SELECT x FROM b}
      b: {query: SELECT x FROM a WHERE NOT EXISTS (SELECT 1 FROM k WHERE k.x = a.x)}
    """
DIAMOND = """
    pipeline: p
    schedule: 1h
    sources: [s]
    stream_tables:
      a: {query: SELECT x FROM s, schedule: 5m}
      b: {query: SELECT x FROM s}
      c: {query: SELECT a.x FROM a JOIN b USING (x), diamond_schedule_policy: slowest}
    """


def test_cycles_are_allowed_by_the_settings_and_forbidden_by_a_pipeline(tmp_path):
    write(tmp_path, {"p.yaml": CYCLE})
    assert plan_path(tmp_path, Settings()).problems
    assert plan_path(tmp_path, Settings(allow_circular=True)).problems == ()
    write(tmp_path, {"p.yaml": CYCLE + "allow_circular: false\n"})
    assert plan_path(tmp_path, Settings(allow_circular=True)).problems


def test_the_stricter_check_of_cycles_comes_from_the_settings_too(tmp_path):
    write(tmp_path, {"p.yaml": CYCLE})
    settings = Settings(allow_circular=True, stratified_cycle_validation=False)
    (problem,) = plan_path(tmp_path, settings).problems
    assert "its query has an operator that is not monotone" in problem.message
    write(tmp_path, {"p.yaml": CYCLE + "stratified_cycle_validation: true\n"})
    assert plan_path(tmp_path, settings).problems == ()


def test_recursive_queries_are_derived_from_nothing_where_the_settings_say_so(tmp_path):
    query = "WITH RECURSIVE r AS (SELECT x FROM s UNION SELECT s.x FROM r JOIN s USING (x)) SELECT x FROM r"
    text = f"pipeline: p\nsources: [s]\nstream_tables:\n  a: {{query: {query}}}\n  b: {{query: SELECT x FROM s}}\n"

    def modes(text, **settings):
        write(tmp_path, {"p.yaml": text})
        (plan,) = plan_path(tmp_path, Settings(**settings)).plans
        return [table.mode for table in plan.tables]

    assert modes(text) == ["DIFFERENTIAL", "DIFFERENTIAL"]
    assert modes(text, stratified_dred=False) == ["FULL", "DIFFERENTIAL"]
    assert modes(text + "stratified_dred: true\n", stratified_dred=False) == ["DIFFERENTIAL", "DIFFERENTIAL"]
    write(tmp_path, {"p.yaml": text.replace("a: {", "a: {refresh_mode: DIFFERENTIAL, ") + "stratified_dred: false\n"})
    (problem,) = plan_path(tmp_path, Settings()).problems
    assert "because stratified_dred: false derives recursive queries from nothing" in problem.message


def test_the_largest_number_of_passes_of_a_cycle_counts(tmp_path):
    def passes(text, **settings):
        write(tmp_path, {"p.yaml": text})
        (plan,) = plan_path(tmp_path, Settings(allow_circular=True, **settings)).plans
        return next(part.max_iterations for part in plan.components if part.cyclic)

    assert passes(CYCLE) == 100
    assert passes(CYCLE, max_fixpoint_iterations=7) == 7
    assert passes(CYCLE + "max_fixpoint_iterations: 9\n", max_fixpoint_iterations=7) == 9
    own = CYCLE.replace("a: {", "a: {max_fixpoint_iterations: 3, ").replace("b: {", "b: {max_fixpoint_iterations: 4, ")
    assert passes(own) == 4


def test_the_passes_of_a_submission_are_those_of_the_pipeline_or_the_setting(tmp_path):
    found = []
    for own in ("", "passes_per_submission: 2\n", "passes_per_submission: ALL\n"):
        write(tmp_path, {"p.yaml": CYCLE + own})
        (plan,) = plan_path(tmp_path, Settings(allow_circular=True, passes_per_submission=5)).plans
        found.append({step.passes_per_submission for step in plan.refreshes})
    assert found == [{5}, {2}, {None}]
    write(tmp_path, {"p.yaml": DIAMOND + "passes_per_submission: 4\n"})
    (plan,) = plan_path(tmp_path, Settings()).plans
    assert [part.passes_per_submission for step in plan.refreshes for part in step.parts] == [4, 4, 4]


ZONES = """
    pipeline: {pipeline}
    namespace: {pipeline}
    sources: [s]
    {more}
    stream_tables:
      {pipeline}1: {{query: SELECT x FROM s, schedule: {schedule}}}
      {pipeline}2: {{query: SELECT x FROM {reads}}}
    """


def test_schedules_and_start_dates_are_told_on_the_clock_of_their_pipeline(tmp_path):
    """A table that follows a reader of another pipeline runs on the clock of that one."""
    more = "timezone: Europe/Berlin\n    schedule: 0 6 * * *\n    start_date: 2026-07-01\n    "
    more += "maintenance: {schedule: '@daily'}"
    own = {"pipeline": "p", "more": more, "schedule": "calculated", "reads": "s"}
    other = {"pipeline": "q", "more": "schedule: 0 6 * * *", "schedule": "1h", "reads": "p.p1"}
    write(tmp_path, {"p.yaml": ZONES.format(**own), "q.yaml": ZONES.format(**other)})
    p, q = plan_path(tmp_path, Settings(timezone="Asia/Tokyo")).plans
    assert [table.schedule for table in p.tables] == ["0 6 * * * Asia/Tokyo", "0 6 * * * Europe/Berlin"]
    assert (p.schedule, p.ticks, p.start_date) == (*["0 6 * * * Europe/Berlin"] * 2, "2026-07-01T00:00:00+02:00")
    assert p.pin.schedules == {"p.p1": "0 6 * * * Asia/Tokyo"}
    assert p.maintenance is not None
    assert p.maintenance.schedule == "@daily Europe/Berlin"
    assert [table.schedule for table in q.tables] == ["1h", "0 6 * * * Asia/Tokyo"]
    write(tmp_path, {"p.yaml": ZONES.format(**{**own, "schedule": "0 7 * * *"})})
    p, _ = plan_path(tmp_path, Settings(timezone="Asia/Tokyo")).plans
    assert [table.schedule for table in p.tables] == ["0 7 * * * Europe/Berlin", "0 6 * * * Europe/Berlin"]


def test_a_cron_expression_of_a_table_is_read_on_the_clock_of_its_pipeline(tmp_path):
    own = {"pipeline": "p", "more": "timezone: Europe/Berlin", "schedule": "0 6 * * *", "reads": "s"}
    write(tmp_path, {"p.yaml": ZONES.format(**own)})
    (plan,) = plan_path(tmp_path, Settings(timezone="Asia/Tokyo")).plans
    assert [table.schedule for table in plan.tables] == ["0 6 * * * Europe/Berlin", None]


def test_a_group_follows_the_policy_of_the_table_where_paths_meet(tmp_path):
    def schedules(text):
        (plan,) = planned(tmp_path, {"p.yaml": text}).plans
        return {table.name: table.schedule for table in plan.tables}

    assert schedules(DIAMOND) == {"a": "1h", "b": "1h", "c": "1h"}
    assert schedules(DIAMOND.replace("slowest", "fastest")) == {"a": "5m", "b": "5m", "c": "5m"}
    dissolved = DIAMOND + "diamond_consistency: none\n"
    assert schedules(dissolved) == {"a": "5m", "b": "1h", "c": "1h"}


def test_a_unit_never_takes_the_name_of_a_table(tmp_path):
    text = DIAMOND.replace("      b:", "      group_c: {query: SELECT 1 AS one}\n      b:")
    (plan,) = planned(tmp_path, {"p.yaml": text}).plans
    assert sorted(step.unit for step in plan.refreshes) == ["group_c", "group_c_2"]
