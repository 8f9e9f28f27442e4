"""Recursion inside of one query, and one query whose CTEs read each other."""

from __future__ import annotations

from tests.engine.fixpoint.judge import counts, distinct, join, values
from tests.engine.fixpoint.system import CLOSURE_IN_DUCKDB, EDGES, System, plus

CTES: dict[str, System] = {}

_CLOSURE = """
    closure(src, dst) AS (
      SELECT src, dst FROM edges
      UNION
      SELECT c.src, e.dst FROM closure AS c JOIN edges AS e ON e.src = c.dst
    )"""


def _pairs(edges):
    """All pairs (a, b) with a way from a to b."""
    found = distinct(edges)
    while True:
        more = distinct(found + plus(found, edges))
        if len(more) == len(found):
            return found
        found = more


CTES["linear"] = System(
    EDGES,
    {"paths": f"WITH RECURSIVE {_CLOSURE} SELECT src, dst FROM closure"},
    ({"paths": lambda now: _pairs(now["edges"])},),
    frozenset({"paths"}),
    duckdb={"paths": CLOSURE_IN_DUCKDB},
)
CTES["non-linear"] = System(
    EDGES,
    {
        "paths": """
            WITH RECURSIVE c AS (
              SELECT src, dst FROM edges
              UNION
              SELECT a.src, b.dst FROM c AS a JOIN c AS b ON b.src = a.dst
            )
            SELECT src, dst FROM c"""
    },
    ({"paths": lambda now: _pairs(now["edges"])},),
    frozenset({"paths"}),
    duckdb={"paths": CLOSURE_IN_DUCKDB},
)
CTES["counted"] = System(
    EDGES,
    {"sizes": f"WITH RECURSIVE {_CLOSURE} SELECT src, COUNT(*) AS size FROM closure WHERE dst > 1 GROUP BY src"},
    ({"sizes": lambda now: counts([pair for pair in _pairs(now["edges"]) if pair[1] is not None and pair[1] > 1], 0)},),
    frozenset({"sizes"}),
)
CTES["two in one query"] = System(
    {"edges": "src dst", "start": "node"},
    {
        "between": """
            WITH RECURSIVE
              down AS (
                SELECT node FROM start UNION SELECT e.dst FROM down AS d JOIN edges AS e ON e.src = d.node
              ),
              up AS (
                SELECT node FROM start UNION SELECT e.src FROM up AS u JOIN edges AS e ON e.dst = u.node
              )
            SELECT d.node FROM down AS d JOIN up AS u ON u.node = d.node"""
    },
    (
        {
            "between": lambda now: [
                d
                for d, _ in join(
                    _reached(now["start"], now["edges"]),
                    0,
                    _reached(now["start"], [(e[1], e[0]) for e in now["edges"]]),
                    0,
                )
            ]
        },
    ),
    frozenset({"between"}),
)


def _reached(start, edges):
    found = distinct(start)
    while True:
        more = distinct(found + [(e[1],) for _, e in join(found, 0, edges, 0)])
        if len(more) == len(found):
            return found
        found = more


CTES["one over another"] = System(
    {"edges": "src dst", "start": "node"},
    {
        "back": """
            WITH RECURSIVE
              down AS (
                SELECT node FROM start UNION SELECT e.dst FROM down AS d JOIN edges AS e ON e.src = d.node
              ),
              up AS (
                SELECT node FROM down WHERE node > 2
                UNION
                SELECT e.src FROM up AS u JOIN edges AS e ON e.dst = u.node
              )
            SELECT node FROM up"""
    },
    (
        {
            "back": lambda now: _reached(
                [d for d in _reached(now["start"], now["edges"]) if d[0] is not None and d[0] > 2],
                [(e[1], e[0]) for e in now["edges"]],
            )
        },
    ),
    frozenset({"back"}),
)
CTES["inside a subquery"] = System(
    {"edges": "src dst", "start": "node"},
    {
        "reach": """
            SELECT q.node, e.dst
            FROM (
              WITH RECURSIVE r AS (
                SELECT node FROM start UNION SELECT e.dst FROM r JOIN edges AS e ON e.src = r.node
              )
              SELECT node FROM r WHERE node > 1
            ) AS q
            LEFT JOIN edges AS e ON e.src = q.node"""
    },
    (
        {
            "reach": lambda now: [
                (node, dst)
                for (node,) in _reached(now["start"], now["edges"])
                if node is not None and node > 1
                for dst in [e[1] for e in now["edges"] if e[0] == node] or [None]
            ]
        },
    ),
    frozenset({"reach"}),
)
CTES["over a cycle of tables"] = System(
    {"edges": "src dst", "start": "node"},
    {
        "closure": """
            SELECT src, dst FROM edges
            UNION
            SELECT c.src, e.dst FROM closure AS c JOIN edges AS e ON e.src = c.dst""",
        "reach": """
            WITH RECURSIVE r AS (
              SELECT node FROM start UNION SELECT c.dst FROM r JOIN closure AS c ON c.src = r.node
            )
            SELECT node FROM r""",
    },
    (
        {"closure": lambda now: distinct(now["edges"] + plus(now["closure"], now["edges"]))},
        {"reach": lambda now: _reached(now["start"], now["closure"])},
    ),
    frozenset({"closure", "reach"}),
)
CTES["blocked"] = System(
    {"edges": "src dst", "start": "node", "blocked": "node"},
    {
        "reach": """
            WITH RECURSIVE r AS (
              SELECT node FROM start
              UNION
              SELECT e.dst FROM r JOIN edges AS e ON e.src = r.node
              WHERE NOT EXISTS (SELECT 1 FROM blocked AS b WHERE b.node = e.dst)
            )
            SELECT node FROM r"""
    },
    (
        {
            "reach": lambda now: _reached(
                now["start"], [e for e in now["edges"] if e[1] not in values(now["blocked"], 0)]
            )
        },
    ),
    frozenset({"reach"}),
)


