"""spark-submit by the Apache Spark provider's hook: with what, with which script, in which environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import airflow_trickle
from airflow_trickle.errors import SettingsError
from airflow_trickle.hooks.connections import connection_fields
from airflow_trickle.spark.target import SparkTarget
from airflow_trickle.spark.tuning import application_settings

if TYPE_CHECKING:
    from airflow_trickle.plan.steps import CaptureStep

_SCRIPT = "refresh.py"
#: Secrets of Airflow's, and what would turn the driver's session into a client of another Spark.
_DROPPED = ("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_", "_AIRFLOW_")
_DROPPED_NAMES = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE")
#: The settings of this package, which hold no secret.
_KEPT = "AIRFLOW__TRICKLE__"


def entry_script() -> str:
    """Where the script is that is submitted: in the package as it is installed, beside it in a checkout."""
    package = Path(airflow_trickle.__file__).parent
    for folder in (package, package.parent):
        if (script := folder / "spark_jobs" / _SCRIPT).is_file():
            return str(script)
    raise SettingsError(
        f"airflow-trickle is installed without the folder spark_jobs, of which {_SCRIPT} is submitted. Install it from "
        f"its wheel, or name the script in the extra field 'application' of the Spark connection."
    )


def submit_hook(target: SparkTarget, conn_id: str, name: str, arguments: list[str]) -> Any:
    """The Apache Spark provider's hook, told all that a connection says.

    Raises:
        SettingsError: the provider is not installed, or refuses what the connection says.
    """
    try:
        from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    except ImportError as error:
        raise SettingsError(
            f"Submitting to {target.address} needs the Apache Spark provider, which cannot be loaded: {error}. Install "
            f"it with: pip install apache-airflow-providers-apache-spark"
        ) from None
    options: dict[str, Any] = {key: value for key, value in target.options if key != "application"}
    try:
        return SparkSubmitHook(
            conn_id=conn_id,
            conf=application_settings(dict(target.conf)),
            name=name,
            application_args=arguments,
            **options,
        )
    except (ValueError, RuntimeError) as error:
        raise SettingsError(f"Airflow connection '{conn_id}' cannot be used to submit: {error}") from None


def submitted(hook: Any, target: SparkTarget, environment: dict[str, str]) -> str | None:
    """Submit, and wait until the application has ended; how it failed in one line, if it did.

    Raises:
        SettingsError: there is no spark-submit.
    """
    from airflow.sdk.exceptions import AirflowException

    script = dict(target.options).get("application") or entry_script()
    try:
        # Without a standard input: that of a task is its line to Airflow.
        hook.submit(script, env=environment, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise SettingsError(
            f"'{error.filename}' is not on the PATH of Airflow's worker, so that nothing can be submitted to "
            f"{target.address}. Install Spark there, for example with: pip install 'airflow-trickle[spark]'"
        ) from None
    except (AirflowException, RuntimeError) as error:
        # The hook's message starts with the whole command and ends with many lines of the log.
        return _ending(str(error))
    return None


def _ending(message: str) -> str:
    first = message.strip().splitlines()[0] if message.strip() else "no message"
    _, mark, code = first.partition("Error code is: ")
    return f"exit code {code.strip().rstrip('.')}" if mark else first[:300]


def environment_of(target: SparkTarget | None, step: CaptureStep | None = None) -> dict[str, str]:
    """The environment of spark-submit, which in deploy mode client is the driver's.

    Of Airflow's secrets it has only those that the options of a captured source refer to, and the fields of connections
    only where they do not have to go over the command line.
    """
    referred = _references(step) if step is not None else set()
    kept = {key: value for key, value in os.environ.items() if key in referred or not _is_dropped(key)}
    # A spark-submit that was installed together with Airflow is found, whether or not its environment is active.
    kept["PATH"] = os.pathsep.join((kept.get("PATH", os.defpath), str(Path(sys.executable).parent)))
    if target is None or dict(target.options).get("deploy_mode") == "cluster":
        return kept
    if "PYSPARK_PYTHON" not in kept:
        # The Python that has this package.
        kept.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    return {**kept, **_connections(referred)}


def _is_dropped(name: str) -> bool:
    return name in _DROPPED_NAMES or (name.startswith(_DROPPED) and not name.startswith(_KEPT))


def _references(step: CaptureStep) -> set[str]:
    from airflow_trickle.plan.captures import REFERENCE

    return {name for text in step.options.values() for name in REFERENCE.findall(text)}


def _connections(names: set[str]) -> dict[str, str]:
    """The connections that some references mean, as the driver looks for them."""
    from airflow_trickle.plan.captures import CONNECTION

    ids = sorted({found[1] for name in names if (found := CONNECTION.fullmatch(name)) is not None})
    fields = {conn_id: connection_fields(conn_id) for conn_id in ids}
    return {f"AIRFLOW_CONN_{conn_id.upper()}": json.dumps(found) for conn_id, found in fields.items() if found}
