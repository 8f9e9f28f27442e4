"""``trickle spark``: the embedded Spark server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from airflow_trickle.cli.output import AsJson, out, print_json

if TYPE_CHECKING:
    from airflow_trickle.spark.embedded import ServerStatus

app = typer.Typer(help="The embedded Spark server: started by itself when needed, stopped here.", no_args_is_help=True)


@app.command()
def start(as_json: AsJson = False) -> None:
    """Start the server, or say that it runs."""
    from airflow_trickle.spark import embedded

    info = embedded.ensure_running()
    if as_json:
        print_json(info.as_dict())
        return
    verb = "started" if info.started else "was running already"
    out.print(f"The embedded Spark {info.version} {verb} on {info.host}:{info.port} (pid {info.pid}).", highlight=False)


@app.command()
def stop(as_json: AsJson = False) -> None:
    """Stop the server."""
    from airflow_trickle.spark import embedded

    _tell(embedded.stop(), as_json)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Say whether the server runs; exit code 0 either way."""
    from airflow_trickle.spark import embedded

    _tell(embedded.status(), as_json)


def _tell(state: ServerStatus, as_json: bool) -> None:
    if as_json:
        print_json(state.as_dict())
        return
    out.print(state.detail, highlight=False)
