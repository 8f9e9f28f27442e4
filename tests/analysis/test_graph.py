"""Names, order and cycles over the files of a folder."""

from __future__ import annotations

import pytest

from airflow_trickle.plan.steps import InputKind
from tests.yaml_files import messages, plan, planned


def inputs(result, pipeline, table):
    (found,) = (one for one in result.plans if one.pipeline == pipeline)
    step = next(one for one in found.tables if one.name == table)
    return {ref.name: (ref.identifier, ref.kind) for ref in step.inputs}


def pipeline(name, tables, extra=""):
    lines = "".join(f"  {table}: {{query: '{query}'}}\n" for table, query in tables.items())
    return f"pipeline: {name}\n{extra}stream_tables:\n{lines}"


def test_names_are_found_whatever_their_case_and_with_or_without_namespace(tmp_path):
    text = pipeline(
        "p",
        {
            "One": "SELECT * FROM ORDERS, shop.Raw, landing.EVENTS",
            "two": "SELECT * FROM one, SHOP.ONE AS x, orders",
        },
        "namespace: shop\nsources: {orders: {}, raw: {}, clicks: {table: landing.events}}\n",
    )
    result = planned(tmp_path, {"p.yaml": text})
    assert messages(result, tmp_path) == []
    assert inputs(result, "p", "One") == {
        "orders": ("shop.orders", InputKind.SOURCE),
        "raw": ("shop.raw", InputKind.SOURCE),
        "clicks": ("landing.events", InputKind.SOURCE),
    }
    assert inputs(result, "p", "two") == {
        "One": ("shop.One", InputKind.STREAM_TABLE),
        "orders": ("shop.orders", InputKind.SOURCE),
    }


def test_tables_of_other_pipelines_are_external(tmp_path):
    result = planned(
        tmp_path,
        {
            "a.yaml": pipeline("a", {"x": "SELECT 1", "y": "SELECT 1"}, "namespace: na\n"),
            "b.yaml": pipeline("b", {"z": "SELECT * FROM x, na.y, mine"}, "sources: {mine: {table: NA.X}}\n"),
        },
    )
    assert messages(result, tmp_path) == []
    # `mine` and `x` are one table, so it is one input.
    assert inputs(result, "b", "z") == {
        "mine": ("na.x", InputKind.EXTERNAL),
        "y": ("na.y", InputKind.EXTERNAL),
    }
    (plan_b,) = (one for one in result.plans if one.pipeline == "b")
    assert [ref.identifier for ref in plan_b.pin.inputs] == ["na.x", "na.y"]
    declared = {ref.name: ref.declared_at.rpartition("/")[2] for ref in plan_b.pin.inputs}
    assert declared == {"mine": "b.yaml:2:11", "y": "a.yaml:5:3"}


def test_a_source_that_is_a_table_of_the_pipeline_is_that_table(tmp_path):
    text = pipeline("p", {"a": "SELECT 1", "b": "SELECT * FROM other"}, "sources: {other: {table: default.a}}\n")
    found = plan(tmp_path, text)
    (ref,) = found.tables[1].inputs
    assert (ref.name, ref.identifier, ref.kind) == ("a", "default.a", InputKind.STREAM_TABLE)
    assert found.tables[1].references[0].alias == "other"
    assert found.refreshes[1].upstream == ("a",)
    assert found.pin.inputs == ()


def test_a_name_of_its_own_wins_over_one_elsewhere(tmp_path):
    result = planned(
        tmp_path,
        {
            "a.yaml": pipeline("a", {"x": "SELECT 1"}, "namespace: na\n"),
            "b.yaml": pipeline("b", {"x": "SELECT 1", "z": "SELECT * FROM x"}, "namespace: nb\n"),
        },
    )
    assert inputs(result, "b", "z") == {"x": ("nb.x", InputKind.STREAM_TABLE)}


