"""One tick of a pipeline on the driver it is submitted to.

    spark-submit tick.py --pipeline webshop.yaml [--full-refresh TABLE …]

The driver needs ``airflow-trickle`` (without Airflow) and the same catalog settings as everybody else
(``.pyiceberg.yaml`` or ``PYICEBERG_CATALOG__TRICKLE__…``). A submitted job cannot return a value: what it did
is in the history beside the catalog, and its exit code is 0 only if every table was refreshed.
"""

from __future__ import annotations

import argparse
import sys

from pyspark.sql import SparkSession

from airflow_trickle import Pipeline, TickFailed, TrickleError


def main() -> int:
    """Run the tick; 0 when every table was refreshed, 1 when one failed."""
    parser = argparse.ArgumentParser(description="One tick of an airflow-trickle pipeline.")
    parser.add_argument("--pipeline", required=True, help="the pipeline's YAML file")
    parser.add_argument("--full-refresh", nargs="*", default=[], metavar="TABLE")
    options = parser.parse_args()
    spark = SparkSession.builder.getOrCreate()
    try:
        results = Pipeline.load(options.pipeline).tick(spark=spark, full_refresh=options.full_refresh)
    except TickFailed as error:
        results = error.results
        print(error, file=sys.stderr)
    except TrickleError as error:
        print(error, file=sys.stderr)
        return 1
    for result in results.values():
        what = "FAILED" if result.error else f"{result.mode}, +{result.rows_inserted} -{result.rows_deleted}"
        print(f"{result.table}: {what}: {result.reason}")
    return 1 if any(result.error for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
