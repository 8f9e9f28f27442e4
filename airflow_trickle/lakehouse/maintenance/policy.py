"""The policy of maintenance, for those who have no business with definitions."""

from __future__ import annotations

from airflow_trickle.definition.maintenance import LEAST_ORPHAN_AGE, MaintenancePolicy

__all__ = ["LEAST_ORPHAN_AGE", "MaintenancePolicy"]
