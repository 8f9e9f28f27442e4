"""Cycles of one table and of several, whose rules follow equal values or little more."""

from __future__ import annotations

from tests.engine.fixpoint.judge import distinct, join, values
from tests.engine.fixpoint.system import CLOSURE_IN_DUCKDB, EDGES, System, closure, plus

CYCLES: dict[str, System] = {}

# --- one table -------------------------------------------------------------------------------------------

CYCLES["linear closure"] = System(
    EDGES,
    {
        "closure": """
            SELECT src, dst FROM edges
            UNION
            SELECT c.src, e.dst FROM closure AS c JOIN edges AS e ON e.src = c.dst"""
    },
    ({"closure": closure("closure")},),
    frozenset({"closure"}),
    duckdb={"closure": CLOSURE_IN_DUCKDB},
)
CYCLES["right-linear closure"] = System(
    EDGES,
    {
        "closure": """
            SELECT src, dst FROM edges
            UNION
            SELECT e.src, c.dst FROM edges AS e JOIN closure AS c ON c.src = e.dst"""
    },
    ({"closure": lambda now: distinct(now["edges"] + plus(now["edges"], now["closure"]))},),
    frozenset({"closure"}),
    duckdb={"closure": CLOSURE_IN_DUCKDB},
)
CYCLES["non-linear closure"] = System(
    EDGES,
    {
        "closure": """
            SELECT src, dst FROM edges
            UNION
            SELECT a.src, b.dst FROM closure AS a JOIN closure AS b ON b.src = a.dst"""
    },
    ({"closure": lambda now: distinct(now["edges"] + plus(now["closure"], now["closure"]))},),
    frozenset({"closure"}),
    duckdb={"closure": CLOSURE_IN_DUCKDB},
)
CYCLES["same generation"] = System(
    {"parents": "child parent"},
    {
        "same": """
            SELECT p.child AS x, q.child AS y FROM parents AS p JOIN parents AS q ON q.parent = p.parent
            UNION
            SELECT p.child, q.child
            FROM parents AS p
            JOIN same AS s ON s.x = p.parent
            JOIN parents AS q ON q.parent = s.y"""
    },
    (
        {
            "same": lambda now: distinct(
                [(one[0], other[0]) for one, other in join(now["parents"], 1, now["parents"], 1)]
                + [
                    (child, other[0])
                    for child, y in ((p[0], s[1]) for p, s in join(now["parents"], 1, now["same"], 0))
                    for _, other in join([(y,)], 0, now["parents"], 1)
                ]
            )
        },
    ),
    frozenset({"same"}),
)

# --- several tables --------------------------------------------------------------------------------------

