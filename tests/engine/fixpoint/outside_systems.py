"""Cycles among other tables: what they read and negate, several of them, copies that count."""

from __future__ import annotations

from tests.engine.fixpoint.judge import counts, distinct, join, left_join, values
from tests.engine.fixpoint.system import CLOSURE_IN_DUCKDB, EDGES, System, closure, plus

OUTSIDE: dict[str, System] = {}

# --- tables outside --------------------------------------------------------------------------------------

OUTSIDE["blocked nodes"] = System(
    {**EDGES, "start": "node", "blocked": "node"},
    {
        "reach": """
            SELECT node FROM start
            UNION
            SELECT e.dst
            FROM reach AS r
            JOIN edges AS e ON e.src = r.node
            WHERE NOT EXISTS (SELECT 1 FROM blocked AS b WHERE b.node = e.dst)"""
    },
    (
        {
            "reach": lambda now: distinct(
                now["start"]
                + [(e[1],) for _, e in join(now["reach"], 0, now["edges"], 0) if e[1] not in values(now["blocked"], 0)]
            )
        },
    ),
    frozenset({"reach"}),
)
OUTSIDE["few ways out"] = System(
    {**EDGES, "start": "node"},
    {
        "degrees": "SELECT src, COUNT(*) AS ways FROM edges GROUP BY src",
        "reach": """
            SELECT node FROM start
            UNION
            SELECT e.dst
            FROM reach AS r
            JOIN edges AS e ON e.src = r.node
            JOIN degrees AS d ON d.src = e.src
            WHERE d.ways < 4""",
    },
    (
        {"degrees": lambda now: counts(now["edges"], 0)},
        {
            "reach": lambda now: distinct(
                now["start"]
                + [(e[1],) for _, e in join(now["reach"], 0, now["edges"], 0) if dict(now["degrees"]).get(e[0], 9) < 4]
            )
        },
    ),
    frozenset({"reach"}),
)
OUTSIDE["labels"] = System(
    {**EDGES, "start": "node", "labels": "node label"},
    {
        "reach": """
            SELECT s.node, l.label FROM start AS s LEFT JOIN labels AS l ON l.node = s.node
            UNION
            SELECT e.dst, l.label
            FROM reach AS r
            JOIN edges AS e ON e.src = r.node
            LEFT JOIN labels AS l ON l.node = e.dst"""
    },
    (
        {
            "reach": lambda now: distinct(
                [(s[0], m and m[1]) for s, m in left_join(now["start"], 0, now["labels"], 0)]
                + [
                    (e[0], m and m[1])
                    for e, m in left_join(
                        [(e[1],) for _, e in join(now["reach"], 0, now["edges"], 0)], 0, now["labels"], 0
                    )
                ]
            )
        },
    ),
    frozenset({"reach"}),
)
OUTSIDE["semi-joins"] = System(
    {**EDGES, "start": "node"},
    {
        "reach": """
            SELECT node FROM start
            UNION
            SELECT e.dst FROM edges AS e WHERE EXISTS (SELECT 1 FROM further AS f WHERE f.node = e.src)""",
        "further": "SELECT node FROM reach WHERE node IN (SELECT src FROM edges) UNION SELECT node FROM start",
    },
    (
        {
            "reach": lambda now: distinct(
                now["start"] + [(e[1],) for e in now["edges"] if e[0] in values(now["further"], 0)]
            ),
            "further": lambda now: distinct(
                [r for r in now["reach"] if r[0] is not None and r[0] in values(now["edges"], 0)] + now["start"]
            ),
        },
    ),
    frozenset({"reach", "further"}),
)

# --- more than one cycle ---------------------------------------------------------------------------------

OUTSIDE["cycle, aggregate, cycle"] = System(
    EDGES,
    {
        "closure": """
            SELECT src, dst FROM edges
            UNION
            SELECT c.src, e.dst FROM closure AS c JOIN edges AS e ON e.src = c.dst""",
        "sizes": "SELECT src, COUNT(*) AS size FROM closure GROUP BY src",
        "large": """
            SELECT e.src, e.dst FROM edges AS e JOIN sizes AS s ON s.src = e.src WHERE s.size >= 3
            UNION
            SELECT l.src, e.dst FROM large AS l JOIN edges AS e ON e.src = l.dst""",
    },
    (
        {"closure": closure("closure")},
        {"sizes": lambda now: counts(now["closure"], 0)},
        {
            "large": lambda now: distinct(
                [e for e, s in join(now["edges"], 0, now["sizes"], 0) if s[1] >= 3] + plus(now["large"], now["edges"])
            )
        },
    ),
    frozenset({"closure", "large"}),
)
OUTSIDE["before and behind a cycle"] = System(
    EDGES,
    {
        "forward": "SELECT src, dst FROM edges WHERE src <> dst",
        "closure": """
            SELECT src, dst FROM forward
            UNION
            SELECT c.src, f.dst FROM closure AS c JOIN forward AS f ON f.src = c.dst""",
        "loops": "SELECT src, COUNT(*) AS back FROM closure WHERE src = dst GROUP BY src",
    },
    (
        {"forward": lambda now: [e for e in now["edges"] if None not in e and e[0] != e[1]]},
        {"closure": closure("closure", "forward")},
        {"loops": lambda now: counts([c for c in now["closure"] if c[0] == c[1]], 0)},
    ),
    frozenset({"closure"}),
)

OUTSIDE["both colours lead there"] = System(
    {"red_edges": "src dst", "blue_edges": "src dst", "start": "node"},
    {
        "met": """
            SELECT node FROM start
            UNION
            (
              SELECT e.dst FROM met AS m JOIN red_edges AS e ON e.src = m.node
              INTERSECT
              SELECT e.dst FROM met AS m JOIN blue_edges AS e ON e.src = m.node
            )"""
    },
    (
        {
            "met": lambda now: distinct(
                now["start"]
                + [
                    (e[1],)
                    for _, e in join(now["met"], 0, now["red_edges"], 0)
                    if any(e[1] == other[1] for _, other in join(now["met"], 0, now["blue_edges"], 0))
                ]
            )
        },
    ),
    frozenset({"met"}),
    naive=True,
)

# --- duplicates ------------------------------------------------------------------------------------------

OUTSIDE["paths as a bag"] = System(
    EDGES,
    {
        "paths": """
            SELECT src, dst FROM edges
            UNION ALL
            SELECT p.src, e.dst FROM paths AS p JOIN edges AS e ON e.src = p.dst"""
    },
    ({"paths": lambda now: now["edges"] + plus(now["paths"], now["edges"])},),
    frozenset({"paths"}),
    acyclic=True,
    duckdb={"paths": CLOSURE_IN_DUCKDB.replace("UNION", "UNION ALL")},
)
OUTSIDE["a bag on the way"] = System(
    {**EDGES, "start": "node"},
    {
        "hops": "SELECT r.node AS src, e.dst FROM reach AS r JOIN edges AS e ON e.src = r.node",
        "reach": "SELECT node FROM start UNION SELECT dst FROM hops",
    },
    (
        {
            "hops": lambda now: [(r[0], e[1]) for r, e in join(now["reach"], 0, now["edges"], 0)],
            "reach": lambda now: distinct(now["start"] + [(h[1],) for h in now["hops"]]),
        },
    ),
    frozenset({"hops", "reach"}),
)
