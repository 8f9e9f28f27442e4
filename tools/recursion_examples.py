"""The sources of the pipelines in `dags/recursion`: what other applications would write, by plain pyiceberg.

python -m tools.recursion_examples load [name …]      create the sources with their first rows
python -m tools.recursion_examples change [name …]    a day later: rows come and go
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog

from airflow_trickle.lakehouse.catalog import open_lakehouse

_NUMBER, _TEXT = pa.int64(), pa.string()
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Change:
    """What happens to one source a day later, in words, and to which rows; ``without`` is a filter of pyiceberg."""

    words: str
    source: str
    without: str | None = None
    more: Rows = ()


@dataclass(frozen=True)
class Example:
    """The sources of one pipeline, in the namespace of its name."""

    schemas: Mapping[str, pa.Schema]
    rows: Mapping[str, Rows]
    changes: Sequence[Change] = field(default_factory=tuple)


_EDGE = pa.schema([("src", _NUMBER), ("dst", _NUMBER)])

EXAMPLES = {
    "reachability": Example(
        {"red_edges": _EDGE, "blue_edges": _EDGE},
        {"red_edges": [(1, 2), (3, 4), (5, 6)], "blue_edges": [(2, 3), (4, 5)]},
        (
            Change("delete: the blue road from 4 to 5", "blue_edges", "src == 4"),
            Change("insert: blue roads from 2 to 7 and from 7 to 2", "blue_edges", None, [(2, 7), (7, 2)]),
            Change("insert: a red road from 7 back to 1", "red_edges", None, [(7, 1)]),
        ),
    ),
    "ownership": Example(
        {"shares": pa.schema([("owner", _TEXT), ("company", _TEXT), ("percent", _NUMBER)])},
        {
            "shares": [
                ("Acorn", "Birch", 60),
                ("Acorn", "Cedar", 30),
                ("Birch", "Cedar", 25),
                ("Cedar", "Dogwood", 51),
                ("Birch", "Elm", 30),
                ("Dogwood", "Elm", 21),
                ("Fir", "Ginkgo", 80),
                ("Ginkgo", "Fir", 70),
                ("Hazel", "Fir", 30),
                ("Hazel", "Hazel", 55),
            ]
        },
        (
            Change(
                "update: Acorn sells half of what it holds of Cedar",
                "shares",
                "owner == 'Acorn' and company == 'Cedar'",
                [("Acorn", "Cedar", 15)],
            ),
            Change("insert: Hazel buys 55 percent of Dogwood", "shares", None, [("Hazel", "Dogwood", 55)]),
            Change("delete: Ginkgo gives up Fir", "shares", "owner == 'Ginkgo'"),
        ),
    ),
    "materials": Example(
        {
            "components": pa.schema([("product", _TEXT), ("part", _TEXT)]),
            "blocked": pa.schema([("part", _TEXT)]),
        },
        {
            "components": [
                ("bicycle", "frame"),
                ("bicycle", "wheel"),
                ("bicycle", "light"),
                ("wheel", "rim"),
                ("wheel", "spoke"),
                ("wheel", "tyre"),
                ("light", "battery"),
                ("light", "lamp"),
                ("battery", "cell"),
                ("trailer", "wheel"),
            ],
            "blocked": [("battery",)],
        },
        (
            Change("delete: batteries may be used again", "blocked", "part == 'battery'"),
            Change("insert: a batch of spokes is recalled", "blocked", None, [("spoke",)]),
            Change("insert: trailers get a light", "components", None, [("trailer", "light")]),
        ),
    ),
    "risk": Example(
        {
            "officers": pa.schema([("company", _TEXT), ("officer", _TEXT)]),
            "payments": pa.schema([("payer", _TEXT), ("payee", _TEXT), ("amount", _NUMBER)]),
            "watchlist": pa.schema([("officer", _TEXT)]),
            "cleared": pa.schema([("company", _TEXT)]),
        },
        {
            "officers": [
                ("North", "Ida"),
                ("North", "Jan"),
                ("South", "Jan"),
                ("South", "Kai"),
                ("East", "Lou"),
                ("West", "Mia"),
                ("Bank", "Nil"),
            ],
            "payments": [
                ("South", "East", 50000),
                ("East", "West", 400),
                ("South", "Bank", 90000),
                ("Bank", "West", 20000),
            ],
            "watchlist": [("Ida",)],
            "cleared": [("Bank",)],
        },
        (
            Change("delete: Jan leaves North", "officers", "company == 'North' and officer == 'Jan'"),
            Change("insert: a warning of Lou", "watchlist", None, [("Lou",)]),
            Change("delete: the bank is no longer cleared", "cleared", "company == 'Bank'"),
            Change("insert: East pays the bank", "payments", None, [("East", "Bank", 10000)]),
        ),
    ),
    "routes": Example(
        {
            "roads": pa.schema([("first", _TEXT), ("second", _TEXT), ("km", _NUMBER)]),
            "depots": pa.schema([("city", _TEXT)]),
        },
        {
            "roads": [
                ("Aachen", "Bonn", 91),
                ("Aachen", "Cologne", 70),
                ("Bonn", "Cologne", 28),
                ("Cologne", "Dortmund", 96),
                ("Dortmund", "Emden", 220),
                ("Emden", "Flensburg", 330),
                ("Lindau", "Munich", 180),
            ],
            "depots": [("Aachen",)],
        },
        (
            Change("delete: the road from Aachen to Cologne is closed", "roads", "first == 'Aachen' and km == 70"),
            Change("insert: a depot in Munich", "depots", None, [("Munich",)]),
            Change("insert: a motorway from Dortmund to Flensburg", "roads", None, [("Dortmund", "Flensburg", 420)]),
        ),
    ),
}


def load(catalog: Catalog, names: Iterable[str] = tuple(EXAMPLES)) -> None:
    """Create the sources of some examples and their first rows."""
    for name in names:
        example = EXAMPLES[name]
        catalog.create_namespace_if_not_exists(name)
        for source, schema in example.schemas.items():
            table = catalog.create_table(f"{name}.{source}", schema=schema)
            table.append(_rows(schema, example.rows[source]))


def change(catalog: Catalog, names: Iterable[str] = tuple(EXAMPLES)) -> list[str]:
    """A day later: inserts, updates and deletes in the sources; says in words what was done."""
    done = []
    for name in names:
        example = EXAMPLES[name]
        for one in example.changes:
            table = catalog.load_table(f"{name}.{one.source}")
            more = _rows(example.schemas[one.source], one.more)
            if one.without is None:
                table.append(more)
            elif one.more:
                table.overwrite(more, overwrite_filter=one.without)
            else:
                table.delete(one.without)
            done.append(f"{name}: {one.words}")
    return done


def _rows(schema: pa.Schema, rows: Rows) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def main() -> int:
    """Load or change the sources in the catalog that `trickle` uses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["load", "change"])
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(EXAMPLES)}; default all")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(EXAMPLES))
    if unknown:
        parser.error(f"there is no example {unknown[0]!r}; the examples are {', '.join(EXAMPLES)}")
    names = given.names or list(EXAMPLES)
    with open_lakehouse("trickle") as lake:
        if given.what == "load":
            load(lake.catalog, names)
            print(f"Loaded the sources of {', '.join(names)}.")
        else:
            print("\n".join(change(lake.catalog, names)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
