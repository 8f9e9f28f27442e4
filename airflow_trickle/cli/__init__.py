"""The command ``trickle``."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

import airflow_trickle
from airflow_trickle.cli import (
    analysing,
    definitions,
    drawing,
    looking,
    maintaining,
    restating,
    running,
    spark,
    steering,
    validating,
    verifying,
)
from airflow_trickle.cli.output import complain
from airflow_trickle.errors import TrickleError

app = typer.Typer(
    name="trickle",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help and plain usage errors: they survive narrow terminals, pipes and log files.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for part in (
    definitions,
    validating,
    analysing,
    drawing,
    running,
    verifying,
    looking,
    steering,
    restating,
    maintaining,
):
    part.register(app)
app.add_typer(spark.app, name="spark")


def _version(asked: bool) -> None:
    if asked:
        print(f"trickle {airflow_trickle.__version__}")
        raise typer.Exit


@app.callback()
def trickle(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Stream tables for Airflow: SQL-defined Iceberg tables kept up to date by Spark."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; an error is one message and exit code 1 (2: wrong usage), never a traceback."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Chatter of libraries about this machine; the user cannot do anything about it.
    warnings.filterwarnings("ignore")
    try:
        app(given, prog_name="trickle")
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if not isinstance(error, TrickleError) and os.environ.get("TRICKLE_TRACEBACK"):
            raise
        complain(error if isinstance(error, TrickleError) else _unexpected(error), as_json="--json" in given)
        sys.exit(1)


def _unexpected(error: Exception) -> TrickleError:
    told = " ".join(str(error).split())
    return TrickleError(
        f"Unexpected {type(error).__name__}: {told[:500]} (this is a defect of airflow-trickle; with "
        f"TRICKLE_TRACEBACK=1 in the environment the command shows where it happened)"
    )
