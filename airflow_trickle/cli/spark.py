"""``trickle spark``: the embedded Spark server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from airflow_trickle.cli.output import AsJson, out, print_json, waiting

if TYPE_CHECKING:
    from airflow_trickle.spark.embedded import ServerStatus

app = typer.Typer(
    help="The embedded Spark server: starts by itself when needed.", no_args_is_help=True, rich_markup_mode=None
)


@app.command()
def start(as_json: AsJson = False) -> None:
    """Start the server, or say that it runs."""
    from airflow_trickle.spark import embedded

    with waiting("starting the embedded Spark server", quiet=as_json):
        info = embedded.ensure_running()
    verb = "was started" if info.started else "runs already"
    detail = f"The embedded Spark {info.version} {verb} (pid {info.pid}, port {info.port})."
    _tell(embedded.ServerStatus("running", detail, str(embedded.server_files().folder), info), as_json)


@app.command()
def stop(as_json: AsJson = False) -> None:
    """Stop the server and every query that runs on it."""
    from airflow_trickle.spark import embedded

    with waiting("stopping the embedded Spark server", quiet=as_json):
        state = embedded.stop()
    _tell(state, as_json)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Say whether the server runs; exit code 0 either way."""
    from airflow_trickle.spark import embedded

    _tell(embedded.status(), as_json)


def _tell(state: ServerStatus, as_json: bool) -> None:
    if as_json:
        print_json(state.as_dict())
    else:
        out.print(state.detail)