def test_a_name_that_fits_several_tables_is_refused(tmp_path):
    result = planned(
        tmp_path,
        {
            "a.yaml": pipeline("a", {"x": "SELECT 1"}, "namespace: na\n"),
            "b.yaml": pipeline("b", {"x": "SELECT 1"}, "namespace: nb\n"),
            "c.yaml": pipeline("c", {"z": "SELECT * FROM x"}),
        },
    )
    assert messages(result, tmp_path) == [
        "c.yaml:3:29: stream table 'z': the name 'x' fits several stream tables: na.x (a.yaml:4:3) and "
        "nb.x (b.yaml:4:3). Write it with its namespace."
    ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "ordrs",
            "'ordrs' is neither a source nor a stream table. Did you mean 'orders'? "
            "If others write the table, declare it: sources: {ordrs: {}}.",
        ),
        (
            "faraway2",
            "'faraway2' is neither a source nor a stream table. Did you mean 'far_away'? "
            "If others write the table, declare it: sources: {faraway2: {}}.",
        ),
        (
            "weather",
            "'weather' is neither a source nor a stream table. "
            "If others write the table, declare it: sources: {weather: {}}.",
        ),
        (
            "default.ordrs",
            "'default.ordrs' is neither a source nor a stream table. Did you mean 'default.orders'? "
            "If others write the table, declare it: sources: {ordrs: {table: default.ordrs}}.",
        ),
        (
            "lake.db.x",
            "the name 'lake.db.x' has 3 parts, but must be name or namespace.name. "
            "The catalog is set by `catalog`; declare other tables under `sources`.",
        ),
    ],
)
def test_an_unknown_table_is_refused_with_the_nearest_name(tmp_path, name, message):
    result = planned(
        tmp_path,
        {
            "a.yaml": pipeline("a", {"far_away": "SELECT 1"}),
            "p.yaml": f"""
                pipeline: p
                sources: [orders]
                stream_tables:
                  t:
                    query: |
                      SELECT *
                      FROM {name}
                """,
        },
    )
    assert messages(result, tmp_path) == [f"p.yaml:7:12: stream table 't': {message}"]
    assert [one.pipeline for one in result.plans] == ["a"]


def test_a_table_of_a_broken_file_may_be_read(tmp_path):
    result = planned(
        tmp_path,
        {
            "a.yaml": pipeline("a", {"x": "SELECT 1 FROM", "y": "SELECT 1"}, "catchup: maybe\n"),
            "b.yaml": pipeline("b", {"z": "SELECT * FROM x, y, w"}),
            "c.yaml": "pipeline: c\nstream_tables: {w: {owner: me}, v: {query: SELECT 1}}\n",
        },
    )
    assert [one.pipeline for one in result.plans] == ["b"]
    assert {file.file.rpartition("/")[2]: file.pipeline for file in result.broken} == {
        "a.yaml": "a",
        "c.yaml": "c",
    }
    assert set(inputs(result, "b", "z")) == {"x", "y", "w"}


def test_a_file_that_cannot_be_read_may_hold_the_missing_table(tmp_path):
    result = planned(
        tmp_path,
        {"a.yaml": "pipeline: a\nstream_tables: [\n", "b.yaml": pipeline("b", {"z": "SELECT * FROM x"})},
    )
    assert messages(result, tmp_path)[1].endswith(
        "declare it: sources: {x: {}}. It may also be defined in a.yaml, which cannot be read."
    )


def test_two_tables_of_one_name_in_two_files_are_both_refused(tmp_path):
    result = planned(
        tmp_path,
        {
            "a.yaml": pipeline("a", {"x": "SELECT 1"}),
            "b.yaml": pipeline("b", {"X": "SELECT 1"}),
            "c.yaml": pipeline("c", {"x": "SELECT 1"}, "namespace: elsewhere\n"),
        },
    )
    hint = "Rename one of them, or give the pipelines different namespaces."
    assert messages(result, tmp_path) == [
        f"a.yaml:3:3: stream table 'x': the table default.x is also defined at b.yaml:3:3. {hint}",
        f"b.yaml:3:3: stream table 'X': the table default.X is also defined at a.yaml:3:3. {hint}",
    ]
    assert [one.pipeline for one in result.plans] == ["c"]


def test_two_pipelines_of_one_name_are_both_refused(tmp_path):
    result = planned(tmp_path, {"a.yaml": pipeline("p", {"x": "SELECT 1"}), "b.yaml": pipeline("p", {"y": "SELECT 1"})})
    assert messages(result, tmp_path) == [
        "a.yaml:1:11: the pipeline 'p' is also defined at b.yaml:1:11. Rename one of them.",
        "b.yaml:1:11: the pipeline 'p' is also defined at a.yaml:1:11. Rename one of them.",
    ]


def test_a_cycle_is_refused_with_its_path(tmp_path):
    """Design 000 Part 8: Test 6: allow_circular=false rejects cycles"""
    text = pipeline(
        "p",
        {
            "c": "SELECT * FROM a",
            "a": "SELECT 1 FROM b",
            "b": "SELECT * FROM c",
            "below": "SELECT * FROM b",
            "self": "SELECT * FROM self",
        },
    )
    hint = (
        "Cycles are not allowed in this pipeline. If the tables are meant to define each other, set allow_circular: "
        "true in the pipeline, and for each of them refresh_mode: DIFFERENTIAL or AUTO; if not, take one of these "
        "reads out. See docs/analysis.md, section Cycles."
    )
    assert messages(planned(tmp_path, {"p.yaml": text}), tmp_path) == [
        f"p.yaml:4:29: stream table 'a' is part of a cycle: a -> b -> c -> a. {hint}",
        f"p.yaml:7:32: stream table 'self' reads itself: self -> self. {hint}",
    ]


