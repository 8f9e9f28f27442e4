"""How Spark is set up: the embedded server, every session, and one refresh by the size of its inputs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from airflow_trickle.definition.source_options import looks_secret
from airflow_trickle.definition.spark_settings import may_decide_meaning
from airflow_trickle.spark.meaning import CHOSEN_MEANING, FIXED_MEANING, NEVER_SET

MiB = 1024**2
GiB = 1024**3

#: What every session needs so that its files are right Iceberg files; all can be set at run time.
SESSION_SETTINGS: Mapping[str, str] = {
    **FIXED_MEANING,
    **CHOSEN_MEANING,
    # Iceberg knows no INT96, and counts microseconds.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Columns are found by Iceberg's field id, so a renamed column keeps its data.
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    # "true" would answer NULL for every column of a file that has no ids at all, without a word.
    "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
    # A file that cannot be read fails the refresh; skipping it would publish a table with rows missing.
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    # Iceberg counts days in the Gregorian calendar, also before 1582.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # What a worker process receives is counted batch by batch. Spark takes the default width of types for that of rows,
    # so only the number of rows bounds a batch of wide ones.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    # Our own list of files says what was written; nobody reads the marker file.
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}


#: How Spark runs the operators of a query: as Java that it writes and compiles for each query and its literals, or
#: step by step. Compiling takes 0.1 to 0.5 s a query, which pays for many rows only. Both are Spark's own; it also
#: interprets what is too long to compile.
COMPILED: Mapping[str, str] = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
INTERPRETED: Mapping[str, str] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


#: What Spark does where nobody has said anything, of the settings that change from query to query.
DEFAULTS: Mapping[str, str] = {
    **COMPILED,
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "200",
}


def session_settings(wanted: Mapping[str, str]) -> dict[str, str]:
    """The settings of a session with those a connection asks for; what keeps rows right cannot be changed.

    >>> session_settings({"spark.sql.files.ignoreCorruptFiles": "true"})["spark.sql.files.ignoreCorruptFiles"]
    'false'
    """
    return {**SESSION_SETTINGS, **{key: value for key, value in wanted.items() if _may_be_set(key, value)}}


def _may_be_set(key: str, value: str) -> bool:
    # What decides rows is written down beside them; what looks like a secret cannot be, so it decides nothing.
    if may_decide_meaning(key) and looks_secret(key, value):
        return False
    return key in CHOSEN_MEANING or key not in {*SESSION_SETTINGS, *NEVER_SET}


def chosen_settings(wanted: Mapping[str, str]) -> dict[str, str]:
    """Of the settings that a connection asks for, those that decide what a query means.

    >>> chosen_settings({"spark.executor.memory": "4g", "spark.sql.session.timeZone": "Europe/Berlin"})
    {'spark.sql.session.timeZone': 'Europe/Berlin'}
    """
    return {key: value for key, value in sorted(wanted.items()) if may_decide_meaning(key) and _may_be_set(key, value)}


#: Of an application that is submitted, as long as the connection does not say otherwise.
_APPLICATION_DEFAULTS: Mapping[str, str] = {
    # The driver's log is the task's log: what happened should be found in it.
    "spark.log.level": "WARN",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    # Catalyst walks deep plans by recursion. The other option of Java's is the user's.
    "spark.driver.defaultJavaOptions": "-Xss4m",
}


def application_settings(wanted: Mapping[str, str]) -> dict[str, str]:
    """The settings of an application with those a connection asks for; what keeps rows right cannot be changed."""
    return {**_APPLICATION_DEFAULTS, **{key: value for key, value in wanted.items() if _may_be_set(key, value)}}


#: Settings of the embedded server that a user's spark-defaults.conf may change.
_SERVER_DEFAULTS: Mapping[str, str] = {
    "spark.master": "local[*]",
    # Joins and partitions adapt to what really arrives.
    "spark.sql.adaptive.enabled": "true",
    # Listing files as a Spark job pays off for thousands of folders, not for 200 files (815 ms -> 214 ms).
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    # Everything is on one machine: nothing is gained by waiting for a better place to run.
    "spark.locality.wait": "0s",
    # No Hive metastore: it would leave metastore_db folders behind and cost seconds.
    "spark.sql.catalogImplementation": "in-memory",
    # A client that died is noticed by its closed connection; its query is dropped after this.
    "spark.connect.execute.manager.detachedTimeout": "60s",
    # Plans of long queries and of recursion travel whole in error messages and events otherwise.
    "spark.sql.maxPlanStringLength": "100000",
    "spark.ui.showConsoleProgress": "false",
}

#: Settings that keep the embedded server to this machine and to those who know its token.
_SERVER_FIXED: Mapping[str, str] = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # The kernel picks a free port; the server's log tells which.
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Also the inner ports (driver, blocks) want a secret, which Spark makes up for itself.
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
}

_JAVA_OPTIONS = (
    # Shortest total time for short jobs; pauses do not matter here.
    "-XX:+UseParallelGC",
    # Catalyst walks deep plans by recursion.
    "-Xss4m",
    # A server that ran out of memory is half dead: end it, the next use starts a new one.
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    # A server that lives for weeks compiles new code with every new query. Where there is no more room for it, Java
    # throws out what it needs again a moment later, and in the end only interprets: all takes many times as long.
    "-XX:ReservedCodeCacheSize=512m",
)

LOG_SETTINGS = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
# This one says on which port the server listens.
logger.server.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.server.level = info
# "Unable to load native-hadoop library" on every start.
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


def server_settings(folder: Path, user: Mapping[str, str], memory: int) -> dict[str, str]:
    """The properties of the embedded server that works in ``folder`` on a machine with so much memory."""
    java = " ".join((*_JAVA_OPTIONS, f'"-Djava.io.tmpdir={folder / "tmp"}"'))
    extra = user.get("spark.driver.extraJavaOptions", "")
    return {
        **_SERVER_DEFAULTS,
        "spark.driver.memory": f"{driver_memory(memory) // MiB}m",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **user,
        **_SERVER_FIXED,
        "spark.driver.extraJavaOptions": f"{java} {extra}".strip(),
    }


def driver_memory(memory: int) -> int:
    """A quarter of the machine, since Airflow lives there too; at least 1 GiB, at most 8.

    >>> driver_memory(24 * GiB) // GiB, driver_memory(2 * GiB) // GiB, driver_memory(512 * GiB) // GiB
    (6, 1, 8)
    """
    return min(max(memory // 4, GiB), 8 * GiB)


def machine_memory() -> int:
    """Bytes this process may use: the machine's, or the container's limit if that is lower."""
    import psutil

    total = int(psutil.virtual_memory().total)
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            total = min(total, int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # not Linux, not a container, or "max"
            continue
    return total


def session_conf(input_bytes: int, cores: int | None = None) -> dict[str, str]:
    """Run-time settings for one refresh that reads so many bytes.

    >>> session_conf(50_000, cores=4)["spark.sql.shuffle.partitions"]
    '1'
    >>> session_conf(100 * MiB, cores=4)["spark.sql.shuffle.partitions"]
    '4'
    >>> session_conf(64 * GiB, cores=4)["spark.sql.shuffle.partitions"]
    '1024'
    """
    cores = cores or os.cpu_count() or 1
    if input_bytes < 8 * MiB:
        # Each further partition costs a task (5-10 ms) and a file, and has a few rows to work on. There is nothing to
        # adapt a plan to either, and to look after every stage takes a tenth of the time.
        return {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}
    # About 64 MiB a task fits in memory without spilling; AQE merges what turns out smaller. Every core has work.
    partitions = max(cores, min(-(-input_bytes // (64 * MiB)), 4096))
    return {"spark.sql.shuffle.partitions": str(partitions), "spark.sql.adaptive.enabled": "true"}


def loop_conf(input_bytes: int, cores: int | None = None) -> dict[str, str]:
    """The same for a loop: of small inputs there may come much, and every core has to help with that.

    >>> loop_conf(50_000, cores=4)["spark.sql.shuffle.partitions"]
    '4'
    """
    cores = cores or os.cpu_count() or 1
    return session_conf(max(input_bytes, 8 * MiB), cores)
