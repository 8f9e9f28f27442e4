"""The application that Airflow's tasks submit: one refresh or one capture, as a row of the catalog's state asks for.

    spark-submit refresh.py --catalog trickle --submission 4c4e…

The driver needs ``airflow-trickle`` (without Airflow) and the same catalog settings as everybody else
(``.pyiceberg.yaml`` or ``PYICEBERG_CATALOG__TRICKLE__…``). What to do, and what became of it, goes through the state
tables, so nothing large and nothing secret is on the command line. The exit code is 0 only if it was done.
"""

from __future__ import annotations

import argparse
import logging
import sys

from pyspark.sql import SparkSession

from airflow_trickle import TrickleError
from airflow_trickle.engine.submission.job import perform
from airflow_trickle.lakehouse.catalog import open_lakehouse


def main() -> int:
    """Do what the submission asks for; 0 when it was done, 1 when it failed or there was nothing to do."""
    parser = argparse.ArgumentParser(description="One refresh or capture that a task of Airflow has submitted.")
    parser.add_argument("--catalog", required=True, help="the Iceberg catalog")
    parser.add_argument("--submission", required=True, metavar="ID", help="what to do, in the catalog's state tables")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", stream=sys.stderr)
    # What a task's log says on every Spark: what was decided, each pass, each result.
    logging.getLogger("airflow_trickle").setLevel(logging.INFO)
    try:
        with open_lakehouse(options.catalog) as lake:
            done = perform(lake, options.submission, SparkSession.builder.getOrCreate)
    except TrickleError as error:
        # The catalog is away, so this is the only place to say so.
        print(error, file=sys.stderr)
        return 1
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
