"""What several commands need first: the catalog, Spark, a table by the name the user gave, a moment."""

from __future__ import annotations

import difflib
import logging
import os
from collections.abc import Collection, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_trickle.errors import SettingsError, TrickleError
from airflow_trickle.identifiers import fold

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.lakehouse.state import TableStatus
    from airflow_trickle.plan.build import PlannedProject

PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="A pipeline's YAML file, or a folder of them.")]
SparkUrl = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="URL",
        help="Where Spark runs: sc://host:port or 'embedded' (an address with a token is safer in TRICKLE_SPARK_URL).",
    ),
]


class NoPipeline(TrickleError):
    """There is no pipeline at that path: name another one, or write a first one with ``trickle init``."""


class UnknownTable(TrickleError):
    """There is no table of that name: check the spelling with ``trickle status``."""


class UnknownPipeline(TrickleError):
    """There is no pipeline of that name: the message lists those that there are."""


def planned(path: Path) -> PlannedProject:
    """The pipelines of a file or folder, the broken ones included.

    Raises:
        NoPipeline: there is nothing at all.
    """
    if not path.exists():
        raise NoPipeline(
            f"There is no file or folder '{path}'. Name a pipeline's YAML file or its folder, or write a first "
            f"pipeline with: trickle init"
        )
    from airflow_trickle.plan.build import plan_path

    found = plan_path(path)
    if not found.plans and not found.broken:
        raise NoPipeline(f"There is no pipeline in '{path}'. Write a first one with: trickle init")
    return found


def lakehouse(catalog: str | None) -> Lakehouse:
    """Open the catalog that was named, or the one of the settings."""
    from airflow_trickle.definition.settings import load_settings
    from airflow_trickle.lakehouse.catalog import open_lakehouse

    return open_lakehouse(catalog or load_settings().catalog)


def use_spark(url: str | None) -> None:
    """Let this process use the Spark at an address, or with None the configured one."""
    # pyspark prints every failed query, with the JVM's stack, as JSON to stderr; it also raises it.
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)
    if url is None:
        return
    from airflow_trickle.spark.target import target_from_url

    try:
        target_from_url(url)
    except SettingsError as error:
        raise typer.BadParameter(str(error), param_hint="--spark") from None
    # The one place where everything outside Airflow looks for it.
    os.environ["TRICKLE_SPARK_URL"] = url


def find(lake: Lakehouse, name: str) -> TableStatus:
    """The stream table of a name (``orders``) or an identifier (``sales.orders``).

    Raises:
        UnknownTable: there is none, or more than one.
    """
    from airflow_trickle.lakehouse.state import read_status

    known = read_status(lake)
    identifier = matching(known, name)
    if identifier is None:
        raise UnknownTable(
            f"No stream table '{name}' was refreshed yet in catalog '{lake.name}'.{did_you_mean(name, known)} "
            f"`trickle status` lists those that were."
        )
    return known[identifier]


def matching(identifiers: Iterable[str], name: str) -> str | None:
    """The identifier that a user means by a name, with or without its namespace; case does not matter.

    Raises:
        UnknownTable: the name fits several.
    """
    known = list(identifiers)
    if name in known:
        return name
    wanted = fold(name)
    found = [one for one in known if wanted in (fold(one), fold(one.rpartition(".")[2]))]
    if len(found) > 1:
        raise UnknownTable(f"There are several tables '{name}': {', '.join(found)}. Use one of these.")
    return found[0] if found else None


def did_you_mean(name: str, identifiers: Iterable[str]) -> str:
    """A hint at the nearest name, with a space in front; empty if none is near."""
    known = list(identifiers)
    choices = known if "." in name else [*(one.rpartition(".")[2] for one in known), *known]
    near = difflib.get_close_matches(name, choices, n=1)
    return f" Did you mean '{near[0]}'?" if near else ""


def unknown_table(name: str, path: Path, identifiers: Collection[str], project: PlannedProject) -> str:
    """What to say of a name that is none of the planned stream tables."""
    if project.broken:
        from airflow_trickle.definition.load import load_project
        from airflow_trickle.plan.decomposition import declared_tables

        if matching(set(declared_tables(load_project(path))) - set(identifiers), name) is not None:
            return f"Stream table '{name}' is not planned: its file has errors."
    sources = {ref.identifier for plan in project.plans for ref in plan.pin.inputs} - set(identifiers)
    source = matching(sources, name)
    if source is not None:
        return f"'{name}' is not a stream table of '{path}', but one that others write: {source} has no query here."
    return f"There is no stream table '{name}' in '{path}'.{did_you_mean(name, identifiers)}"


def require_pipeline(name: str | None, known: Iterable[str], where: str) -> None:
    """Refuse the name of a pipeline that is not among the known ones; None asks for none."""
    names = sorted(set(known))
    if name is not None and name not in names:
        raise UnknownPipeline(
            f"There is no pipeline '{name}' {where}.{did_you_mean(name, names)} "
            f"There {'is' if len(names) == 1 else 'are'}: {', '.join(names) or 'none'}."
        )


def moment_of(text: str | None, option: str = "--as-of") -> datetime | None:
    """The moment that an option names; UTC where it does not say."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a time. Write it like 2026-01-31 or 2026-01-31T12:00:00+01:00.", param_hint=option
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
