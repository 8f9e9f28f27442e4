"""Clusters that applications are submitted to: their masters, and what a connection says of submitting."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_trickle.errors import SettingsError

#: Connection types that the Apache Spark provider's hook makes a master of: ``spark``, and what Airflow makes of
#: ``AIRFLOW_CONN_…=k8s://…``. Without a type it is an address that somebody typed.
SUBMIT_TYPES = ("spark", "k8s", "")
_MASTERS = re.compile(r"spark://.+:\d+|yarn|k8s://.+|local(\[.+\])?")
#: In the extra of a connection, beside the provider's own: arguments of its hook, and where the script is.
_OPTIONS = ("application", "archives", "files", "jars", "properties_file", "py_files")
_MODES = ("client", "cluster")


def is_master(conn_type: str, host: str) -> bool:
    """Whether the host of a connection is the master of a cluster, not a Spark Connect server.

    >>> is_master("spark", "spark-master"), is_master("spark_connect", "server"), is_master("", "sc://server")
    (True, False, False)
    """
    if "://" in host:
        return not host.lower().startswith("sc://")
    return conn_type in ("spark", "k8s", "spark_sql", "spark_jdbc") or host.lower() == "yarn"


def master_of(conn_type: str, host: str, port: int | None, shown: str) -> str:
    """The master as the Apache Spark provider's hook understands the fields; ``shown`` is how messages name it.

    >>> master_of("spark", "spark-master", 7077, "spark-master")
    'spark://spark-master:7077'
    """
    if conn_type not in SUBMIT_TYPES:
        raise SettingsError(
            f"Spark at '{shown}' is reached by spark-submit, for which the connection must be of type spark; this one "
            f"is of type {conn_type}. Change its type, or name a Spark Connect server (sc://host:port)."
        )
    if conn_type == "k8s" and not host.startswith("k8s://"):
        host = f"k8s://{host}"
    elif conn_type == "spark" and port is not None and "://" not in host:
        host = f"spark://{host}"
    master = host if port is None else f"{host}:{port}"
    if not _MASTERS.fullmatch(master):
        raise SettingsError(
            f"Spark at '{shown}' is no master that spark-submit knows. Allowed are spark://host:port, yarn, "
            f"k8s://https://host:port and local[n]; sc://host:port is a Spark Connect server."
        )
    return master


def submit_options(master: str, extra: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What the extra of a connection says of submitting, by the names of the hook's arguments.

    >>> submit_options("yarn", {"deploy-mode": "cluster", "py-files": "a.zip", "queue": "the provider's own"})
    (('deploy_mode', 'cluster'), ('py_files', 'a.zip'))
    """
    given = {str(key).replace("-", "_"): str(value) for key, value in extra.items() if value not in (None, "")}
    mode = given.get("deploy_mode", "client")
    if mode not in _MODES:
        raise SettingsError(
            f"The extra field 'deploy-mode' of a Spark connection is {mode!r}; allowed are client and cluster."
        )
    if mode == "cluster" and master.startswith("spark://"):
        raise SettingsError(
            "A standalone cluster takes no Python applications in deploy mode cluster: Spark itself refuses them. "
            "Set the extra field 'deploy-mode' of the Spark connection to client."
        )
    return (("deploy_mode", mode), *((key, given[key]) for key in _OPTIONS if key in given))
