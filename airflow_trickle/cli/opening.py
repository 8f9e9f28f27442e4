"""What several commands need first: the catalog, and a table by the name the user gave."""

from __future__ import annotations

import difflib
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from airflow_trickle.definition.settings import load_settings
from airflow_trickle.errors import TrickleError

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.lakehouse.state import TableStatus


class UnknownTable(TrickleError):
    """No stream table of that name was ever refreshed: check the spelling with ``trickle status``."""


def lakehouse(catalog: str | None) -> Lakehouse:
    """Open the catalog that was named, or the one of the settings."""
    from airflow_trickle.lakehouse.catalog import open_lakehouse

    return open_lakehouse(catalog or load_settings().catalog)


def find(lake: Lakehouse, name: str) -> TableStatus:
    """The stream table of a name (``orders``) or an identifier (``sales.orders``).

    Raises:
        UnknownTable: there is none, or more than one.
    """
    from airflow_trickle.lakehouse.state import read_status

    known = read_status(lake)
    if name in known:
        return known[name]
    found = [status for status in known.values() if status.name.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        choices = ", ".join(status.identifier for status in found)
        raise UnknownTable(f"There are several stream tables '{name}': {choices}. Use one of these.")
    near = difflib.get_close_matches(name, [*known, *(status.name for status in known.values())], n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise UnknownTable(
        f"There is no stream table '{name}' in catalog '{lake.name}'.{hint} "
        f"`trickle status` lists those that exist."
    )


def moment_of(text: str | None) -> datetime | None:
    """The moment of an ``--as-of``; UTC where it does not say."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise TrickleError(
            f"--as-of is {text!r}, which is not a time. Write it like 2026-01-31 or 2026-01-31T12:00:00+01:00."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
