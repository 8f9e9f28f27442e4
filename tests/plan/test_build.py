"""Plans: complete, in order, and the same every time."""

from __future__ import annotations

import pytest

from airflow_trickle.analysis.modes import FROM_CHANGES
from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.settings import Settings
from airflow_trickle.errors import DefinitionError
from airflow_trickle.plan.build import build_plans, plan_path
from airflow_trickle.plan.steps import InputKind, InputRef, Plan, Reference
from tests.definition.test_loading import EVERYTHING
from tests.yaml_files import messages, plan, planned, write


def test_a_plan_says_everything_about_a_pipeline(tmp_path):
    write(tmp_path, {"sql/second.sql": "SELECT f.id FROM first AS f JOIN raw"})
    found = plan(tmp_path, EVERYTHING)
    assert (found.pipeline, found.namespace, found.file) == ("shop.daily", "shop", f"{tmp_path}/p.yaml")
    assert (found.schedule, found.start_date, found.catchup) == ("1h30m", "2026-01-01T00:00:00+00:00", True)
    assert (found.owner, found.tags, found.description) == ("me", ("a", "2026"), "All of it")
    assert (found.catalog, found.spark_conn_id) == ("lake", "my_spark")
    assert list(found.callbacks) == [
        "on_failure_callback",
        "on_non_convergence_callback",
        "on_success_callback",
    ]
    raw = InputRef(
        name="raw",
        identifier="landing.raw-events",
        kind=InputKind.SOURCE,
        declared_at=f"{tmp_path}/p.yaml:30:3",
    )
    # Only what a query reads is pinned.
    assert [ref.name for ref in found.pin.inputs] == ["orders", "raw"]
    assert found.pin.inputs[1] == raw
    first, second = found.refreshes
    assert (first.unit, first.upstream, second.unit, second.upstream) == ("first", (), "second", ("first",))
    (step,) = second.tables
    assert step.inputs[1] == raw
    assert step.references == (
        Reference(start=17, end=22, identifier="shop.first", alias=None),
        Reference(start=33, end=36, identifier="landing.raw-events", alias="raw"),
    )
    assert (step.requested_mode, step.mode) == ("AUTO", "DIFFERENTIAL")
    assert step.reason == f"AUTO: {FROM_CHANGES}"
    assert (first.tables[0].requested_mode, first.tables[0].reason) == ("FULL", "refresh_mode: FULL")
    assert step.declared_at == f"{tmp_path}/p.yaml:35:3"
    assert (step.owner, step.description, len(step.definition)) == ("you", "Two", 33)
    assert (step.partition_by[1], step.cluster_by) == ("months(ts)", ("customer", "a b"))


def test_settings_hold_where_the_file_says_nothing(tmp_path):
    write(tmp_path, {"p.yaml": "pipeline: p\nstream_tables: {t: {query: SELECT 1}}\n"})
    (found,) = plan_path(tmp_path, Settings(catalog="lake", spark_conn_id="big")).plans
    assert (found.catalog, found.spark_conn_id) == ("lake", "big")


