"""Airflow hooks and connection types."""
