"""Sources that are captured: what may be written, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.records import CaptureDef
from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.explain import explain_json, explain_text


def write(tmp_path: Path, source: str, more: str = "") -> Path:
    file = tmp_path / "p.yaml"
    file.write_text(f"pipeline: p\nsources:\n  s: {source}\n{more}stream_tables:\n  t: {{query: SELECT * FROM s}}\n")
    return file


def told(tmp_path: Path, source: str) -> list[str]:
    project = plan_path(write(tmp_path, source), Settings())
    return [str(problem).replace(f"{tmp_path}/", "") for problem in project.problems]


@pytest.mark.parametrize(
    ("source", "capture"),
    [
        ("{path: /data/x/, format: parquet}", CaptureDef("parquet", "files", "/data/x")),
        ("{path: 's3://b/x', format: DELTA}", CaptureDef("delta", "files", "s3://b/x")),
        (
            "{path: /x, format: csv, schema: 'id BIGINT', options: {header: true, sep: ';', maxColumns: 3}}",
            CaptureDef(
                "csv", "files", "/x", (("header", "true"), ("maxColumns", "3"), ("sep", ";")), columns="id BIGINT"
            ),
        ),
        (
            "{format: jdbc, options: {url: 'jdbc:x://h/d?password=${PW}', user: me, password: '${PW}', dbtable: t}}",
            CaptureDef(
                "jdbc",
                "snapshot",
                None,
                (("dbtable", "t"), ("password", "${PW}"), ("url", "jdbc:x://h/d?password=${PW}"), ("user", "me")),
            ),
        ),
        (
            "{path: /x, format: orc, capture: APPEND_ONLY, watermark: at}",
            CaptureDef("orc", "append_only", "/x", watermark="at"),
        ),
        ("{table: a.b}", None),
    ],
)
def test_what_may_be_written(tmp_path: Path, source: str, capture: CaptureDef | None) -> None:
    project = load_project(write(tmp_path, source))
    assert project.problems == ()
    assert project.pipelines[0].sources[0].capture == capture


SECRET = (
    "holds a secret in plain text, which would be in plans and logs. Write ${NAME} in its place, and set the "
    "environment variable NAME where Airflow's workers run; or ${conn.ID.password}, the password of an Airflow "
    "connection."
)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "{path: /x}",
            "p.yaml:3:3: source 's': 'path' is given, but no 'format': is it an Iceberg table, or something to "
            "capture? Give the format, such as parquet, csv, json, orc, delta or jdbc, or leave the key out.",
        ),
        (
            "{format: parquet}",
            "p.yaml:3:3: source 's': format: parquet needs a 'path'. Give the folder, such as /data/orders or "
            "s3://bucket/orders.",
        ),
        (
            "{path: data/x, format: parquet}",
            "p.yaml:3:13: source 's': 'path' is the text 'data/x', but must be an absolute path, or an address such as "
            "s3://bucket/folder.",
        ),
        (
            "{path: /x, format: csv}",
            "p.yaml:3:3: source 's': csv files do not tell the types of their columns. Give them as `schema`, such as "
            "schema: id BIGINT, at TIMESTAMP, amount DECIMAL(10,2).",
        ),
        (
            "{path: /x, format: delta, capture: snapshot}",
            "p.yaml:3:3: source 's': 'capture' does not go with format: delta, whose log tells columns and files. "
            "Leave it out.",
        ),
        (
            "{format: jdbc, capture: files}",
            "p.yaml:3:3: source 's': capture: files is for the formats parquet, csv, json, orc and delta, not for "
            "jdbc. Set capture: snapshot, or append_only with a watermark.",
        ),
        (
            "{format: jdbc, capture: append_only}",
            "p.yaml:3:3: source 's': capture: append_only needs the column that only grows. Give it as `watermark`.",
        ),
        (
            "{format: jdbc, watermark: at}",
            "p.yaml:3:3: source 's': 'watermark' is for capture: append_only. Leave it out, or set capture: "
            "append_only.",
        ),
        (
            "{format: jdbc, capture: al}",
            "p.yaml:3:30: source 's': 'capture' is the text 'al', but must be files, snapshot or append_only.",
        ),
        (
            "{format: iceberg, path: /x}",
            "p.yaml:3:3: source 's': format: iceberg is what a source is anyway. Leave path and format out; `table` "
            "names the table.",
        ),
        (
            "{format: jdbc, options: {numPartitions: 4}}",
            "p.yaml:3:30: source 's': the option 'numPartitions' is not allowed: several queries of one read see the "
            "table at different moments. Leave it out.",
        ),
        ("{format: jdbc, options: {password: geheim}}", f"p.yaml:3:30: source 's': the option 'password' {SECRET}"),
        (
            "{format: jdbc, options: {url: 'jdbc:x://me:geheim@h/d'}}",
            f"p.yaml:3:30: source 's': the option 'url' {SECRET}",
        ),
        (
            "{format: jdbc, options: {url: 'jdbc:x://h/d?user=me&password=geheim'}}",
            f"p.yaml:3:30: source 's': the option 'url' {SECRET}",
        ),
        (
            "{format: jdbc, options: {fs.s3a.secret.key: x}}",
            f"p.yaml:3:30: source 's': the option 'fs.s3a.secret.key' {SECRET}",
        ),
        (
            "{format: jdbc, options: {password: '${conn.db.pasword}'}}",
            "p.yaml:3:30: source 's': the option 'password' has a ${…} that is no reference. Write ${NAME} for an "
            "environment variable, or ${conn.ID.FIELD} for the host, port, login, password or schema of an Airflow "
            "connection.",
        ),
        (
            "{format: jdbc, options: {url: 'jdbc:oracle:thin:scott/geheim@//h:1521/d'}}",
            f"p.yaml:3:30: source 's': the option 'url' {SECRET}",
        ),
        (
            "{format: parquet, path: 's3://id:geheim@bucket/x'}",
            "p.yaml:3:30: source 's': the path holds a secret, which would be in plans and logs. Give it to Spark and "
            "to the catalog.",
        ),
        (
            "{format: jdbc, options: [a]}",
            "p.yaml:3:30: source 's': 'options' is a list, but must be a mapping of options of Spark's reader, such as "
            "{header: true}.",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, source: str, message: str) -> None:
    assert told(tmp_path, source) == [message]
    assert "geheim" not in message


def test_the_mirror_has_one_definition(tmp_path: Path) -> None:
    write(tmp_path, "{path: /x, format: parquet}")
    other = tmp_path / "q.yaml"
    other.write_text(
        "pipeline: q\nsources:\n  s: {path: /y, format: parquet}\n  u: {path: /z, format: parquet, table: default.t}\n"
        "stream_tables:\n  v: {query: SELECT * FROM s CROSS JOIN u}\n"
    )
    problems = [str(problem).replace(f"{tmp_path}/", "") for problem in plan_path(tmp_path, Settings()).problems]
    assert problems == [
        "p.yaml:3:3: source 's': it would be captured into the table default.s, and the source at q.yaml:3:3 too, from "
        "something else or in another way. Make the two alike, or give one of them another table with `table: "
        "namespace.name`.",
        "q.yaml:3:3: source 's': it would be captured into the table default.s, and the source at p.yaml:3:3 too, from "
        "something else or in another way. Make the two alike, or give one of them another table with `table: "
        "namespace.name`.",
        "q.yaml:4:3: source 'u': it would be captured into the table default.t, which is the stream table defined at "
        "p.yaml:5:3. Rename one of them, or give the source another table with `table: namespace.name`.",
    ]


def test_the_plan_shows_what_is_captured_but_no_option(tmp_path: Path) -> None:
    source = "{format: jdbc, options: {url: 'jdbc:x://h/d', password: '${PW}'}}"
    more = "  unread: {path: /y, format: parquet}\n"
    planned = plan_path(write(tmp_path, source, more), Settings())
    text = "\n".join(explain_text(planned))
    assert "  capture  s (default.s): jdbc, compared row by row\n  pin      s (default.s)\n" in text
    (capture,) = explain_json(planned)["pipelines"][0]["captures"]
    assert {key: capture[key] for key in ("name", "identifier", "format", "path", "capture", "watermark")} == {
        "name": "s",
        "identifier": "default.s",
        "format": "jdbc",
        "path": None,
        "capture": "snapshot",
        "watermark": None,
    }
    assert "jdbc:x" not in text + str(capture)