def _walks(start, edges):
    """Every way from a start, as a bag of (node, length); the data has no circles."""
    found, last = [], [(node, 0) for (node,) in start]
    while last:
        found += last
        last = [(e[1], w[1] + 1) for w, e in join(last, 0, edges, 0)]
    return found


CTES["a tree with UNION ALL"] = System(
    {"edges": "src dst", "start": "node"},
    {
        "walks": """
            WITH RECURSIVE w(node, depth) AS (
              SELECT node, 0 FROM start
              UNION ALL
              SELECT e.dst, w.depth + 1 FROM w JOIN edges AS e ON e.src = w.node
            )
            SELECT node, depth FROM w"""
    },
    ({"walks": lambda now: _walks(now["start"], now["edges"])},),
    frozenset({"walks"}),
    acyclic=True,
)


def _simple(start, edges):
    """Every way from a start that meets no node twice, as a bag of (node, number of nodes)."""
    found, last = [], [(node, (node,)) for (node,) in start]
    while last:
        found += [(node, len(path)) for node, path in last]
        last = [(e[1], (*w[1], e[1])) for w, e in join(last, 0, edges, 0) if e[1] is not None and e[1] not in w[1]]
    return found


CTES["a guard against circles"] = System(
    {"edges": "src dst", "start": "node"},
    {
        "walks": """
            WITH RECURSIVE w(node, path) AS (
              SELECT node, array(node) FROM start
              UNION ALL
              SELECT e.dst, concat(w.path, array(e.dst))
              FROM w
              JOIN edges AS e ON e.src = w.node
              WHERE NOT array_contains(w.path, e.dst)
            )
            SELECT node, size(path) AS nodes FROM w"""
    },
    ({"walks": lambda now: _simple(now["start"], now["edges"])},),
    frozenset({"walks"}),
)
CTES["mutual recursion"] = System(
    {"red_edges": "src dst", "blue_edges": "src dst", "start": "node"},
    {
        "reach": """
            WITH RECURSIVE
              red(target) AS (
                SELECT e.dst FROM red_edges AS e JOIN start AS s ON s.node = e.src
                UNION
                SELECT e.dst FROM red_edges AS e JOIN blue ON e.src = blue.target
              ),
              blue(target) AS (
                SELECT e.dst FROM blue_edges AS e JOIN start AS s ON s.node = e.src
                UNION
                SELECT e.dst FROM blue_edges AS e JOIN red ON e.src = red.target
              )
            SELECT target, 0 AS colour FROM red
            UNION ALL
            SELECT target, 1 AS colour FROM blue"""
    },
    (
        {
            "reach__red": lambda now: distinct(
                (e[1],) for of in ("start", "reach__blue") for _, e in join(now[of], 0, now["red_edges"], 0)
            ),
            "reach__blue": lambda now: distinct(
                (e[1],) for of in ("start", "reach__red") for _, e in join(now[of], 0, now["blue_edges"], 0)
            ),
        },
        {
            "reach": lambda now: [(r[0], 0) for r in now["reach__red"]] + [(b[0], 1) for b in now["reach__blue"]],
        },
    ),
    frozenset({"reach__red", "reach__blue"}),
)