CYCLES["red and blue"] = System(
    {"red_edges": "src dst", "blue_edges": "src dst", "start": "node"},
    {
        "reach_red": """
            SELECT e.dst AS node FROM red_edges AS e JOIN start AS s ON s.node = e.src
            UNION
            SELECT e.dst FROM red_edges AS e JOIN reach_blue AS b ON b.node = e.src""",
        "reach_blue": """
            SELECT e.dst AS node FROM blue_edges AS e JOIN reach_red AS r ON r.node = e.src
            UNION
            SELECT e.dst FROM blue_edges AS e JOIN start AS s ON s.node = e.src WHERE s.node > 100""",
    },
    (
        {
            "reach_red": lambda now: distinct(
                (e[1],) for of in ("start", "reach_blue") for _, e in join(now[of], 0, now["red_edges"], 0)
            ),
            "reach_blue": lambda now: distinct(
                [(e[1],) for _, e in join(now["reach_red"], 0, now["blue_edges"], 0)]
                + [(e[1],) for s, e in join(now["start"], 0, now["blue_edges"], 0) if s[0] > 100]
            ),
        },
    ),
    frozenset({"reach_red", "reach_blue"}),
)
CYCLES["closure over two tables"] = System(
    EDGES,
    {
        "a": "SELECT src, dst FROM edges UNION SELECT b.src, e.dst FROM b JOIN edges AS e ON e.src = b.dst",
        "b": "SELECT src, dst FROM edges UNION SELECT a.src, e.dst FROM a JOIN edges AS e ON e.src = a.dst",
    },
    ({"a": closure("b"), "b": closure("a")},),
    frozenset({"a", "b"}),
    duckdb={"a": CLOSURE_IN_DUCKDB, "b": CLOSURE_IN_DUCKDB},
)
CYCLES["each is the other"] = System(
    {"src": "x"},
    {"a": "SELECT x FROM src UNION SELECT x FROM b", "b": "SELECT x FROM src UNION SELECT x FROM a"},
    (
        {
            "a": lambda now: distinct(now["src"] + now["b"]),
            "b": lambda now: distinct(now["src"] + now["a"]),
        },
    ),
    frozenset({"a", "b"}),
    duckdb={"a": "SELECT DISTINCT x FROM src", "b": "SELECT DISTINCT x FROM src"},
)
CYCLES["three tables"] = System(
    {**EDGES, "start": "node"},
    {
        "one": """
            SELECT node FROM start
            UNION
            SELECT e.dst FROM three AS t JOIN edges AS e ON e.src = t.node""",
        "two": "SELECT DISTINCT e.dst AS node FROM one AS o JOIN edges AS e ON e.src = o.node",
        "three": """
            SELECT e.dst AS node FROM two AS t JOIN edges AS e ON e.src = t.node
            UNION
            SELECT t.node FROM two AS t JOIN one AS o ON o.node = t.node""",
    },
    (
        {
            "one": lambda now: distinct(now["start"] + [(e[1],) for _, e in join(now["three"], 0, now["edges"], 0)]),
            "two": lambda now: distinct((e[1],) for _, e in join(now["one"], 0, now["edges"], 0)),
            "three": lambda now: distinct(
                [(e[1],) for _, e in join(now["two"], 0, now["edges"], 0)]
                + [t for t, _ in join(now["two"], 0, now["one"], 0)]
            ),
        },
    ),
    frozenset({"one", "two", "three"}),
)


def _five():
    names = ["v", "w", "x", "y", "z"]
    tables, rules = {}, {}
    for at, name in enumerate(names):
        before = names[at - 1]
        step = f"SELECT e.dst AS node FROM {before} AS p JOIN edges AS e ON e.src = p.node WHERE e.dst % 5 <> {at}"
        stay = f"SELECT p.node FROM {before} AS p WHERE p.node % 5 = {at}"
        base = "SELECT node FROM start UNION " if at == 0 else ""
        tables[name] = f"{base}{step} UNION {stay}"

        def rule(now, at=at, before=before):
            found = list(now["start"]) if at == 0 else []
            found += [(e[1],) for _, e in join(now[before], 0, now["edges"], 0) if e[1] is not None and e[1] % 5 != at]
            found += [p for p in now[before] if p[0] is not None and p[0] % 5 == at]
            return distinct(found)

        rules[name] = rule
    return System({**EDGES, "start": "node"}, tables, (rules,), frozenset(names))


CYCLES["five tables"] = _five()
CYCLES["both ways needed"] = System(
    {"needs": "thing part other", "given": "thing"},
    {
        "left_made": """
            SELECT thing FROM given
            UNION
            SELECT n.thing FROM needs AS n JOIN left_made AS a ON a.thing = n.part
            JOIN right_made AS b ON b.thing = n.other""",
        "right_made": """
            SELECT thing FROM left_made
            UNION
            SELECT n.thing FROM needs AS n WHERE n.part IN (SELECT thing FROM left_made) AND n.other IS NULL""",
    },
    (
        {
            "left_made": lambda now: distinct(
                now["given"]
                + [
                    (n[0],)
                    for n, _ in join(now["needs"], 1, now["left_made"], 0)
                    if n[2] in values(now["right_made"], 0)
                ]
            ),
            "right_made": lambda now: distinct(
                now["left_made"]
                + [(n[0],) for n in now["needs"] if n[1] in values(now["left_made"], 0) and n[2] is None]
            ),
        },
    ),
    frozenset({"left_made", "right_made"}),
)
