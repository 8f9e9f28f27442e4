"""How the embedded server is started: its command, environment and settings."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
from pathlib import Path

from airflow_trickle.errors import SettingsError, SparkUnavailable
from airflow_trickle.folders import private_folder
from airflow_trickle.spark import tuning
from airflow_trickle.spark.java import find_java
from airflow_trickle.spark.state import ServerFiles, write_private
from airflow_trickle.spark.supervisor import Launch

#: A list of further variables that the server gets.
PASSED_ON = "TRICKLE_SPARK_ENVIRONMENT"
_ENVIRONMENT = frozenset(
    [
        "HOME",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "JAVA_TOOL_OPTIONS",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "NO_PROXY",
        "PATH",
        "SHELL",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
    ]
)
#: Locales, Hadoop's and Kerberos' places of configuration.
_ENVIRONMENT_PREFIXES = ("LC_", "HADOOP_", "KRB5")

_SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


def prepare_launch(files: ServerFiles) -> Launch:
    """Write the server's settings, and say how to start it."""
    spark_home = _spark_home()
    environment = _environment(files, spark_home, find_java())
    properties = server_properties(files)
    conf = private_folder(files.folder / "conf")
    (conf / "log4j2.properties").write_text(tuning.LOG_SETTINGS, encoding="utf-8")
    # A file instead of arguments: everybody on the machine can read a process's arguments.
    written = files.folder / "server.properties"
    lines = (f"{key}={_escaped(value)}\n" for key, value in sorted(properties.items()))
    write_private(written, "".join(lines))
    submit = str(spark_home / "bin" / "spark-submit")
    return Launch(
        command=[submit, "--properties-file", str(written), "--class", _SERVER_CLASS, "spark-internal"],
        environment=environment,
        version=importlib.metadata.version("pyspark"),
        settings=settings_hash(properties),
        idle_seconds=_idle_minutes() * 60,
    )


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def server_properties(files: ServerFiles) -> dict[str, str]:
    """All settings of the server, with those of the user's spark-defaults.conf."""
    user: dict[str, str] = {}
    if files.user_settings.exists():
        for line in files.user_settings.read_text(encoding="utf-8").splitlines():
            # The first of the two ends the name: a value may hold either.
            words = re.split(r"\s*[=\s]\s*", line.strip(), maxsplit=1)
            if len(words) == 2 and words[1] and not words[0].startswith("#"):
                user[words[0]] = words[1]
    return tuning.server_settings(files.folder, user, tuning.machine_memory())


def settings_hash(properties: dict[str, str]) -> str:
    """What tells one set-up of the server from another."""
    known = {**properties, "spark": str(_spark_home()), "version": importlib.metadata.version("pyspark")}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]


def _spark_home() -> Path:
    """The folder of pip's pyspark, which carries the whole of Spark."""
    found = importlib.util.find_spec("pyspark")
    home = Path(found.origin).parent if found and found.origin else None
    if home is None or not (home / "jars").is_dir() or not (home / "bin" / "spark-submit").exists():
        raise SparkUnavailable(
            "The embedded Spark needs the package 'pyspark' with its jars. Install it with: "
            "pip install 'airflow-trickle[spark]', or name a Spark Connect server (sc://host:port) in the "
            "Spark connection."
        )
    return home


def _environment(files: ServerFiles, spark_home: Path, java_home: Path) -> dict[str, str]:
    """What a server needs of our environment, and what the user says it does; no secrets of Airflow or a catalog."""
    named = {name.strip() for name in os.environ.get(PASSED_ON, "").split(",") if name.strip()}
    kept = {
        key: value
        for key, value in os.environ.items()
        if key in named or key.upper() in _ENVIRONMENT or key.startswith(_ENVIRONMENT_PREFIXES)
    }
    return {
        **kept,
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(spark_home),
        "SPARK_CONF_DIR": str(files.folder / "conf"),
        "SPARK_LOCAL_DIRS": str(files.folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def _idle_minutes() -> float:
    text = os.environ.get("TRICKLE_SPARK_IDLE_MINUTES", "").strip() or "60"
    try:
        minutes = float(text)
    except ValueError:
        minutes = -1
    if not 0 <= minutes < float("inf"):
        raise SettingsError(
            f"The environment variable TRICKLE_SPARK_IDLE_MINUTES is {text!r}, but must be a number of "
            f"minutes (0: the embedded Spark never ends by itself)."
        )
    return minutes
