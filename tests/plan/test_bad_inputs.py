"""What a person reads about a pipeline that cannot be, word for word, and about one that is doubtful."""

# ruff: noqa: E501  a message is read best as it is printed
from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.analysis.cycles import SEE
from tests.yaml_files import messages, planned

HEAD = "pipeline: p\nsources: [edges, blocked]\n"
ALLOWED = "pipeline: p\nallow_circular: true\nsources: [edges, blocked]\n"


def project(head: str, tables: dict[str, str]) -> str:
    lines = "".join(f"  {name}:\n    query: {query}\n" for name, query in tables.items())
    return f"{head}stream_tables:\n{lines}"


UNSAFE = "Read only tables outside of the cycle there, or set allow_circular: unsafe to try it up to max_fixpoint_iterations, with refresh_mode: DIFFERENTIAL or AUTO for each of its tables. See docs/analysis.md, section Cycles."


def test_the_page_that_hints_name_has_that_section():
    assert SEE == "See docs/analysis.md, section Cycles."
    page = Path(__file__).parents[2] / "docs" / "analysis.md"
    assert "\n## Cycles\n" in page.read_text()


def not_monotone(table: str, read: str, path: str, because: str) -> str:
    return (
        f"stream table '{table}' reads '{read}' inside the cycle {path} in a place that is not monotone: {because}. "
        f"A row more in '{read}' may take rows out of '{table}', so the cycle may never settle. {UNSAFE}"
    )


