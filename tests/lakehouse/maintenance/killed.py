"""Maintenance in a process that dies by `kill -9`."""

from __future__ import annotations

from dataclasses import replace

from airflow_trickle.lakehouse.catalog import open_lakehouse
from tests import dying
from tests.lakehouse.maintenance.world import POLICY, maintained


def maintain_and_die(folder: str, module: str, name: str, when: str) -> None:
    """Maintain all tables, and die when the named function is about to run or has just run."""
    dying._make_deadly(module, name, when)
    with open_lakehouse(
        "trickle", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse"
    ) as lake:
        maintained(lake, replace(POLICY))
