"""The JSON Schema that editors use."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml

from airflow_trickle.definition.document import Document
from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.schema import SCHEMA_FILE, build_schema, schema_text
from tests.definition.test_loading import EVERYTHING
from tests.yaml_files import write

TABLE = "stream_tables: {t: {query: SELECT 1}}"


def schema_accepts(text):
    data = Document(text, "f.yaml").data
    json.dumps(data)  # what an editor sees is JSON
    return jsonschema.Draft202012Validator(build_schema()).is_valid(data)


def test_the_shipped_schema_is_what_the_models_say():
    hint = "run: python -m airflow_trickle.definition.schema"
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), hint


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(build_schema())


@pytest.mark.parametrize(
    "text",
    [
        f"pipeline: p\n{TABLE}",
        f"pipeline: p\nsources: [a, b]\n{TABLE}",
        f"pipeline: p\nsources: {{a: , b: {{}}, c: {{table: x.y}}}}\n{TABLE}",
        f"pipeline: p\nsources:\nowner:\nschedule: null\n{TABLE}",
        f"pipeline: p\nschedule: 1h30m\nstart_date: 2026-01-01\nallow_circular: unsafe\n{TABLE}",
        f"pipeline: p\nschedule: '0 6 * * mon-fri'\n{TABLE}",
        f"pipeline: p\nschedule: '@daily'\ntimezone: Europe/Berlin\n{TABLE}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, refresh_mode: full, diamond_consistency: None}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, query_file: , partition_by: [], cluster_by: }}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, partition_by: [a, 'DAYS( `b c` )', 'Truncate(4,d)', é]}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, cluster_by: [a, '`b, (c`', year]}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, lattice: {cost: min}}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, lattice: {'a b': MAX}}, u: {query: SELECT 1, lattice: }}",
        "\n".join(line[4:] for line in EVERYTHING.splitlines()),
    ],
)
def test_schema_and_loader_accept_the_same(tmp_path, text):
    write(tmp_path, {"p.yaml": text, "sql/second.sql": "SELECT 1"})
    assert load_project(tmp_path / "p.yaml").problems == ()
    assert schema_accepts(text)


@pytest.mark.parametrize(
    "text",
    [
        "pipeline: p",
        TABLE,
        "pipeline: p\nstream_tables: {}",
        "pipeline: p\nstream_tables: [t]",
        f"pipeline: my shop\n{TABLE}",
        f"pipeline: 5\n{TABLE}",
        f"pipeline: p\nshedule: 5m\n{TABLE}",
        f"pipeline: p\nschedule: 5 minutes\n{TABLE}",
        f"pipeline: p\nschedule: calculated\n{TABLE}",
        f"pipeline: p\nschedule: 30m1h\n{TABLE}",
        f"pipeline: p\nschedule: 5\n{TABLE}",
        f"pipeline: p\nstart_date: soon\n{TABLE}",
        f"pipeline: p\ntimezone: +02:00\n{TABLE}",
        f"pipeline: p\ncatchup: maybe\n{TABLE}",
        f"pipeline: p\ntags: x\n{TABLE}",
        f"pipeline: p\ntags: [1]\n{TABLE}",
        f"pipeline: p\nnamespace: a.b\n{TABLE}",
        f"pipeline: p\nsources: {{a-b: {{}}}}\n{TABLE}",
        f"pipeline: p\nsources: [a, a]\n{TABLE}",
        f"pipeline: p\nsources: {{a: {{tabel: x}}}}\n{TABLE}",
        f"pipeline: p\nmax_fixpoint_iterations: 0\n{TABLE}",
        f"pipeline: p\nallow_circular: sometimes\n{TABLE}",
        f"pipeline: p\non_failure_callback: notify\n{TABLE}",
        f"pipeline: p\ndefaults: {{query: x}}\n{TABLE}",
        "pipeline: p\nstream_tables: {t: {}}",
        "pipeline: p\nstream_tables: {t: }",
        "pipeline: p\nstream_tables: {t: SELECT 1}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, query_file: x}}",
        "pipeline: p\nstream_tables: {t-u: {query: SELECT 1}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, refresh_mode: INCREMENTAL}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, mutual_recursion: never}}",
        "pipeline: p\nschedule: calculated\nstream_tables: {t: {query: SELECT 1}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, partition_by: a}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, partition_by: ['bucket(4, a)']}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, partition_by: ['truncate(0, a)']}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, partition_by: ['days(a) b']}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, partition_by: ['']}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, partition_by: [a, a]}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, cluster_by: ['days(a)']}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, lattice: cost}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, lattice: {}}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, lattice: {' ': min}}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, lattice: {cost: sum}}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, lattice: {cost: }}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, lattice: {a: min, b: max}}}",
        "pipeline: p\ndefaults: {cluster_by: [a]}\nstream_tables: {t: {query: SELECT 1}}",
        "pipeline: p\nstream_tables: {t: {query: SELECT 1, diamond_consistency: atomc}}",
    ],
)
def test_schema_and_loader_refuse_the_same(tmp_path, text):
    write(tmp_path, {"p.yaml": text})
    assert load_project(tmp_path / "p.yaml").problems
    assert not schema_accepts(text)


def test_the_schema_describes_every_key():
    schema = build_schema()
    parts = [schema, *schema["$defs"].values()]
    assert all(field.get("description") for part in parts for field in part["properties"].values())
    assert yaml.safe_load(schema_text()) == schema
