"""Lattice columns: which queries of a cycle may keep a MIN or MAX, and what is said of the others."""

# ruff: noqa: E501  a message is read best as it is printed
from __future__ import annotations

import pytest

from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
from tests.yaml_files import messages, plan, planned, write

HEAD = "pipeline: p\nallow_circular: true\nsources: [start, edges, limits]\n"
JOIN = "FROM t AS s JOIN edges AS e ON e.src = s.node"

ALLOWED = (
    "Allowed are the column itself, cost + x, cost - x, least(), greatest() and CAST to a number on the way into MIN(…), "
    "and in WHERE and in ON of inner joins cost < x, cost <= x and cost IS NOT NULL, where x has no lattice column."
)
UNCLEAR = "so where it goes is not known. Write the columns out, each with the alias of its table."
FORM = "Write SELECT keys…, MIN(x) AS cost FROM … GROUP BY keys…."


def project(*tables: tuple[str, str, str], head: str = HEAD) -> str:
    lines = "".join(
        f"  {name}:\n    query: {query}\n" + (f"    lattice: {lattice}\n" if lattice else "")
        for name, query, lattice in tables
    )
    return f"{head}stream_tables:\n{lines}"


def table(
    part: str,
    *,
    top: str = "SELECT node, MIN(cost) AS cost",
    group: str = "GROUP BY node",
    lattice: str = "{cost: min}",
) -> str:
    """A table that reads itself in the second part of a UNION ALL."""
    return project(("t", f"{top} FROM (SELECT node, 0 AS cost FROM start UNION ALL {part}) {group}", lattice))


def misuse(how: str) -> str:
    return (
        f"stream table 't': the lattice column 'cost' of 't' is used {how}, where a better value may take rows away or "
        f"make other values worse. {ALLOWED}"
    )


def unclear(how: str) -> str:
    return f"stream table 't': the lattice column 'cost' of 't' is read {how}, {UNCLEAR}"