def test_settings_in_force_are_read_if_none_are_given(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__TRICKLE__CATALOG", "from_env")
    write(tmp_path, {"p.yaml": "pipeline: p\nstream_tables: {t: {query: SELECT 1}}\n"})
    assert plan_path(tmp_path).plans[0].catalog == "from_env"


def test_a_plan_survives_json_and_is_the_same_every_time(tmp_path):
    write(tmp_path, {"sql/second.sql": "SELECT * FROM first, raw"})
    found = plan(tmp_path, EVERYTHING)
    text = found.model_dump_json()
    assert Plan.model_validate_json(text) == found
    assert plan(tmp_path, EVERYTHING).model_dump_json() == text


def test_cosmetic_edits_keep_the_definition_and_others_change_only_their_table(tmp_path):
    text = """
        pipeline: p
        sources: [s]
        stream_tables:
          a: {query: SELECT x FROM s}
          b: {query: SELECT x FROM a}
        """

    def definitions(yaml):
        return {table.name: table.definition for table in plan(tmp_path, yaml).tables}

    before = definitions(text)
    assert definitions(text.replace("SELECT x FROM s", "'select x /* why */   FROM default.s'")) == before
    after = definitions(text.replace("SELECT x FROM s", "SELECT x AS y FROM s"))
    assert after["a"] != before["a"]
    assert after["b"] == before["b"]
    moved = definitions(text.replace("[s]", "{s: {table: other.s}}"))
    assert moved["a"] != before["a"]


DIAMOND = """
    pipeline: p
    sources: [s]
    stream_tables:
      a: {query: SELECT * FROM s}
      b: {query: SELECT * FROM s}
      c: {query: "SELECT * FROM a, b"}
    """


def test_a_diamond_is_one_unit_whose_members_are_told_apart(tmp_path):
    """Design 004 Step 7: test_diamond_consistency_default
    Design 004 Step 7: test_diamond_consistency_create_atomic
    """
    found = plan(tmp_path, DIAMOND)
    (unit,) = found.refreshes
    assert (unit.unit, unit.kind.value) == ("group_c", "group")
    assert [table.name for table in unit.tables] == ["a", "b", "c"]
    assert found.warnings == ()
    assert [(part.unit, part.kind.value, part.upstream) for part in unit.parts] == [
        ("a", "table", ()),
        ("b", "table", ()),
        ("c", "table", ("a", "b")),
    ]
    assert all(table.tolerates == () for table in unit.tables)


def test_a_cycle_inside_of_a_diamond_is_one_member_with_its_own_cap(tmp_path):
    text = """
        pipeline: p
        allow_circular: true
        sources: [s]
        stream_tables:
          a: {query: SELECT x FROM s}
          r: {query: SELECT x FROM s UNION SELECT x FROM q, max_fixpoint_iterations: 7}
          q: {query: SELECT DISTINCT x FROM r}
          z: {query: "SELECT a.x FROM a JOIN q ON a.x = q.x"}
    """
    (unit,) = plan(tmp_path, text).refreshes
    assert [(part.unit, part.kind.value, part.upstream, part.max_iterations) for part in unit.parts] == [
        ("a", "table", (), 100),
        ("cycle_q", "cycle", (), 7),
        ("z", "table", ("a", "cycle_q"), 100),
    ]
    assert [table.name for table in unit.parts[1].tables] == ["q", "r"]


def test_one_member_that_says_none_dissolves_a_diamond_and_is_named(tmp_path):
    found = plan(tmp_path, DIAMOND.replace("b: {", "b: {diamond_consistency: none, "))
    assert [step.unit for step in found.refreshes] == ["a", "b", "c"]
    assert found.warnings == (
        "'a', 'b' and 'c' form a diamond, but are published one by one, because 'b' has diamond_consistency: none; "
        "for a while a reader may see them at different versions.",
    )
    (group,) = found.groups
    assert not group.atomic
    # Its convergence point goes on without an arm that failed; the arms wait for nobody.
    assert {table.name: table.tolerates for table in found.tables} == {
        "a": (),
        "b": (),
        "c": ("default.a", "default.b"),
    }


@pytest.mark.parametrize("word", ["atomic", "none"])
def test_how_a_diamond_is_published_survives_json(tmp_path, word):
    """Design 004 Step 4: test_diamond_consistency_roundtrip"""
    found = plan(tmp_path, DIAMOND + f"diamond_consistency: {word}\n")
    (group,) = Plan.model_validate_json(found.model_dump_json()).groups
    assert (group.atomic, [part.atomic for part in group.parts]) == (word == "atomic", [word == "atomic"])


def test_a_diamond_that_nobody_wants_atomic_gets_no_warning(tmp_path):
    """Design 004 Step 7: test_diamond_none_mode_no_groups"""
    assert plan(tmp_path, DIAMOND + "diamond_consistency: none\n").warnings == ()
    write(tmp_path, {"p.yaml": DIAMOND})
    (found,) = plan_path(tmp_path, Settings(diamond_consistency="none")).plans
    assert found.warnings == ()


def test_the_dag_ticks_at_the_fastest_schedule_and_the_pin_knows_who_is_slower(tmp_path):
    text = """
        pipeline: p
        schedule: 1h
        sources: [s]
        stream_tables:
          a: {query: SELECT * FROM s, schedule: 5m}
          b: {query: SELECT * FROM s}
          c: {query: SELECT * FROM s, schedule: 300s}
    """
    found = plan(tmp_path, text)
    assert (found.schedule, found.ticks, found.asset_scheduled) == ("1h", "5m", False)
    assert found.pin.schedules == {"default.b": "1h"}


BROKEN = {
    "a_yaml.yaml": "pipeline: a\nstream_tables:\n  t: [\n",
    "b_key.yaml": "pipeline: b\nstream_tables:\n  b:\n    query: SELECT 1\n    ownr: me\n",
    "c_type.yaml": "pipeline: c\ncatchup: maybe\nstream_tables:\n  c: {query: SELECT 1}\n",
    "d_sql.yaml": """
        pipeline: d
        stream_tables:
          d:
            query: |
              SELECT *
              FROM good WHER x
              AND y
        """,
    "e_unknown.yaml": "pipeline: e\nstream_tables:\n  e:\n    query: SELECT * FROM godo\n",
    "f_two.yaml": "pipeline: f\nstream_tables:\n  twice: {query: SELECT 1}\n",
    "g_two.yaml": "pipeline: g\nstream_tables:\n  twice: {query: SELECT 1}\n",
    "h_name.yaml": "pipeline: h\nstream_tables:\n  h: {query: SELECT 1}\n  h: {query: SELECT 2}\n",
    "i_schedule.yaml": "pipeline: i\nschedule: often\nstream_tables:\n  i: {query: SELECT 1}\n",
    "j_enum.yaml": "pipeline: j\nstream_tables:\n  j: {query: SELECT 1, refresh_mode: FUL}\n",
    "k_cycle.yaml": """
        pipeline: k
        stream_tables:
          k: {query: SELECT * FROM l}
          l: {query: SELECT * FROM k}
        """,
    "l_mode.yaml": "pipeline: m\nstream_tables:\n  m: {query: SELECT rand(), refresh_mode: DIFFERENTIAL}\n",
    "sub/z_file.yaml": "pipeline: z\nstream_tables:\n  z: {query_file: z.sql}\n",
    "sub/z.sql": "SELECT *\nFROM good g\nWHERE g.x = = 1\n",
    "good.yaml": "pipeline: good\nstream_tables:\n  good: {query: SELECT 1}\n",
    "reader.yaml": "pipeline: reader\nstream_tables:\n  r: {query: 'SELECT * FROM good, b, d'}\n",
}
TABLE_KEYS = (
    "cluster_by, description, diamond_consistency, diamond_schedule_policy, execution_timeout, executor_config, "
    "lattice, max_fixpoint_iterations, mutual_recursion, owner, partition_by, pool, pool_slots, priority_weight, "
    "query, query_file, queue, refresh_mode, retries, retry_delay, schedule, spark_conf, state, "
    "state_max_bytes and tags"
)
EXPECTED = [
    "a_yaml.yaml:3:7: the file is not valid YAML: a value is expected here. "
    "Give the value, or close the list or mapping that was opened.",
    f"b_key.yaml:5:5: stream table 'b': unknown key 'ownr'. Did you mean 'owner'? Allowed keys: {TABLE_KEYS}.",
    "c_type.yaml:2:10: 'catchup' is the text 'maybe', but must be true or false.",
    "d_sql.yaml:6:22: stream table 'd': the query does not parse: 'x' is not expected here. Correct the SQL there.",
    "e_unknown.yaml:4:26: stream table 'e': 'godo' is neither a source nor a stream table. "
    "Did you mean 'good'? If others write the table, declare it: sources: {godo: {}}. "
    "It may also be defined in a_yaml.yaml, which cannot be read.",
    "f_two.yaml:3:3: stream table 'twice': the table default.twice is also defined at g_two.yaml:3:3. "
    "Rename one of them, or give the pipelines different namespaces.",
    "g_two.yaml:3:3: stream table 'twice': the table default.twice is also defined at f_two.yaml:3:3. "
    "Rename one of them, or give the pipelines different namespaces.",
    "h_name.yaml:4:3: the key 'h' is given twice; the first is in line 3. Keep one of them.",
    "i_schedule.yaml:2:11: 'schedule' is the text 'often', but must be a duration (30s, 5m, 1h30m, 1d), "
    "a cron expression of five fields (*/5 * * * *), or one of @hourly, @daily, @weekly, @monthly, "
    "@quarterly, @yearly, or asset.",
    "j_enum.yaml:3:38: stream table 'j': 'refresh_mode' is the text 'FUL', but must be AUTO, FULL or DIFFERENTIAL. "
    "Did you mean FULL?",
    "k_cycle.yaml:3:28: stream table 'k' is part of a cycle: k -> l -> k. "
    "Cycles are not allowed in this pipeline. If the tables are meant to define each other, set allow_circular: true "
    "in the pipeline, and for each of them refresh_mode: DIFFERENTIAL or AUTO; if not, take one of these reads out. "
    "See docs/analysis.md, section Cycles.",
    "l_mode.yaml:3:21: stream table 'm': refresh_mode: DIFFERENTIAL is not possible, because rand() answers "
    "differently on every run. Take that out of the query, or set refresh_mode: AUTO or FULL.",
    "sub/z.sql:3:13: stream table 'z': the query does not parse: something is missing at '='. Correct the SQL there.",
]


def test_all_mistakes_of_a_folder_are_told_at_once_and_the_rest_is_planned(tmp_path):
    result = planned(tmp_path, BROKEN)
    assert messages(result, tmp_path) == EXPECTED
    assert [found.pipeline for found in result.plans] == ["good", "reader"]
    broken = {file.file.removeprefix(f"{tmp_path}/"): file for file in result.broken}
    assert set(broken) == set(BROKEN) - {"good.yaml", "reader.yaml", "sub/z.sql"}
    assert broken["a_yaml.yaml"].pipeline is None
    # A problem in a query file belongs to the pipeline that names it.
    assert [str(problem.at).rpartition("/")[2] for problem in broken["sub/z_file.yaml"].problems] == ["z.sql:3:13"]


def test_the_order_of_problems_is_the_same_every_time(tmp_path):
    first = planned(tmp_path, BROKEN)
    assert build_plans(load_project(tmp_path), Settings()) == first


def test_problems_can_be_raised(tmp_path):
    with pytest.raises(DefinitionError) as caught:
        planned(tmp_path, {"p.yaml": "pipeline: p\n"}).raise_for_problems()
    assert str(caught.value) == f"{tmp_path}/p.yaml:1:1: the key 'stream_tables' is missing."
    planned(tmp_path, {"p.yaml": "pipeline: p\nstream_tables: {t: {query: SELECT 1}}\n"}).raise_for_problems()


def test_an_empty_folder_has_no_plans_and_no_problems(tmp_path):
    assert planned(tmp_path, {}).plans == ()


def test_a_thousand_tables_are_planned(tmp_path):
    tables = "".join(f"  t{i}: {{query: SELECT * FROM {f't{i - 1}' if i else 's'}}}\n" for i in range(1000))
    found = plan(tmp_path, f"pipeline: p\nsources: [s]\nstream_tables:\n{tables}")
    assert [table.name for table in found.tables] == [f"t{i}" for i in range(1000)]


def test_partitions_are_part_of_the_definition_and_the_order_is_not(tmp_path):
    def step(options):
        write(tmp_path, {"p.yaml": f"pipeline: p\nstream_tables:\n  t: {{query: SELECT 1 AS a, {options}owner: me}}\n"})
        return plan_path(tmp_path, Settings()).plans[0].tables[0]

    plain, by_a = step(""), step("partition_by: [a], cluster_by: [a], ")
    assert by_a.partition_by == by_a.cluster_by == ("a",)
    assert by_a.definition.partition(".")[0] == plain.definition
    assert plain.definition == step("cluster_by: [a], ").definition == step("partition_by: [], ").definition
    definitions = {step(f"partition_by: [{by}], ").definition for by in ("a", "A", "'days(a)'", "'day( A )'", "a, b")}
    assert len(definitions) == 3
    assert all(len(text) <= 64 for text in definitions)
