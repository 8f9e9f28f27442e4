"""Pipeline files to records."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.maintenance import MaintenanceDef, MaintenancePolicy
from airflow_trickle.definition.records import Overrides
from tests.budgets import budget
from tests.yaml_files import write

EVERYTHING = """
    pipeline: shop.daily
    namespace: shop
    description: All of it
    owner: me
    tags: [a, "2026"]
    schedule: 1h30m
    start_date: 2026-01-01
    catchup: yes
    allow_circular: unsafe
    max_fixpoint_iterations: 7
    diamond_consistency: NONE
    mutual_recursion: suggest
    enable_stratum_skip: false
    stratified_cycle_validation: false
    stratified_dred: false
    catalog: lake
    spark_conn_id: my_spark
    on_success_callback: pkg.mod.good
    on_failure_callback: pkg.mod.bad
    on_non_convergence_callback: pkg.mod.endless
    defaults:
      owner: us
      tags: [d]
      refresh_mode: full
      schedule: 90m
      diamond_schedule_policy: fastest
    sources:
      orders: {}
      people:
      raw: {table: landing.raw-events, description: From outside}
      near: {table: other}
    stream_tables:
      first:
        query: SELECT * FROM orders
      second:
        query_file: sql/second.sql
        description: Two
        owner: you
        tags: []
        refresh_mode: Auto
        diamond_consistency: atomic
        diamond_schedule_policy: slowest
        max_fixpoint_iterations: 9
        mutual_recursion: Auto
        schedule: calculated
        partition_by: [Day, "Month( ts )", "truncate(4,`a b`)"]
        cluster_by: [customer, "`a b`"]
    maintenance:
      schedule: "@daily"
      keep_snapshots_for: 2d
      keep_snapshots: 20
      restate_window: 12h
      keep_history_for: 10d
      keep_history: 200
      orphans_after: 4d
      compact: false
    """


def only(project):
    assert project.problems == ()
    (pipeline,) = project.pipelines
    return pipeline


def texts(project, folder):
    return [str(problem).replace(f"{folder}/", "") for problem in project.problems]


def test_every_key_arrives_in_the_records(tmp_path):
    """Design 004 Step 4: test_catalog_diamond_consistency_override
    Design 004 Step 4: test_diamond_consistency_from_sql_str
    """
    folder = write(tmp_path, {"p.yaml": EVERYTHING, "sql/second.sql": "SELECT 2"})
    pipeline = only(load_project(folder))
    assert (pipeline.name, pipeline.namespace, pipeline.file) == ("shop.daily", "shop", f"{tmp_path}/p.yaml")
    assert (pipeline.description, pipeline.owner, pipeline.tags) == ("All of it", "me", ("a", "2026"))
    assert (pipeline.schedule, pipeline.start_date) == ("1h30m", "2026-01-01T00:00:00")
    assert pipeline.catchup is True
    assert pipeline.overrides == Overrides(
        "unsafe", 7, None, "none", "suggest", False, False, False, "lake", "my_spark"
    )
    assert dict(pipeline.callbacks) == {
        "on_failure_callback": "pkg.mod.bad",
        "on_non_convergence_callback": "pkg.mod.endless",
        "on_success_callback": "pkg.mod.good",
    }
    assert pipeline.maintenance == MaintenanceDef(
        "@daily",
        MaintenancePolicy(
            keep_snapshots_for=2 * 86_400,
            keep_snapshots=20,
            restate_window=43_200,
            keep_history_for=10 * 86_400,
            keep_history=200,
            orphans_after=4 * 86_400,
            compact=False,
        ),
    )
    assert {source.name: source.identifier for source in pipeline.sources} == {
        "orders": "shop.orders",
        "people": "shop.people",
        "raw": "landing.raw-events",
        "near": "shop.other",
    }
    first, second = pipeline.tables
    assert (first.identifier, first.sql.text, first.refresh_mode) == (
        "shop.first",
        "SELECT * FROM orders",
        "FULL",
    )
    assert (first.owner, first.tags, first.diamond_schedule_policy) == ("us", ("d",), "fastest")
    assert (first.diamond_consistency, first.max_fixpoint_iterations) == (None, None)
    assert (second.sql.text, second.sql.file) == ("SELECT 2", f"{tmp_path}/sql/second.sql")
    assert (second.owner, second.tags, second.refresh_mode) == ("you", (), "AUTO")
    assert (second.diamond_consistency, second.diamond_schedule_policy) == ("atomic", "slowest")
    assert (second.max_fixpoint_iterations, second.description) == (9, "Two")
    assert (first.schedule, first.mutual_recursion) == ("90m", None)
    assert (second.schedule, second.mutual_recursion) == ("calculated", "auto")
    assert (first.partition_by, first.cluster_by) == ((), ())
    assert second.partition_by == ("Day", "months(ts)", "truncate(4, `a b`)")
    assert second.cluster_by == ("customer", "a b")


def test_a_lattice_arrives_with_its_place(tmp_path):
    text = "pipeline: p\nstream_tables:\n  t:\n    query: SELECT 1\n    lattice: {Cost: MAX}\n"
    (table,) = only(load_project(write(tmp_path, {"p.yaml": text}))).tables
    assert (table.lattice, str(table.lattice_at)) == ((("Cost", "max"),), f"{tmp_path}/p.yaml:5:5")


def test_little_is_enough(tmp_path):
    folder = write(tmp_path, {"p.yaml": "pipeline: p\nsources: [a, b]\nstream_tables: {t: {query: SELECT 1}}\n"})
    pipeline = only(load_project(folder))
    assert (pipeline.namespace, pipeline.schedule, pipeline.catchup) == ("default", None, False)
    assert [source.identifier for source in pipeline.sources] == ["default.a", "default.b"]
    assert str(pipeline.sources[1].at) == f"{tmp_path}/p.yaml:2:14"
    assert pipeline.tables[0].refresh_mode == "AUTO"


def test_places_are_labelled_with_the_path_that_was_given(tmp_path, monkeypatch):
    write(tmp_path / "dags", {"sub/p.yml": "pipeline: p\nstream_tables:\n  t: {query: SELECT 1}\n"})
    monkeypatch.chdir(tmp_path)
    assert str(only(load_project("dags")).tables[0].at) == "dags/sub/p.yml:3:3"
    assert str(only(load_project("dags/sub/p.yml")).tables[0].at) == "dags/sub/p.yml:3:3"


def test_a_folder_is_read_in_order_without_hidden_folders_and_foreign_yaml(tmp_path):
    good = "pipeline: {}\nstream_tables: {{t: {{query: SELECT 1}}}}\n"
    write(
        tmp_path,
        {
            "b.yaml": good.format("b"),
            "a.yml": good.format("a"),
            "sub/c.yaml": good.format("c"),
            ".git/x.yaml": good.format("x"),
            "notes.txt": "pipeline: [",
            "values.yaml": "image: nginx\n",
            "list.yaml": "- pipeline\n",
            "empty.yaml": "",
            "k8s.yaml": "kind: Pod\n---\nkind: Pod\n",
            "template.yaml": "{% if x %}\na: {{ b }}\n{% endif %}\n",
        },
    )
    os.symlink(tmp_path, tmp_path / "sub" / "loop")
    project = load_project(tmp_path)
    assert project.problems == ()
    assert [pipeline.name for pipeline in project.pipelines] == ["a", "b", "c"]


def test_a_file_with_one_of_our_keys_is_ours(tmp_path):
    write(
        tmp_path,
        {
            "a.yaml": "pipeline: a\n",
            "b.yaml": "stream_tables: {t: {query: SELECT 1}}\n",
            "c.yaml": "pipeline: c\nx: {{ y }}\n---\n",
        },
    )
    assert texts(load_project(tmp_path), tmp_path) == [
        "a.yaml:1:1: the key 'stream_tables' is missing.",
        "b.yaml:1:1: the key 'pipeline' is missing.",
        "c.yaml:3:1: the file is not valid YAML: a second document begins here, but a file holds "
        "one pipeline. "
        "Move it to a file of its own.",
    ]


def test_a_single_file_must_be_a_pipeline(tmp_path):
    write(tmp_path, {"a.yaml": "", "b.yaml": "- x\n", "c.yaml": "image: nginx\n"})
    assert texts(load_project(tmp_path / "a.yaml"), tmp_path) == [
        "a.yaml:1:1: the file is empty, but must be a mapping. Begin it with `pipeline: <name>`."
    ]
    assert texts(load_project(tmp_path / "b.yaml"), tmp_path) == [
        "b.yaml:1:1: the file is a list, but must be a mapping. Begin it with `pipeline: <name>`."
    ]
    assert [text.split(". ")[0] for text in texts(load_project(tmp_path / "c.yaml"), tmp_path)] == [
        "c.yaml:1:1: the key 'pipeline' is missing.",
        "c.yaml:1:1: the key 'stream_tables' is missing.",
        "c.yaml:1:1: unknown key 'image'",
    ]


def test_a_path_that_is_not_there_is_a_problem(tmp_path):
    assert texts(load_project(tmp_path / "no.yaml"), tmp_path) == [
        "no.yaml:1:1: there is no file or folder '" + "no.yaml'. Check the path."
    ]


def test_text_that_is_not_utf8_is_a_problem(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"pipeline: a\nowner: M\xfcller\n")
    assert texts(load_project(tmp_path), tmp_path) == ["a.yaml:2:9: the file is not UTF-8 text. Save it as UTF-8."]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    text = "pipeline: p\nstream_tables: {t: {query_file: q.sql}}\n"
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8-sig")
    (tmp_path / "q.sql").write_text("SELECT 1\r\nFROM x", encoding="utf-8-sig", newline="")
    assert only(load_project(tmp_path)).tables[0].sql.text == "SELECT 1\nFROM x"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../q.sql", "is outside the project folder '{folder}/dags'. Move it into the folder."),
        ("/etc/hostname", "is outside the project folder '{folder}/dags'. Move it into the folder."),
        ("link.sql", "is outside the project folder '{folder}/dags'. Move it into the folder."),
        ("querry.sql", "does not exist. Did you mean 'query.sql'?"),
        ("zzz.sql", "does not exist. The path is relative to the YAML file."),
        ("sub", "cannot be read: Is a directory."),
        ("latin.sql", "is not UTF-8 text (byte 8). Save it as UTF-8."),
    ],
)
def test_a_query_file_must_be_there_and_inside(tmp_path, name, message):
    write(
        tmp_path,
        {
            "q.sql": "SELECT 1",
            "dags/query.sql": "SELECT 1",
            "dags/sub/x.sql": "SELECT 1",
            "dags/p.yaml": f"pipeline: p\nstream_tables: {{t: {{query_file: {name}}}}}\n",
        },
    )
    os.symlink(tmp_path / "q.sql", tmp_path / "dags" / "link.sql")
    (tmp_path / "dags" / "latin.sql").write_bytes(b"SELECT '\xfc'")
    project = load_project(tmp_path / "dags")
    assert texts(project, tmp_path) == [
        f"dags/p.yaml:2:33: stream table 't': the query file '{name}' "
        + message.format(folder=tmp_path).replace(f"{tmp_path}/", "")
    ]
    assert project.pipelines[0].unread[0][0] == "default.t"


def test_a_query_file_may_lie_elsewhere_in_the_dags_folder(tmp_path):
    write(
        tmp_path,
        {
            "dags/sql/q.sql": "SELECT 1",
            "dags/team/p.yaml": "pipeline: p\nstream_tables: {t: {query_file: ../sql/q.sql}}\n",
        },
    )
    assert only(load_project(tmp_path / "dags")).tables[0].sql.file == f"{tmp_path}/dags/sql/q.sql"
    assert only(load_project(tmp_path / "dags" / "team" / "p.yaml")).tables[0].sql.text == "SELECT 1"


def test_anchors_and_merge_keys_work_in_pipelines(tmp_path):
    text = """
        pipeline: p
        stream_tables:
          a: &base
            query: SELECT 1
            owner: me
          b:
            <<: *base
            query: SELECT 2
        """
    first, second = only(load_project(write(tmp_path, {"p.yaml": text}))).tables
    assert (first.sql.text, second.sql.text, second.owner) == ("SELECT 1", "SELECT 2", "me")


def test_what_is_good_in_a_broken_file_is_kept(tmp_path):
    text = """
        pipeline: p
        schedule: never
        stream_tables:
          good: {query: SELECT 1, owner: 5, schedule: 5m}
          bad: {query: 5}
          worse: 7
        """
    project = load_project(write(tmp_path, {"p.yaml": text}))
    (pipeline,) = project.pipelines
    assert [table.name for table in pipeline.tables] == ["good"]
    assert [identifier for identifier, _ in pipeline.unread] == ["default.bad", "default.worse"]
    assert project.broken_files == {f"{tmp_path}/p.yaml"}
    assert [str(problem.at).rpartition("/")[2] for problem in project.problems] == [
        "p.yaml:2:11",
        "p.yaml:4:34",
        "p.yaml:5:16",
        "p.yaml:6:10",
    ]


@given(st.data())
@budget(1.5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_file_makes_the_loader_raise(tmp_path, data):
    """Damage a good file in a few places: problems are told in our words and with places in the file."""
    write(tmp_path, {"p.yaml": EVERYTHING, "sql/second.sql": "SELECT 2"})
    path = tmp_path / "p.yaml"
    text = path.read_text(encoding="utf-8")
    noise = st.sampled_from(["&a ", "*a", "<<: ", "{", "]", ": ", "- ", "|\n", "'", "!!int ", "1", "on", "😀"])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(noise) + text[at + data.draw(st.integers(0, 6)) :]
    path.write_text(text, encoding="utf-8")
    for problem in load_project(path).problems:
        assert problem.at.file == str(path)
        assert problem.at.line <= text.count("\n") + 1
        assert "Input should" not in problem.message
