"""What the catalog knows of strata: how often they were passed over."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from airflow_trickle.cli.output import out, print_json
from airflow_trickle.cli.tables import print_table
from airflow_trickle.errors import TrickleError

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.plan.build import PlannedProject


def skips_of_strata(project: PlannedProject) -> tuple[Counter[int], list[str]]:
    """How often each stratum was passed over, in all pipelines together; and why some catalogs could not be asked.

    A catalog that nobody has opened yet is not made for this.
    """
    from airflow_trickle.lakehouse.catalog import open_lakehouse, was_opened
    from airflow_trickle.lakehouse.strata import times_skipped

    found: Counter[int] = Counter()
    errors: list[str] = []
    for catalog in sorted({plan.catalog for plan in project.plans}):
        try:
            if not was_opened(catalog):
                continue
            with open_lakehouse(catalog) as lake:
                for plan in project.plans:
                    if plan.catalog == catalog:
                        found.update(times_skipped(lake, plan.pipeline))
        except TrickleError as error:
            errors.append(str(error))
    return found, errors


def print_skips(lake: Lakehouse, pipeline: str | None, limit: int, *, as_json: bool) -> None:
    """Print the latest ticks that passed over strata, and which."""
    from airflow_trickle.lakehouse.strata import ticks_that_skipped

    found = ticks_that_skipped(lake, pipeline=pipeline, limit=limit)
    if as_json:
        print_json(found)
    elif not found:
        out.print("No tick has passed over a stratum yet: in each, some table had something to do.")
    else:
        rows = (
            (
                one["at"].strftime("%Y-%m-%d %H:%M:%S"),
                one["pipeline"],
                ", ".join(map(str, one["skipped_strata"])),
                one["tick_id"],
            )
            for one in found
        )
        print_table(out, ["tick of", "pipeline", "strata passed over", "tick"], rows)
