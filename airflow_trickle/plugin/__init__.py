"""What this package adds to a running Airflow by its entry point ``airflow.plugins``."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from airflow_trickle.plugin import preloading


class TricklePlugin(AirflowPlugin):
    """Has a scheduler that runs tasks itself load once what every task would load anew."""

    name = "trickle"
    listeners = [preloading]  # noqa: RUF012 - as Airflow declares it
