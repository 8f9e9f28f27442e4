"""Cycles with a minimum or a maximum."""

from __future__ import annotations

from tests.engine.fixpoint.judge import best, join
from tests.engine.fixpoint.system import EDGES, System

LATTICES: dict[str, System] = {}
WEIGHTED = {"edges": "src dst weight", "start": "node"}

LATTICES["shortest paths"] = System(
    WEIGHTED,
    {
        "shortest": """
            SELECT node, MIN(cost) AS cost FROM (
              SELECT node, CAST(0 AS BIGINT) AS cost FROM start
              UNION ALL
              SELECT e.dst AS node, s.cost + e.weight AS cost FROM shortest AS s JOIN edges AS e ON e.src = s.node
            ) GROUP BY node"""
    },
    (
        {
            "shortest": lambda now: best(
                [(s[0], 0) for s in now["start"]]
                + [
                    (e[1], None if s[1] is None or e[2] is None else s[1] + e[2])
                    for s, e in join(now["shortest"], 0, now["edges"], 0)
                ],
                min,
            )
        },
    ),
    frozenset({"shortest"}),
    lattice={"shortest": "{cost: min}"},
)
LATTICES["connected components"] = System(
    EDGES,
    {
        "component": """
            SELECT node, MIN(label) AS label FROM (
              SELECT src AS node, src AS label FROM edges
              UNION ALL
              SELECT dst, dst FROM edges
              UNION ALL
              SELECT e.dst, c.label FROM component AS c JOIN edges AS e ON e.src = c.node
              UNION ALL
              SELECT e.src, c.label FROM component AS c JOIN edges AS e ON e.dst = c.node
            ) GROUP BY node"""
    },
    (
        {
            "component": lambda now: best(
                [(node, node) for e in now["edges"] for node in e]
                + [(e[1], c[1]) for c, e in join(now["component"], 0, now["edges"], 0)]
                + [(e[0], c[1]) for c, e in join(now["component"], 0, now["edges"], 1)],
                min,
            )
        },
    ),
    frozenset({"component"}),
    lattice={"component": "{label: min}"},
)
LATTICES["widest paths"] = System(
    WEIGHTED,
    {
        "widest": """
            SELECT node, MAX(width) AS width FROM (
              SELECT node, CAST(1000 AS BIGINT) AS width FROM start
              UNION ALL
              SELECT e.dst, least(w.width, e.weight)
              FROM widest AS w
              JOIN edges AS e ON e.src = w.node
              WHERE w.width IS NOT NULL
            ) GROUP BY node"""
    },
    (
        {
            "widest": lambda now: best(
                [(s[0], 1000) for s in now["start"]]
                + [
                    # Spark's least() skips NULL.
                    (e[1], w[1] if e[2] is None else min(w[1], e[2]))
                    for w, e in join(now["widest"], 0, now["edges"], 0)
                    if w[1] is not None
                ],
                max,
            )
        },
    ),
    frozenset({"widest"}),
    lattice={"widest": "{width: max}"},
)
LATTICES["shortest paths over two tables"] = System(
    {"roads": "src dst weight", "ferries": "src dst weight", "start": "node"},
    {
        "by_road": """
            SELECT node, MIN(cost) AS cost FROM (
              SELECT node, CAST(0 AS BIGINT) AS cost FROM start
              UNION ALL
              SELECT e.dst, s.cost + e.weight FROM by_road AS s JOIN roads AS e ON e.src = s.node
              UNION ALL
              SELECT e.dst, s.price + e.weight FROM by_ferry AS s JOIN roads AS e ON e.src = s.node
            ) GROUP BY node""",
        "by_ferry": """
            SELECT e.dst AS node, MIN(s.cost + e.weight) AS price
            FROM by_road AS s
            JOIN ferries AS e ON e.src = s.node
            WHERE s.cost < 40
            GROUP BY e.dst""",
    },
    (
        {
            "by_road": lambda now: best(
                [(s[0], 0) for s in now["start"]]
                + [
                    (e[1], None if s[1] is None or e[2] is None else s[1] + e[2])
                    for of in ("by_road", "by_ferry")
                    for s, e in join(now[of], 0, now["roads"], 0)
                ],
                min,
            ),
            "by_ferry": lambda now: best(
                [
                    (e[1], None if e[2] is None else s[1] + e[2])
                    for s, e in join(now["by_road"], 0, now["ferries"], 0)
                    if s[1] is not None and s[1] < 40
                ],
                min,
            ),
        },
    ),
    frozenset({"by_road", "by_ferry"}),
    lattice={"by_road": "{cost: min}", "by_ferry": "{price: min}"},
)
