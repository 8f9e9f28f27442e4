"""``trickle graph``: the graph of the tables for Mermaid, Graphviz or a browser."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from airflow_trickle.cli.opening import PathArgument, planned
from airflow_trickle.cli.output import AsJson, err, out, print_not_planned
from airflow_trickle.errors import TrickleError

if TYPE_CHECKING:
    from airflow_trickle.plan.graph_view import GraphView


class Format(str, Enum):
    """What a graph can be written as."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"


#: The ending of a file -> the format that people expect in it.
_ENDINGS = {".svg": Format.SVG, ".dot": Format.DOT, ".gv": Format.DOT}


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(graph)


def graph(
    path: PathArgument = Path("dags"),
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Default: as the file's ending says, else mermaid.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file instead of printing it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw who reads whom, with strata, cycles and groups."""
    from airflow_trickle.plan.graph_view import graph_json, graph_view

    project = planned(path)
    view = graph_view(project)
    errors = [problem.as_dict() for problem in project.problems]
    if as_json:
        _write(json.dumps({**graph_json(view), "errors": errors}, indent=2, ensure_ascii=False) + "\n", output)
    elif view.nodes:
        form = form or (_ENDINGS.get(output.suffix.lower()) if output else None) or Format.MERMAID
        _write(_drawn(view, form), output)
        if output:
            out.print(f"wrote    {output} ({form.value})")
    if project.broken:
        if not as_json:
            # The drawing is for other programs, so nothing else may come on standard output.
            print_not_planned(err, project.problems)
        raise typer.Exit(1)


def _drawn(view: GraphView, form: Format) -> str:
    if form is Format.DOT:
        from airflow_trickle.plan.dot import dot

        return dot(view)
    if form is Format.SVG:
        from airflow_trickle.plan.svg import svg

        return svg(view)
    from airflow_trickle.plan.mermaid import MOST_CHARACTERS, MOST_EDGES, mermaid

    text = mermaid(view)
    if len(view.edges) > MOST_EDGES or len(text) > MOST_CHARACTERS:
        told = (
            f"Mermaid may refuse a graph of this size: its defaults are {MOST_EDGES} edges (maxEdges) and "
            f"{MOST_CHARACTERS} characters (maxTextSize). --format svg has no such limit."
        )
        err.print(Text.assemble(("note: ", "bold yellow"), told))
    return text


def _write(text: str, output: Path | None) -> None:
    if output is None:
        # Not through rich: a drawing is not to be wrapped or coloured.
        print(text, end="")
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TrickleError(f"Cannot write '{output}': {error.strerror}. Choose another file.") from error