CASES = {
    "a cycle that is not allowed": (
        project(
            HEAD, {"a": "SELECT x FROM edges UNION SELECT x FROM b", "b": "SELECT x FROM c", "c": "SELECT x FROM a"}
        ),
        "p.yaml:5:52: stream table 'a' is part of a cycle: a -> b -> c -> a. Cycles are not allowed in this pipeline. If "
        "the tables are meant to define each other, set allow_circular: true in the pipeline, and for each of them "
        "refresh_mode: DIFFERENTIAL or AUTO; if not, take one of these reads out. See docs/analysis.md, section Cycles.",
    ),
    "a table that reads itself": (
        project(HEAD, {"a": "SELECT x FROM edges UNION SELECT x FROM a"}),
        "p.yaml:5:52: stream table 'a' reads itself: a -> a. Cycles are not allowed in this pipeline. If the tables are "
        "meant to define each other, set allow_circular: true in the pipeline, and for each of them refresh_mode: "
        "DIFFERENTIAL or AUTO; if not, take one of these reads out. See docs/analysis.md, section Cycles.",
    ),
    "EXCEPT inside a cycle": (
        project(ALLOWED, {"a": "SELECT x FROM edges EXCEPT SELECT x FROM b", "b": "SELECT x FROM a"}),
        "p.yaml:6:32: " + not_monotone("a", "b", "a -> b -> a", "it is on the right side of EXCEPT"),
    ),
    "EXCEPT hidden two CTEs deep": (
        project(
            ALLOWED,
            {
                "a": "WITH m AS (SELECT x FROM edges EXCEPT SELECT x FROM b), n AS (SELECT x FROM m) SELECT x FROM n",
                "b": "SELECT x FROM a UNION SELECT x FROM edges",
            },
        ),
        "p.yaml:6:43: " + not_monotone("a", "b", "a -> b -> a", "it is on the right side of EXCEPT"),
    ),
    "NOT EXISTS inside a cycle": (
        project(
            ALLOWED,
            {
                "a": "SELECT x FROM edges e WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = e.x)",
                "b": "SELECT DISTINCT x FROM a",
            },
        ),
        "p.yaml:6:40: " + not_monotone("a", "b", "a -> b -> a", "it is inside NOT EXISTS"),
    ),
    "NOT IN with a nullable column": (
        project(ALLOWED, {"a": "SELECT x FROM edges WHERE x NOT IN (SELECT x FROM a)"}),
        "p.yaml:6:38: " + not_monotone("a", "a", "a -> a", "it is inside NOT IN"),
    ),
    "the null-supplying side of a LEFT JOIN": (
        project(ALLOWED, {"a": "SELECT DISTINCT e.x FROM edges e LEFT JOIN a ON a.x = e.x WHERE a.x IS NULL"}),
        "p.yaml:6:45: " + not_monotone("a", "a", "a -> a", "it is on the null-supplying side of a LEFT JOIN"),
    ),
    "the null-supplying side of a RIGHT JOIN": (
        project(ALLOWED, {"a": "SELECT DISTINCT e.x FROM a RIGHT JOIN edges e ON a.x = e.x"}),
        "p.yaml:6:39: " + not_monotone("a", "a", "a -> a", "it is on the null-supplying side of a RIGHT JOIN"),
    ),
    "a FULL JOIN": (
        project(ALLOWED, {"a": "SELECT DISTINCT e.x FROM a FULL OUTER JOIN edges e ON a.x = e.x"}),
        "p.yaml:6:39: " + not_monotone("a", "a", "a -> a", "it is on the null-supplying side of a FULL JOIN"),
    ),
    "COUNT(*) = 0 in a correlated subquery": (
        project(ALLOWED, {"a": "SELECT x FROM edges e WHERE (SELECT COUNT(*) FROM a WHERE a.x = e.x) = 0"}),
        "p.yaml:6:40: " + not_monotone("a", "a", "a -> a", "it is inside a scalar subquery"),
    ),
    "a window in a subquery of EXISTS": (
        project(
            ALLOWED,
            {
                "a": "SELECT x FROM edges e WHERE EXISTS (SELECT 1 FROM (SELECT x, RANK() OVER (ORDER BY x) AS r FROM a)"
                " AS k WHERE k.r = 1 AND k.x = e.x)"
            },
        ),
        "p.yaml:6:73: " + not_monotone("a", "a", "a -> a", "it is the input of a window (RANK)"),
    ),
    "an aggregate inside a cycle": (
        project(ALLOWED, {"a": "SELECT MIN(x) AS x FROM a", "b": "SELECT 1 AS x"}),
        "p.yaml:6:19: " + not_monotone("a", "a", "a -> a", "it is the input of an aggregate (MIN)"),
    ),
    "FULL in a cycle": (
        f"{ALLOWED}stream_tables:\n  a: {{query: SELECT x FROM edges UNION SELECT x FROM b, refresh_mode: FULL}}\n"
        "  b: {query: SELECT x FROM a}\n",
        "p.yaml:5:3: stream table 'a' is part of the cycle a -> b -> a and has refresh_mode: FULL, but the tables of a "
        "cycle are refreshed from changes only. Set refresh_mode: DIFFERENTIAL, or leave it out. See docs/analysis.md, section "
        "Cycles.",
    ),
    "a query in a cycle that cannot be refreshed from changes": (
        project(ALLOWED, {"a": "SELECT x, rand() AS r FROM edges UNION SELECT x, r FROM a"}),
        "p.yaml:6:22: stream table 'a' is part of the cycle a -> a, and the tables of a cycle are refreshed from changes "
        "only, but rand() answers differently on every run. Take that out of its query, so that refresh_mode: "
        "DIFFERENTIAL is possible. See docs/analysis.md, section Cycles.",
    ),
    "the older check of a cycle, where any operator counts": (
        project(
            ALLOWED + "stratified_cycle_validation: false\n",
            {
                "a": "SELECT x FROM edges UNION SELECT x FROM b WHERE NOT EXISTS (SELECT 1 FROM blocked)",
                "b": "SELECT x FROM a",
            },
        ),
        "p.yaml:7:60: stream table 'a' is part of the cycle a -> b -> a, but its query has an operator that is not "
        "monotone; of what it reads there: it is inside NOT EXISTS. With stratified_cycle_validation: true (the default) "
        "only reads inside the cycle count. See docs/analysis.md, section Cycles.",
    ),
    "a mode that is none": (
        f"{HEAD}stream_tables:\n  a: {{query: SELECT x FROM edges, refresh_mode: INCREMENTAL}}\n",
        "p.yaml:4:49: stream table 'a': 'refresh_mode' is the text 'INCREMENTAL', but must be AUTO, FULL or DIFFERENTIAL. "
        "Did you mean DIFFERENTIAL?",
    ),
    "DIFFERENTIAL where it cannot be": (
        f"{HEAD}stream_tables:\n  a: {{query: SELECT x FROM edges LIMIT 3, refresh_mode: DIFFERENTIAL}}\n",
        "p.yaml:4:40: stream table 'a': refresh_mode: DIFFERENTIAL is not possible, because LIMIT without ORDER BY takes "
        "any rows, others on every run. Take that out of the query, or set refresh_mode: AUTO or FULL.",
    ),
    "SQL that does not parse": (
        project(HEAD, {"a": "SELECT x FROM WHERE y"}),
        "p.yaml:5:26: stream table 'a': the query does not parse: the name of a table is expected before 'WHERE'. "
        "Correct the SQL there.",
    ),
    "a table that was dropped": (
        project(HEAD, {"a": "SELECT x FROM old_edges"}),
        "p.yaml:5:26: stream table 'a': 'old_edges' is neither a source nor a stream table. Did you mean 'edges'? If "
        "others write the table, declare it: sources: {old_edges: {}}.",
    ),
    "recursion without a base case": (
        project(HEAD, {"a": "WITH RECURSIVE r AS (SELECT e.x FROM edges e JOIN r ON r.x = e.x) SELECT x FROM r"}),
        "p.yaml:5:27: stream table 'a': the recursive CTE 'r' has no base case: every part of it reads 'r' itself, so it "
        "never gets a first row. Add one that does not: a SELECT, then UNION, then the part that reads 'r'.",
    ),
    "mutual recursion without a base case": (
        project(HEAD, {"a": "WITH RECURSIVE r AS (SELECT x FROM q), q AS (SELECT x FROM r) SELECT x FROM r"}),
        "p.yaml:5:27: stream table 'a': the CTEs 'r' and 'q' read each other, but none of them has a branch that reads "
        "none of them; the result would always be empty. Add a base case, such as SELECT … UNION ….",
    ),
    # Design 002 §6: what is taken apart is judged like any cycle.
    "mutual recursion that is not monotone": (
        project(
            HEAD,
            {
                "a": "WITH RECURSIVE r AS (SELECT x FROM edges UNION SELECT x FROM q), "
                "q AS (SELECT x FROM edges WHERE x NOT IN (SELECT x FROM r)) SELECT x FROM r"
            },
        ),
        "p.yaml:5:109: " + not_monotone("a__q", "a__r", "a__q -> a__r -> a__q", "it is inside NOT IN"),
    ),
    "time travel": (
        project(HEAD, {"a": "SELECT x FROM edges VERSION AS OF 3"}),
        "p.yaml:5:26: stream table 'a': VERSION AS OF and TIMESTAMP AS OF are not allowed: each tick pins the snapshots "
        "it reads. Leave it out; to see an older state, run the tick for that time.",
    ),
    "a schedule that is not one": (
        f"{HEAD}schedule: 5 minutes\nstream_tables:\n  a: {{query: SELECT x FROM edges}}\n",
        "p.yaml:3:11: 'schedule' is the text '5 minutes', but must be a duration (30s, 5m, 1h30m, 1d), a cron expression "
        "of five fields (*/5 * * * *), or one of @hourly, @daily, @weekly, @monthly, @quarterly, @yearly, or asset. Did "
        "you mean 5m?",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_told_in_one_whole_message(tmp_path, name):
    """Design 000 Part 8: Test 2: Non-monotone cycle rejected
    Design 001 §9.2: test_non_stratifiable_cycle_with_intra_not_exists_rejected
    """
    text, expected = CASES[name]
    assert messages(planned(tmp_path, {"p.yaml": text}), tmp_path) == [expected]


def test_a_suggestion_is_yaml_that_is_accepted(tmp_path):
    """Design 002 §8.2: test_mutual_recursion_detection_generates_helpful_error"""
    text = f"""
        {HEAD.rstrip().replace(chr(10), chr(10) + "        ")}
        mutual_recursion: suggest
        stream_tables:
          reach:
            query: |
              WITH RECURSIVE
                odd(x) AS (SELECT dst FROM edges WHERE src = 1 UNION SELECT e.dst FROM edges e JOIN even ON e.src = even.x),
                even(x) AS (SELECT e.dst FROM edges e JOIN odd ON e.src = odd.x)
              SELECT x FROM odd
        """
    (problem,) = planned(tmp_path, {"p.yaml": text}).problems
    assert problem.message == "stream table 'reach': the CTEs 'odd' and 'even' read each other."
    intro, _, yaml = problem.hint.partition("\n")
    assert intro == (
        "Write this instead, or set mutual_recursion: auto and let it be done for you (reach__even and reach__odd form a "
        "cycle at stratum 0; reach will be at stratum 0; `trickle decompose reach` shows who reads whom):"
    )
    result = planned(tmp_path, {"p.yaml": f"{HEAD}{yaml}\n"})
    assert messages(result, tmp_path) == []
    assert [table.name for table in result.plans[0].tables] == ["reach__even", "reach__odd", "reach"]


def test_a_suggestion_that_would_be_refused_is_refused_with_the_reason(tmp_path):
    """Design 002 §13: stratum info enriches rewrite suggestions"""
    text = HEAD + (
        "mutual_recursion: suggest\nstream_tables:\n  reach:\n    query: |\n"
        "      WITH RECURSIVE odd(x) AS (SELECT x FROM edges UNION SELECT x FROM even),\n"
        "        even(x) AS (SELECT x FROM edges EXCEPT SELECT x FROM odd)\n"
        "      SELECT x FROM odd\n"
    )
    (told,) = messages(planned(tmp_path, {"p.yaml": text}), tmp_path)
    first, reason = told.split("\n")
    assert first == (
        "p.yaml:5:3: stream table 'reach': the CTEs 'odd' and 'even' read each other. "
        "Written as stream tables they would be refused, too:"
    )
    assert reason.startswith(
        "p.yaml:8:41: stream table 'reach__even' reads 'reach__odd' inside the cycle reach__even -> reach__odd -> "
        "reach__even in a place that is not monotone: it is on the right side of EXCEPT."
    )


WARNINGS = {
    "a cycle that is tried although it is not monotone": (
        project(
            HEAD + "allow_circular: unsafe\n",
            {"a": "SELECT x FROM edges EXCEPT SELECT x FROM b", "b": "SELECT x FROM a"},
        ),
        [
            "stream table 'a' reads 'b' inside the cycle a -> b -> a in a place that is not monotone: it is on the right "
            "side of EXCEPT. A row more in 'b' may take rows out of 'a', so the cycle may never settle. It is tried all "
            "the same."
        ],
    ),
    "a cycle that keeps duplicates": (
        project(ALLOWED, {"a": "SELECT x FROM edges UNION ALL SELECT x FROM b", "b": "SELECT x FROM a"}),
        [
            "nothing removes duplicates on the way round the cycle of 'a' and 'b': if the data is cyclic too, it never "
            "settles. Use UNION or DISTINCT."
        ],
    ),
    "a cycle that no row gets into": (
        project(ALLOWED, {"a": "SELECT DISTINCT b.x FROM b JOIN edges USING (x)", "b": "SELECT x FROM a"}),
        [
            "no row ever gets into the cycle of 'a' and 'b': every part of their queries needs a row of the cycle first. "
            "Add a part that reads another table, such as SELECT … UNION …."
        ],
    ),
    "nothing about a sound cycle": (
        project(ALLOWED, {"a": "SELECT x FROM edges UNION SELECT x FROM b", "b": "SELECT x FROM a"}),
        [],
    ),
    "nothing about NOT EXISTS on a table outside of the cycle": (
        project(
            ALLOWED,
            {
                "a": "SELECT x FROM edges UNION SELECT x FROM b WHERE NOT EXISTS (SELECT 1 FROM blocked k WHERE k.x = b.x)",
                "b": "SELECT x FROM a",
            },
        ),
        [],
    ),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_doubtful_cycles_are_planned_with_a_warning(tmp_path, name):
    text, expected = WARNINGS[name]
    result = planned(tmp_path, {"p.yaml": text})
    assert messages(result, tmp_path) == []
    assert list(result.plans[0].warnings) == expected


def test_a_table_downstream_of_a_cycle_may_aggregate_and_is_not_part_of_it(tmp_path):
    text = project(
        ALLOWED,
        {
            "a": "SELECT x FROM edges UNION SELECT x FROM b",
            "b": "SELECT x FROM a",
            "total": "SELECT COUNT(*) AS n FROM b",
        },
    )
    result = planned(tmp_path, {"p.yaml": text})
    assert messages(result, tmp_path) == []
    tables = {table.name: table for table in result.plans[0].tables}
    assert (tables["a"].scc_id, tables["b"].scc_id, tables["total"].scc_id) == (1, 1, None)
    assert (tables["a"].stratum, tables["total"].stratum) == (0, 1)


def test_a_diamond_over_two_pipelines_is_told_in_both_and_the_diamond_inside_one_stays_whole(tmp_path):
    result = planned(
        tmp_path,
        {
            "p.yaml": project(
                HEAD,
                {"a": "SELECT x FROM edges", "b": "SELECT x FROM edges", "c": "SELECT a.x FROM a JOIN b USING (x)"},
            ),
            "q.yaml": "pipeline: q\nstream_tables:\n  d: {query: SELECT a.x FROM a JOIN c USING (x)}\n",
        },
    )
    assert messages(result, tmp_path) == []
    warning = (
        "'default.a', 'default.b', 'default.c' and 'default.d' form a diamond over several pipelines, each of which "
        "publishes its tables by itself: for a while a reader may see them at different versions. Put them into one "
        "pipeline to publish them together."
    )
    first, second = result.plans
    assert (first.warnings, second.warnings) == ((warning,), (warning,))
    assert [(step.unit, step.kind.value) for step in first.refreshes] == [("group_c", "group")]
    assert [(step.unit, step.kind.value) for step in second.refreshes] == [("d", "table")]
    (group,) = first.groups
    assert (group.atomic, [part.atomic for part in group.parts]) == (False, [True])


def test_a_diamond_that_leaves_a_pipeline_and_returns_is_planned(tmp_path):
    result = planned(
        tmp_path,
        {
            "a.yaml": project(
                HEAD.replace("pipeline: p", "pipeline: a"),
                {
                    "x": "SELECT a FROM edges",
                    "y": "SELECT a FROM edges",
                    "z": "SELECT x.a FROM x JOIN y USING (a) JOIN w USING (a)",
                },
            ),
            "b.yaml": "pipeline: b\nstream_tables:\n  w: {query: SELECT a FROM x}\n",
        },
    )
    assert messages(result, tmp_path) == []
    assert [[step.unit for step in plan.refreshes] for plan in result.plans] == [["group_z"], ["w"]]
