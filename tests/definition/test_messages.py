"""What a person reads about a wrong file, word for word."""

from __future__ import annotations

import pytest

from airflow_trickle.definition.load import load_project
from tests.yaml_files import write

PIPELINE_KEYS = (
    "allow_circular, catalog, catchup, defaults, description, diamond_consistency, enable_stratum_skip, "
    "maintenance, max_fixpoint_iterations, mutual_recursion, namespace, on_failure_callback, "
    "on_non_convergence_callback, on_success_callback, owner, passes_per_submission, pipeline, schedule, sources, "
    "spark_conn_id, start_date, stratified_cycle_validation, stratified_dred, stream_tables, tags and timezone"
)
DEFAULT_KEYS = (
    "diamond_consistency, diamond_schedule_policy, execution_timeout, executor_config, max_fixpoint_iterations, "
    "mutual_recursion, owner, pool, pool_slots, priority_weight, queue, refresh_mode, retries, retry_delay, schedule, "
    "spark_conf, state, state_max_bytes and tags"
)
TABLE_KEYS = (
    "cluster_by, description, diamond_consistency, diamond_schedule_policy, execution_timeout, executor_config, "
    "lattice, max_fixpoint_iterations, mutual_recursion, owner, partition_by, pool, pool_slots, priority_weight, "
    "query, query_file, queue, refresh_mode, retries, retry_delay, schedule, spark_conf, state, "
    "state_max_bytes and tags"
)
SCHEDULES = (
    "a duration (30s, 5m, 1h30m, 1d), a cron expression of five fields (*/5 * * * *), "
    "or one of @hourly, @daily, @weekly, @monthly, @quarterly, @yearly, or asset"
)
TABLE_SCHEDULES = SCHEDULES.replace(", or asset", ", or calculated, or asset")
TABLE = "stream_tables: {t: {query: SELECT 1}}\n"
NAME = "made of letters, digits and '_', and may not begin with a digit"


def told(folder, text):
    project = load_project(write(folder, {"p.yaml": text}))
    return [str(problem).replace(f"{folder}/", "") for problem in project.problems]


def top(line):
    return f"pipeline: p\n{line}\n{TABLE}"


