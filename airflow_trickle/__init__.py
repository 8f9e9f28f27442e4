"""Stream tables for Airflow: SQL-defined Iceberg tables kept up to date by Spark.

>>> from airflow_trickle import Pipeline
>>> Pipeline.load("dags/webshop.yaml").tick()          # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from airflow_trickle.api import Pipeline
    from airflow_trickle.errors import TickFailed, TrickleError
    from airflow_trickle.results import Mode, RestatedTable, Rewind, Status, TableResult, Verdict, Verification

__all__ = [
    "Mode",
    "Pipeline",
    "RestatedTable",
    "Rewind",
    "Status",
    "TableResult",
    "TickFailed",
    "TrickleError",
    "Verdict",
    "Verification",
    "__version__",
]

_HOMES = {
    "Pipeline": "api",
    "TickFailed": "errors",
    "TrickleError": "errors",
    "Mode": "results",
    "RestatedTable": "results",
    "Rewind": "results",
    "Status": "results",
    "TableResult": "results",
    "Verdict": "results",
    "Verification": "results",
}


def __getattr__(name: str) -> Any:
    # Every Airflow component imports this package: the parts come only when they are asked for.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"airflow_trickle.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'airflow_trickle' has no attribute {name!r}")