GOOD = {
    "a sum": table(f"SELECT e.dst AS node, s.cost + e.weight AS cost {JOIN}"),
    "a sum the other way round": table(f"SELECT e.dst, e.weight + (s.cost + 1) {JOIN}"),
    "a difference": table(f"SELECT e.dst, s.cost - e.weight {JOIN}"),
    "a CAST": table(f"SELECT e.dst, CAST(s.cost + e.weight AS DECIMAL(9, 2)) {JOIN}"),
    "least": table(f"SELECT e.dst, least(s.cost, e.weight, 7) {JOIN}"),
    "greatest of what is not NULL": table(f"SELECT e.dst, greatest(s.cost, e.weight) {JOIN} WHERE s.cost IS NOT NULL"),
    "greatest of what is less": table(f"SELECT e.dst, greatest(s.cost, e.weight) {JOIN} AND s.cost < 100"),
    "a bound": table(f"SELECT e.dst, s.cost + 1 {JOIN} WHERE s.cost + e.weight <= 100 AND e.weight > s.cost"),
    "a column of the same name elsewhere": table(f"SELECT e.dst, e.cost * 2 {JOIN} WHERE e.cost = 3"),
    "DISTINCT and UNION": table(f"SELECT DISTINCT e.dst, s.cost + 1 {JOIN} UNION SELECT node, 3 FROM limits"),
    "an outer join of an outside table": table("SELECT s.node, s.cost + coalesce(e.weight, 1) FROM t AS s LEFT JOIN edges AS e ON e.src = s.node"),
    "a semi-join": table("SELECT e.dst, 7 FROM edges AS e LEFT SEMI JOIN t AS s ON s.node = e.src AND s.cost < 3"),
    "NOT EXISTS outside": table(f"SELECT e.dst, s.cost {JOIN} WHERE NOT EXISTS (SELECT * FROM limits AS l WHERE l.node = e.dst)"),
    "EXISTS of the table": table("SELECT e.dst, 1 FROM edges AS e WHERE EXISTS (SELECT * FROM t AS s WHERE s.node = e.src)"),
    "IN of its keys": table("SELECT e.dst, 1 FROM edges AS e WHERE e.src IN (SELECT node FROM t)"),
    "names by a list": table("SELECT e.dst, q.c + 1 FROM t AS q(n, c) JOIN edges AS e ON e.src = q.n"),
    "a derived table": table("SELECT d.n, d.c + 1 FROM (SELECT e.dst AS n, s.cost AS c FROM t AS s JOIN edges AS e ON e.src = s.node) AS d"),
    "a CTE": project(
        ("t", f"WITH steps(n, c) AS (SELECT node, 0 FROM start UNION ALL SELECT e.dst, s.cost + e.weight {JOIN}) SELECT n, MIN(c) AS cost FROM steps GROUP BY n", "{cost: min}")
    ),
    "no union": project(("t", f"SELECT e.dst AS node, MIN(s.cost + e.weight) AS cost {JOIN} GROUP BY e.dst", "{cost: min}")),
    "keys by their place": table(f"SELECT e.dst, s.cost {JOIN}", group="GROUP BY 1"),
    "all keys": table(f"SELECT e.dst, s.cost {JOIN}", group="GROUP BY ALL"),
    "an order, which changes nothing": table(f"SELECT e.dst, s.cost {JOIN}", group="GROUP BY node ORDER BY cost"),
    "the name in another case": table(f"SELECT e.dst, s.COST + 1 {JOIN}", lattice="{Cost: MIN}"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_value_that_only_improves_is_monotone_inside_its_cycle(tmp_path, name):
    (step,) = plan(tmp_path, GOOD[name]).tables
    assert step.lattice == {"cost": "min"}
    types = {edge.identifier: edge.type for edge in step.edges}
    assert types.pop("default.t") == "MONOTONE"
    # Of all other inputs a row more may still replace a row.
    assert set(types.values()) == {"NON_MONOTONE"}


def test_the_largest_value_is_kept_the_other_way_round(tmp_path):
    text = table(
        f"SELECT e.dst, least(s.cost, e.weight) {JOIN} WHERE s.cost >= 3 AND 0 < s.cost",
        top="SELECT node, MAX(cost) AS cost",
        lattice="{cost: max}",
    )
    (step,) = plan(tmp_path, text).tables
    assert step.lattice == {"cost": "max"}


TWO = ("t", "SELECT node, MIN(c) AS cost FROM (SELECT node, 0 AS c FROM start UNION ALL SELECT node, u FROM u) GROUP BY node", "{cost: min}")  # fmt: skip
KEYS = ("t", "SELECT node, MIN(c) AS cost FROM (SELECT node, 0 AS c FROM start UNION ALL SELECT node, 1 FROM u) GROUP BY node", "{cost: min}")  # fmt: skip


def test_several_tables_of_a_cycle_may_have_a_lattice(tmp_path):
    other = ("u", f"SELECT e.dst AS node, MIN(s.cost + e.weight) AS u {JOIN} GROUP BY e.dst", "{u: min}")
    found = plan(tmp_path, project(TWO, other))
    assert {step.name: step.lattice for step in found.tables} == {"t": {"cost": "min"}, "u": {"u": "min"}}
    assert [(part.cyclic, part.monotone) for part in found.components] == [(True, True)]


def test_a_table_without_lattice_may_read_the_keys_and_ask_for_a_bound(tmp_path):
    found = plan(tmp_path, project(KEYS, ("u", f"SELECT e.dst AS node {JOIN} AND s.cost < 10", "")))
    assert [part.monotone for part in found.components] == [True]


BAD = {
    "greatest() of what may be NULL": (
        table(f"SELECT e.dst, greatest(s.cost, e.weight) {JOIN}"),
        "p.yaml:6:116: stream table 't': the lattice column 'cost' of 't' is used in 'GREATEST(s.cost, e.weight)', and greatest() skips NULL: a group without a value yet would give a better value than it does later. Add WHERE cost IS NOT NULL.",
    ),
    "a text": (
        table(f"SELECT e.dst, CAST(s.cost AS STRING) {JOIN}"),
        "p.yaml:6:112: " + misuse("in 'CAST(s.cost AS STRING)'"),
    ),
    "a CAST that may give NULL": (
        table(f"SELECT e.dst, TRY_CAST(s.cost AS INT) {JOIN}"),
        "p.yaml:6:116: " + misuse("in 'TRY_CAST(s.cost AS INT)'"),
    ),
    "a product": (
        table(f"SELECT e.dst, s.cost * e.weight {JOIN}"),
        "p.yaml:6:107: " + misuse("in 's.cost * e.weight'"),
    ),
    "a sign": (table(f"SELECT e.dst, - s.cost {JOIN}"), "p.yaml:6:109: " + misuse("in '-s.cost'")),
    "subtracted": (
        table(f"SELECT e.dst, e.weight - s.cost {JOIN}"),
        "p.yaml:6:118: " + misuse("in 'e.weight - s.cost'"),
    ),
    "a sum of two": (
        table("SELECT r.node, s.cost + r.cost FROM t AS s JOIN t AS r ON r.node = s.node"),
        "p.yaml:6:108: " + misuse("in 's.cost + r.cost'"),
    ),
    "a function": (table(f"SELECT e.dst, abs(s.cost) {JOIN}"), "p.yaml:6:111: " + misuse("in 'ABS(s.cost)'")),
    "CASE": (
        table(f"SELECT e.dst, CASE WHEN s.cost > 1 THEN 1 END {JOIN}"),
        "p.yaml:6:117: " + misuse("in 'CASE WHEN s.cost > 1 THEN 1 END'"),
    ),
    "a field": (table(f"SELECT e.dst, cost.x {JOIN}"), "p.yaml:6:107: " + misuse("in 'cost.x'")),
    "a worse value wanted": (
        table(f"SELECT e.dst, s.cost {JOIN} WHERE s.cost > 3"),
        "p.yaml:6:166: " + misuse("in 's.cost > 3'"),
    ),
    "one value wanted": (
        table(f"SELECT e.dst, s.cost {JOIN} WHERE s.cost = 3"),
        "p.yaml:6:166: " + misuse("in 's.cost = 3'"),
    ),
    "OR": (
        table(f"SELECT e.dst, s.cost {JOIN} WHERE s.cost < 3 OR e.open"),
        "p.yaml:6:166: " + misuse("in 's.cost < 3 OR e.open'"),
    ),
    "no value wanted": (
        table(f"SELECT e.dst, s.cost {JOIN} WHERE s.cost IS NULL"),
        "p.yaml:6:166: " + misuse("in 's.cost IS NULL'"),
    ),
    "two compared": (
        table("SELECT s.node, 1 FROM t AS s JOIN t AS r ON r.cost < s.cost"),
        "p.yaml:6:137: " + misuse("in 'r.cost < s.cost'"),
    ),
    "a key of a join": (
        table("SELECT e.dst, 1 FROM t AS s JOIN edges AS e ON e.src = s.cost"),
        "p.yaml:6:148: " + misuse("in 'e.src = s.cost'"),
    ),
    "USING": (
        table("SELECT e.dst, 1 FROM t AS s JOIN edges AS e USING (node, cost)"),
        "p.yaml:6:114: " + misuse("as a key of a join"),
    ),
    "ON of an outer join": (
        table("SELECT s.node, s.cost FROM t AS s LEFT JOIN edges AS e ON e.src = s.node AND s.cost < 3"),
        "p.yaml:6:170: " + misuse("in the ON of a LEFT JOIN"),
    ),
    "ON of an anti-join": (
        table("SELECT s.node, s.cost FROM t AS s LEFT ANTI JOIN edges AS e ON e.src = s.node AND s.cost < 3"),
        "p.yaml:6:175: " + misuse("in the ON of a LEFT ANTI JOIN"),
    ),
    "a key of the groups": (
        table(f"SELECT s.cost AS node, s.cost + 1 AS cost {JOIN}"),
        "p.yaml:6:19: " + misuse("as a key of the groups"),
    ),
    "EXISTS": (
        table("SELECT e.dst, 1 FROM edges AS e WHERE EXISTS (SELECT 1 FROM t AS s WHERE s.cost < 3)"),
        "p.yaml:6:166: " + misuse("inside a subquery"),
    ),
    "a subquery about it": (
        table(f"SELECT e.dst, s.cost {JOIN} WHERE EXISTS (SELECT 1 FROM limits AS l WHERE l.x < s.cost)"),
        "p.yaml:6:212: " + misuse("inside a subquery"),
    ),
    "IN": (
        table("SELECT e.dst, 1 FROM edges AS e WHERE e.src IN (SELECT cost FROM t)"),
        "p.yaml:6:148: " + misuse("inside a subquery"),
    ),
    "INTERSECT": (
        table("SELECT node, cost FROM t INTERSECT SELECT node, cost FROM limits"),
        "p.yaml:6:106: " + misuse("in INTERSECT, which compares it"),
    ),
    "EXCEPT": (
        table("(SELECT node, cost FROM t EXCEPT SELECT node, cost FROM limits)"),
        "p.yaml:6:107: " + misuse("in EXCEPT, which compares it"),
    ),
    "LATERAL VIEW": (
        table(f"SELECT x, 1 {JOIN} LATERAL VIEW explode(array(s.cost)) v AS x"),
        "p.yaml:6:178: " + misuse("in 'EXPLODE(ARRAY(s.cost))'"),
    ),
    "a star": (table("SELECT * FROM t"), "p.yaml:6:100: " + unclear("under a star")),
    "a star of the table": (table(f"SELECT s.* {JOIN}"), "p.yaml:6:102: " + unclear("under a star")),
    "a star beside it": (
        table(f"SELECT e.*, s.cost {JOIN}"),
        "p.yaml:6:105: " + unclear("in a UNION whose columns are not all written out"),
    ),
    "no cycle": (
        project(("t", "SELECT node, MIN(x) AS cost FROM start GROUP BY node", "{cost: min}")),
        "p.yaml:7:5: stream table 't' has a lattice, but is part of no cycle: it reads neither itself nor a table that reads it. Leave 'lattice' out: outside of a cycle MIN and MAX need none. A recursive CTE becomes a cycle when the table reads itself instead.",
    ),
    "mutual recursion": (
        project(
            ("t", "WITH RECURSIVE a(x) AS (SELECT node FROM start UNION SELECT x FROM b), b(x) AS (SELECT node FROM start UNION SELECT x FROM a) SELECT x, MIN(1) AS cost FROM a GROUP BY x", "{cost: min}")
        ),
        "p.yaml:7:5: stream table 't': its CTEs 'a' and 'b' read each other, and a lattice is for a stream table that is part of the cycle. Write the CTEs as stream tables (`trickle decompose` shows how) and give the lattice to one of them.",
    ),
    "a column that is not there": (
        table(f"SELECT e.dst, s.cost {JOIN}", lattice="{costs: min}"),
        f"p.yaml:6:19: stream table 't': lattice: the query has no column 'costs'; its columns are 'node', 'cost'. {FORM.replace('cost', 'costs')}",
    ),
    "the other aggregate": (
        table(f"SELECT e.dst, s.cost {JOIN}", lattice="{cost: max}"),
        "p.yaml:6:25: stream table 't': lattice: 'cost' is MIN(cost), but must be MAX(…) of one value. Write MAX, or set lattice: {cost: min}.",
    ),
    "no aggregate": (
        project(("t", f"SELECT node, 0 AS cost FROM start UNION SELECT e.dst, s.cost + 1 {JOIN}", "{cost: min}")),
        f"p.yaml:6:12: stream table 't': lattice: the query is no SELECT … GROUP BY, but UNION. {FORM}",
    ),
    "a key as the column": (
        table(f"SELECT e.dst, s.cost {JOIN}", lattice="{node: min}"),
        f"p.yaml:6:19: stream table 't': lattice: 'node' is node, but must be MIN(…) of one value. {FORM.replace('cost', 'node')}",
    ),
    "more than the aggregate": (
        table(f"SELECT e.dst, s.cost {JOIN}", top="SELECT node, MIN(cost) + 1 AS cost"),
        f"p.yaml:6:25: stream table 't': lattice: 'cost' is MIN(cost) + 1, but must be MIN(…) of one value. {FORM}",
    ),
    "an aggregate of some rows": (
        table(f"SELECT e.dst, s.cost {JOIN}", top="SELECT node, MIN(cost) FILTER (WHERE cost > 1) AS cost"),
        f"p.yaml:6:25: stream table 't': lattice: 'cost' is MIN(cost) FILTER(WHERE cost > 1), but must be MIN(…) of one value. {FORM}",
    ),
    "HAVING": (
        table(f"SELECT e.dst, s.cost {JOIN}", group="GROUP BY node HAVING MIN(cost) < 3"),
        f"p.yaml:6:182: stream table 't': lattice: the SELECT has HAVING. {FORM}",
    ),
    "DISTINCT": (
        table(f"SELECT e.dst, s.cost {JOIN}", top="SELECT DISTINCT node, MIN(cost) AS cost"),
        f"p.yaml:6:28: stream table 't': lattice: the SELECT has DISTINCT. {FORM}",
    ),
    "ROLLUP": (
        table(f"SELECT e.dst, s.cost {JOIN}", group="GROUP BY ROLLUP (node)"),
        f"p.yaml:6:178: stream table 't': lattice: the SELECT has several groupings (ROLLUP, CUBE or GROUPING SETS). {FORM}",
    ),
    "no groups": (
        table(f"SELECT e.dst, s.cost {JOIN}", top="SELECT MIN(cost) AS cost", group=""),
        f"p.yaml:6:19: stream table 't': lattice: the SELECT has no GROUP BY. {FORM}",
    ),
    "a key that is not shown": (
        table(f"SELECT e.dst, s.cost {JOIN}", top="SELECT MIN(cost) AS cost"),
        f"p.yaml:6:164: stream table 't': lattice: the key node of GROUP BY is not shown. {FORM}",
    ),
    "a column beside the keys": (
        table(f"SELECT e.dst, s.cost {JOIN}", top="SELECT node, COUNT(*) AS n, MIN(cost) AS cost"),
        f"p.yaml:6:25: stream table 't': lattice: the column COUNT(*) AS n is no key of GROUP BY. {FORM}",
    ),
    "a table that shows it without a lattice": (
        project(TWO, ("u", f"SELECT e.dst AS node, s.cost + e.weight AS u {JOIN}", "")),
        "p.yaml:9:34: stream table 'u': the lattice column 'cost' of 't' is used as a column of 'u', which has no lattice, where a better value may take rows away or make other values worse. Give 'u' a lattice too, or leave the column out.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_may_not_improve_is_refused(tmp_path, name):
    text, expected = BAD[name]
    assert messages(planned(tmp_path, {"p.yaml": text}), tmp_path) == [expected]


def test_a_smallest_and_a_largest_value_do_not_feed_each_other(tmp_path):
    other = ("u", f"SELECT e.dst AS node, MAX(s.cost + e.weight) AS u {JOIN} GROUP BY e.dst", "{u: max}")
    first, second = messages(planned(tmp_path, {"p.yaml": project(TWO, other)}), tmp_path)
    assert first.startswith("p.yaml:6:29: stream table 't': the lattice column 'u' of 'u' is used in MIN(…), where")
    assert second == "p.yaml:9:38: " + misuse("in MAX(…)").replace("'t': the", "'u': the")


@pytest.mark.parametrize(
    "part",
    [
        f"SELECT e.dst, MIN(s.cost) {JOIN} GROUP BY e.dst",
        f"SELECT e.dst, MIN(s.cost) OVER () {JOIN}",
        "SELECT e.dst, s.cost FROM edges AS e LEFT JOIN t AS s ON e.src = s.node",
        f"SELECT e.dst, 1 {JOIN} WHERE NOT EXISTS (SELECT 1 FROM t AS r WHERE r.node = e.dst)",
        f"SELECT e.dst, (SELECT MAX(node) FROM t) {JOIN}",
    ],
)
def test_any_other_operator_is_as_little_monotone_as_before(tmp_path, part):
    (told,) = messages(planned(tmp_path, {"p.yaml": table(part)}), tmp_path)
    assert "stream table 't' reads 't' inside the cycle t -> t in a place that is not monotone" in told


def test_without_a_lattice_the_aggregate_is_refused(tmp_path):
    (told,) = messages(planned(tmp_path, {"p.yaml": table(f"SELECT e.dst, s.cost + 1 {JOIN}", lattice="")}), tmp_path)
    assert "it is the input of an aggregate (MIN)" in told


def test_the_older_check_of_cycles_passes_the_aggregate_of_a_lattice_only(tmp_path):
    strict = HEAD + "stratified_cycle_validation: false\n"
    text = table(f"SELECT e.dst, s.cost + 1 {JOIN}").replace(HEAD, strict)
    assert messages(planned(tmp_path, {"p.yaml": text}), tmp_path) == []
    text = table(f"SELECT e.dst, s.cost {JOIN} WHERE NOT EXISTS (SELECT 1 FROM limits AS l WHERE l.node = e.dst)")
    (told,) = messages(planned(tmp_path, {"p.yaml": text.replace(HEAD, strict)}), tmp_path)
    assert "its query has an operator that is not monotone; of what it reads there: it is inside NOT EXISTS" in told


def test_the_definition_of_a_table_changes_with_its_lattice(tmp_path):
    def definition(text):
        write(tmp_path, {"p.yaml": text})
        result = plan_path(tmp_path, Settings(allow_circular="unsafe"))
        assert result.problems == ()
        (step,) = result.plans[0].tables
        return step.definition

    body = f"SELECT e.dst, s.cost + 1 {JOIN}"
    unsafe = HEAD.replace("true", "unsafe")
    with_lattice, without = definition(table(body)), definition(table(body, lattice="").replace(HEAD, unsafe))
    assert with_lattice != without
    assert definition(table(body, lattice="{COST: Min}")) == with_lattice
    # Behind the dot stands how the table is parted, and nothing else.
    parted = table(body) + "    partition_by: [node]\n"
    assert definition(parted).partition(".")[0] == with_lattice