def test_a_cycle_over_several_files_is_refused_in_each(tmp_path):
    result = planned(
        tmp_path,
        {
            "a.yaml": pipeline("a", {"x": "SELECT * FROM y"}, "allow_circular: true\n"),
            "b.yaml": pipeline("b", {"y": "SELECT * FROM x"}, "namespace: nb\n"),
            "c.yaml": pipeline("c", {"z": "SELECT * FROM x, y"}),
        },
    )
    path = "is part of a cycle over several pipelines: default.x -> nb.y -> default.x."
    hint = (
        "Put all tables of the cycle into one pipeline (with allow_circular: true, and refresh_mode: DIFFERENTIAL or "
        "AUTO for each), or take one of these reads out. See docs/analysis.md, section Cycles."
    )
    assert messages(result, tmp_path) == [
        f"a.yaml:4:29: stream table 'x' {path} {hint}",
        f"b.yaml:4:29: stream table 'y' {path} {hint}",
    ]
    assert [one.pipeline for one in result.plans] == ["c"]


def test_every_file_with_a_member_of_a_cycle_is_refused(tmp_path):
    result = planned(
        tmp_path,
        {
            "a.yaml": pipeline("a", {"a": "SELECT * FROM b, c", "b": "SELECT * FROM a"}),
            "c.yaml": pipeline("c", {"c": "SELECT * FROM a"}),
        },
    )
    assert [file.file.rpartition("/")[2] for file in result.broken] == ["a.yaml", "c.yaml"]


def test_pipelines_may_read_each_other_without_a_cycle(tmp_path):
    result = planned(
        tmp_path,
        {
            "a.yaml": pipeline("a", {"a1": "SELECT 1", "a2": "SELECT * FROM b1"}),
            "b.yaml": pipeline("b", {"b1": "SELECT * FROM a1"}),
        },
    )
    assert messages(result, tmp_path) == []


def test_tables_come_upstream_first_and_by_name(tmp_path):
    tables = {
        "z": "SELECT * FROM s",
        "b": "SELECT * FROM z",
        "a": "SELECT * FROM z",
        "y": "SELECT * FROM a, b",
        "c": "SELECT 1",
    }
    extra = "sources: [s]\ndiamond_consistency: none\n"
    forward = plan(tmp_path, pipeline("p", tables, extra))
    assert [step.unit for step in forward.refreshes] == ["c", "z", "a", "b", "y"]
    assert forward.refreshes[-1].upstream == ("a", "b")
    backward = plan(tmp_path, pipeline("p", dict(reversed(tables.items())), extra))
    assert [step.unit for step in backward.refreshes] == ["c", "z", "a", "b", "y"]


def test_a_column_named_with_its_namespace_is_refused_where_it_would_break(tmp_path):
    extra = "namespace: db\nsources: [a, s]\n"
    ways = {
        "t1": "SELECT db.a.x FROM db.a",
        "t2": "SELECT db.a.x FROM a",
        "t3": "SELECT DB.A.* FROM a",
        "ok1": "SELECT db.a.x FROM a AS db",
        "ok2": "SELECT a.s.f FROM a",
    }
    result = planned(tmp_path, {"p.yaml": pipeline("p", ways, extra)})
    assert messages(result, tmp_path) == [
        f"p.yaml:{line}:23: stream table '{table}': a column is named with the namespace of its "
        f"table, '{name}'. "
        f"Write '{bare}.<column>', or give the table an alias."
        for line, table, name, bare in [
            (5, "t1", "db.a", "a"),
            (6, "t2", "db.a", "a"),
            (7, "t3", "DB.A", "A"),
        ]
    ]


def test_a_single_file_may_name_the_tables_of_its_neighbours(tmp_path):
    from airflow_trickle.definition.settings import Settings
    from airflow_trickle.plan.build import plan_path
    from tests.yaml_files import write

    write(
        tmp_path,
        {
            "v1.yaml": pipeline("p", {"x": "SELECT 1"}),
            "v2.yaml": pipeline("p", {"x": "SELECT * FROM y, s"}, "sources: [s]\n"),
            "other.yaml": pipeline("o", {"y": "SELECT * FROM nowhere"}),
            "broken.yaml": "pipeline: [",
        },
    )
    result = plan_path(tmp_path / "v2.yaml", Settings())
    assert messages(result, tmp_path) == []
    assert [one.file for one in result.plans] == [f"{tmp_path}/v2.yaml"]
    assert inputs(result, "p", "x") == {
        "s": ("default.s", InputKind.SOURCE),
        "y": ("default.y", InputKind.EXTERNAL),
    }
