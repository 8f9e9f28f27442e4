"""Turns every pipeline file of this folder into an Airflow DAG."""

from pathlib import Path

from airflow_trickle.dag_factory import build_dags

build_dags(Path(__file__).parent, globals())
