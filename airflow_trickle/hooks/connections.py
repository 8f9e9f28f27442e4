"""The fields of Airflow's connections, for options of captured sources."""

from __future__ import annotations

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException


def connection_fields(conn_id: str) -> dict[str, str] | None:
    """Host, port, login, password and schema of a connection, as far as it has them; None if there is none."""
    try:
        found = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        return None
    names = ("host", "port", "login", "password", "schema")
    return {name: str(value) for name in names if (value := getattr(found, name)) not in (None, "")}
