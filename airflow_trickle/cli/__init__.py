"""The command ``trickle``."""

from __future__ import annotations

import sys
import warnings

import typer

from airflow_trickle.cli import definitions, looking, running, spark, steering
from airflow_trickle.cli.output import complain
from airflow_trickle.errors import TrickleError

app = typer.Typer(
    name="trickle",
    help="Stream tables for Airflow: SQL-defined Iceberg tables kept up to date by Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for part in (definitions, running, looking, steering):
    part.register(app)
app.add_typer(spark.app, name="spark")


def main() -> None:
    """Run the command; an error of ours is one message and exit code 1, never a traceback."""
    # Chatter of libraries about this machine; the user cannot do anything about it.
    warnings.filterwarnings("ignore")
    try:
        app()
    except TrickleError as error:
        complain(error, as_json="--json" in sys.argv)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
