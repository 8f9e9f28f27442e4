"""Which tables a scheduled tick refreshes, for those who run plans."""

from __future__ import annotations

from airflow_trickle.analysis.due import is_due, next_due

__all__ = ["is_due", "next_due"]
