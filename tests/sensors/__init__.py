"""Sensors in a DAG, run without a task runner."""