def table(options):
    return f"pipeline: p\nstream_tables:\n  t: {{query: SELECT 1, {options}}}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            top("shedule: 5m"),
            f"p.yaml:2:1: unknown key 'shedule'. Did you mean 'schedule'? Allowed keys: {PIPELINE_KEYS}.",
        ),
        (
            table("zzz: 1"),
            f"p.yaml:3:24: stream table 't': unknown key 'zzz'. Allowed keys: {TABLE_KEYS}.",
        ),
        (
            "pipeline: p\nstream_tables:\n  t:\n    quary: SELECT 1\n",
            f"p.yaml:4:5: stream table 't': unknown key 'quary'. Did you mean 'query'? Allowed keys: {TABLE_KEYS}.",
        ),
        (
            "pipeline: p\nstream_tables:\n  t: {query: SELECT a, b FROM c}\n",
            "p.yaml:3:24: stream table 't': unknown key 'b FROM c'. Between { and } a comma ends a text: "
            f"put the text before it in quotes. Allowed keys: {TABLE_KEYS}.",
        ),
        (
            top("defaults: {query: x}"),
            f"p.yaml:2:12: defaults: unknown key 'query'. Allowed keys: {DEFAULT_KEYS}.",
        ),
        (
            top("sources: {a: {tabel: x.y}}"),
            "p.yaml:2:15: source 'a': unknown key 'tabel'. Did you mean 'table'? "
            "Allowed keys: capture, description, format, options, path, schema, table and watermark.",
        ),
        (
            f"pipelin: p\n{TABLE}",
            f"p.yaml:1:1: unknown key 'pipelin'. Did you mean 'pipeline'? Allowed keys: {PIPELINE_KEYS}.",
        ),
        (TABLE, "p.yaml:1:1: the key 'pipeline' is missing."),
        ("pipeline: p\n", "p.yaml:1:1: the key 'stream_tables' is missing."),
        (
            "pipeline: p\nstream_tables: {}\n",
            "p.yaml:2:1: 'stream_tables' is empty. Give at least one stream table.",
        ),
        (top("catchup: maybe"), "p.yaml:2:10: 'catchup' is the text 'maybe', but must be true or false."),
        (top("owner: 3"), "p.yaml:2:8: 'owner' is the number 3, but must be a text. Put it in quotes."),
        (top("owner: [x]"), "p.yaml:2:8: 'owner' is a list, but must be a text."),
        (top("tags: x"), "p.yaml:2:7: 'tags' is the text 'x', but must be a list of texts. Write [x]."),
        (
            top("tags: [2026]"),
            "p.yaml:2:7: 'tags' is a list, but must be a list of texts. "
            "Put what looks like a number, a date or a truth value in quotes.",
        ),
        (
            top("max_fixpoint_iterations: 0"),
            "p.yaml:2:26: 'max_fixpoint_iterations' is the number 0, but must be a whole number of at least 1.",
        ),
        (
            top("allow_circular: sometimes"),
            "p.yaml:2:17: 'allow_circular' is the text 'sometimes', but must be true, false or unsafe.",
        ),
        (
            top("diamond_consistency: atomc"),
            "p.yaml:2:22: 'diamond_consistency' is the text 'atomc', but must be atomic or none. Did you mean atomic?",
        ),
        (
            table("refresh_mode: FUL"),
            "p.yaml:3:38: stream table 't': 'refresh_mode' is the text 'FUL', but must be AUTO, FULL or DIFFERENTIAL. "
            "Did you mean FULL?",
        ),
        (
            table("mutual_recursion: maybe"),
            "p.yaml:3:42: stream table 't': 'mutual_recursion' is the text 'maybe', but must be auto or suggest.",
        ),
        (
            table("partition_by: day"),
            "p.yaml:3:38: stream table 't': 'partition_by' is the text 'day', but must be a list of columns, or of "
            'years(c), months(c), days(c), hours(c) or truncate(n, c) of a column c. Write ["day"].',
        ),
        (
            table("partition_by: [day, 2026]"),
            "p.yaml:3:38: stream table 't': 'partition_by' is a list, but must be a list of columns, or of "
            "years(c), months(c), days(c), hours(c) or truncate(n, c) of a column c. "
            "Put what looks like a number, a date or a truth value in quotes.",
        ),
        (
            table('partition_by: ["bucket(16, id)"]'),
            "p.yaml:3:38: stream table 't': partition_by: 'bucket(16, id)': bucket is not built. "
            "Use cluster_by: it sorts the rows by such a column.",
        ),
        (
            table('partition_by: ["mnths(day)"]'),
            "p.yaml:3:38: stream table 't': partition_by: 'mnths(day)': there is no transform 'mnths'. "
            "Did you mean months? "
            "Give a column, or years(c), months(c), days(c), hours(c) or truncate(n, c) of a column c.",
        ),
        (
            table('partition_by: ["truncate(zip)"]'),
            "p.yaml:3:38: stream table 't': partition_by: 'truncate(zip)' needs a width and a column, "
            "such as truncate(4, zip).",
        ),
        (
            table('partition_by: ["days(a, b)"]'),
            "p.yaml:3:38: stream table 't': partition_by: 'a, b' is not the name of one column. "
            "A name with blanks, commas or parentheses goes between backticks.",
        ),
        (
            table('partition_by: [day, "months(Day)"]'),
            "p.yaml:3:38: stream table 't': partition_by: column 'Day' is given twice. Keep one of them.",
        ),
        (
            table('cluster_by: ["days(a)"]'),
            "p.yaml:3:36: stream table 't': cluster_by: 'days(a)' is not the name of a column. "
            "A name with blanks, commas or parentheses goes between backticks.",
        ),
        (
            table("cluster_by: [a, A]"),
            "p.yaml:3:36: stream table 't': cluster_by: column 'A' is given twice. Keep one of them.",
        ),
        (
            table("lattice: cost"),
            "p.yaml:3:33: stream table 't': 'lattice' is the text 'cost', but must be a mapping from one column to "
            "min or max, such as {cost: min}.",
        ),
        (
            table("lattice: {}"),
            "p.yaml:3:33: stream table 't': 'lattice' is a mapping, but must be a mapping from one column to "
            "min or max, such as {cost: min}.",
        ),
        (
            table("lattice: {cost: minn}"),
            "p.yaml:3:33: stream table 't': lattice: 'cost' is the text 'minn', but must be min or max. "
            "Did you mean min?",
        ),
        (
            table("lattice: {cost: 1}"),
            "p.yaml:3:33: stream table 't': lattice: 'cost' is the number 1, but must be min or max. "
            "Write {cost: min} or {cost: max}.",
        ),
        (
            table("lattice: {cost: min, hops: min}"),
            "p.yaml:3:33: stream table 't': lattice: 2 columns are given, but a table has one at most. "
            "Give a mapping from one column to min or max, such as {cost: min}.",
        ),
        (
            top("defaults: {lattice: {cost: min}}"),
            f"p.yaml:2:12: defaults: unknown key 'lattice'. Allowed keys: {DEFAULT_KEYS}.",
        ),
        (
            top("defaults: {partition_by: [day]}"),
            f"p.yaml:2:12: defaults: unknown key 'partition_by'. Allowed keys: {DEFAULT_KEYS}.",
        ),
        (
            table("diamond_schedule_policy: 1"),
            "p.yaml:3:49: stream table 't': 'diamond_schedule_policy' is the number 1, but must be slowest or fastest.",
        ),
        (
            table("schedule: calculate"),
            f"p.yaml:3:34: stream table 't': 'schedule' is the text 'calculate', but must be {TABLE_SCHEDULES}. "
            "Did you mean calculated?",
        ),
        (
            top("schedule: calculated"),
            "p.yaml:2:11: the schedule 'calculated' is for stream tables: it follows those that read them. "
            "Give it to a table, and the pipeline a schedule of its own.",
        ),
        (
            top("schedule: 5 minutes"),
            f"p.yaml:2:11: 'schedule' is the text '5 minutes', but must be {SCHEDULES}. Did you mean 5m?",
        ),
        (
            top("schedule: 5 weeks"),
            "p.yaml:2:11: the schedule '5 weeks' is not one: a cron expression has five fields, this has 2. "
            f"Give {SCHEDULES}.",
        ),
        (
            top("schedule: hourly"),
            f"p.yaml:2:11: 'schedule' is the text 'hourly', but must be {SCHEDULES}. Did you mean @hourly?",
        ),
        (top("schedule: 5"), f"p.yaml:2:11: 'schedule' is the number 5, but must be {SCHEDULES}."),
        (
            top("schedule: 61 * * * *"),
            f"p.yaml:2:11: the schedule '61 * * * *' is not one: '61' is not a minute (0-59). Give {SCHEDULES}.",
        ),
        (
            top("start_date: yesterday"),
            "p.yaml:2:13: 'start_date' is the text 'yesterday', but must be a date such as 2026-01-31, "
            "or a moment such as 2026-01-31T06:00:00+01:00.",
        ),
        (
            top("timezone: Berlin"),
            "p.yaml:2:11: 'timezone' is the text 'Berlin', but must be a time zone of the IANA database, such as "
            "Europe/Berlin. Did you mean Europe/Berlin?",
        ),
        (
            top("on_failure_callback: notify"),
            "p.yaml:2:22: 'on_failure_callback' is the text 'notify', but must be the dotted path of a "
            "function, "
            "such as my_package.alerts.notify.",
        ),
        (top("namespace: my-ns"), f"p.yaml:2:12: 'namespace' is the text 'my-ns', but must be {NAME}."),
        (
            f"pipeline: my shop\n{TABLE}",
            "p.yaml:1:11: 'pipeline' is the text 'my shop', but must be made of letters, digits, '_', "
            "'-' and "
            "'.', since it names the DAG.",
        ),
        (
            f"pipeline: {'x' * 201}\n{TABLE}",
            f"p.yaml:1:11: 'pipeline' is the text '{'x' * 59}…', but must be at most 200 characters long.",
        ),
        (
            "pipeline: p\nstream_tables:\n  my-table: {query: SELECT 1}\n",
            f"p.yaml:3:3: the name of the stream table 'my-table' must be {NAME}.",
        ),
        (top("sources: {1a: {}}"), f"p.yaml:2:11: the name of the source '1a' must be {NAME}."),
        (
            top("sources: [a, b-c]"),
            f"p.yaml:2:14: the name of the source 'b-c' must be {NAME}.",
        ),
        (top("sources: [a, b, a]"), "p.yaml:2:17: the source 'a' is given twice. Keep one of them."),
        (
            top("sources: x"),
            "p.yaml:2:10: 'sources' is the text 'x', but must be a mapping from names to {}, or a list of names.",
        ),
        (
            top("sources: {a: b.c}"),
            "p.yaml:2:14: source 'a' is the text 'b.c', but must be a mapping such as {}, "
            "{table: namespace.name} or {path: /data/x, format: parquet}.",
        ),
        (
            top("sources: {a: {table: 'b c'}}"),
            "p.yaml:2:22: source 'a': 'table' is the text 'b c', but must be the name of an Iceberg table, "
            "such as namespace.table.",
        ),
        (
            top("defaults: [x]"),
            "p.yaml:2:11: 'defaults' is a list, but must be a mapping of keys of stream tables.",
        ),
        (
            "pipeline: p\nstream_tables: [t]\n",
            "p.yaml:2:16: 'stream_tables' is a list, but must be a mapping from names to queries.",
        ),
        (
            "pipeline: p\nstream_tables:\n  t: SELECT 1\n",
            "p.yaml:3:6: stream table 't' is the text 'SELECT 1', but must be a mapping with a query. "
            "Write `query: SELECT …` below the name.",
        ),
        (
            "pipeline: p\nstream_tables:\n  t:\n",
            "p.yaml:3:3: stream table 't' is empty, but must be a mapping with a query. "
            "Write `query: SELECT …` below the name.",
        ),
        (
            "pipeline: p\nstream_tables:\n  t: {owner: me}\n",
            "p.yaml:3:3: stream table 't': the query is missing. "
            "Give 'query' (SQL text) or 'query_file' (a file with the SQL).",
        ),
        (
            table("query_file: x.sql"),
            "p.yaml:3:3: stream table 't': both 'query' and 'query_file' are given. Keep one of them.",
        ),
        (
            "pipeline: p\nstream_tables:\n  t: {query: 1}\n",
            "p.yaml:3:14: stream table 't': 'query' is the number 1, but must be a text. Put it in quotes.",
        ),
        (
            "pipeline: p\nstream_tables:\n  t: {query: SELECT 1}\n  t: {query: SELECT 2}\n",
            "p.yaml:4:3: the key 't' is given twice; the first is in line 3. Keep one of them.",
        ),
        (
            "pipeline: p\nstream_tables:\n  t: {query: SELECT 1}\n  T: {query: SELECT 2}\n",
            "p.yaml:4:3: the stream tables 't' and 'T' differ only in upper and lower case. Rename one of them.",
        ),
        (
            top("sources: [T]"),
            "p.yaml:3:17: 't' is both a source and a stream table. Rename one of them.",
        ),
    ],
)
def test_a_mistake_is_told_once_with_its_place_and_what_to_do(tmp_path, text, message):
    assert told(tmp_path, text) == [message]


def test_nothing_of_pydantic_is_heard(tmp_path):
    wrong = "pipeline: 1\nnamespace: 2\ndescription: []\ntags: 3\nsources: 4\ndefaults: 5\nstream_tables: 6\n"
    for text in told(tmp_path, wrong):
        assert "Input should" not in text
        assert "pydantic" not in text
    assert len(told(tmp_path, wrong)) == 7
