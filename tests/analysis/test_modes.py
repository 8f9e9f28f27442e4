"""How a query can be refreshed, and what stands in the way."""

from __future__ import annotations

import pytest

from airflow_trickle.algebra import functions
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.modes import (
    FROM_CHANGES,
    ModeChoice,
    Obstacle,
    choose_mode,
    obstacle_of,
    obstacles_of,
    obstacles_of_query,
)
from tests.analysis.obstacles import at, obstacles, whys

CHANCE = "answers differently on every run"
CLOCK = "depends on when it runs"
WHO = "depends on who runs it and where"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x, y + 1 AS z FROM a WHERE x > 1",
        "SELECT a.x FROM a LEFT JOIN b ON a.x = b.x WHERE a.x NOT IN (SELECT x FROM c)",
        "SELECT x, count(*) FROM a GROUP BY ROLLUP (x) HAVING count(*) > 1",
        "SELECT DISTINCT x, row_number() OVER (ORDER BY y) FROM a UNION SELECT x, 1 FROM b EXCEPT SELECT 1, 2",
        "SELECT x FROM a ORDER BY x LIMIT 3 OFFSET 1",
        "SELECT x FROM a ORDER BY x",
        "SELECT x FROM a LIMIT ALL",
        "SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b LIMIT 1)",
        "SELECT * FROM a LATERAL VIEW explode(xs) t AS v",
        "SELECT * FROM a PIVOT (sum(y) FOR x IN (1, 2))",
        "WITH RECURSIVE r AS (SELECT s FROM e UNION ALL SELECT f.d FROM r JOIN f ON r.s = f.s) SELECT * FROM r",
        "SELECT date_add(d, 1), to_date(s), unix_timestamp(s), hash(x), xxhash64(x), md5(s) FROM a",
        "SELECT `rand`, `uuid`, a.now, 'current_date()' FROM a",
        "SELECT /*+ REPARTITION(3) */ x FROM a",
        "SELECT 1",
    ],
)
def test_most_of_sql_can_be_refreshed_from_changes(text):
    assert obstacles(text) == ()


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("SELECT ^rand() AS r FROM a", "rand", CHANCE),
        ("SELECT x, ^rand(3) FROM a", "rand", CHANCE),
        ("SELECT x, ^randn() FROM a", "randn", CHANCE),
        ("SELECT ^uuid() FROM a", "uuid", CHANCE),
        ("SELECT ^shuffle(xs) FROM a", "shuffle", CHANCE),
        ("SELECT ^monotonically_increasing_id(), x FROM a", "monotonically_increasing_id", CHANCE),
        ("SELECT ^input_file_name() FROM a", "input_file_name", CHANCE),
        ("SELECT ^spark_partition_id() FROM a", "spark_partition_id", CHANCE),
        ("SELECT ^now() FROM a", "now", CLOCK),
        ("SELECT ^current_timestamp() FROM a", "current_timestamp", CLOCK),
        ("SELECT ^current_timestamp FROM a", "current_timestamp", CLOCK),
        ("SELECT ^CURRENT_DATE FROM a", "current_date", CLOCK),
        ("SELECT ^current_date() FROM a", "current_date", CLOCK),
        ("SELECT ^localtimestamp FROM a", "localtimestamp", CLOCK),
        ("SELECT ^localtimestamp() FROM a", "localtimestamp", CLOCK),
        ("SELECT ^current_user() FROM a", "current_user", WHO),
        ("SELECT ^current_timezone() FROM a", "current_timezone", WHO),
        # Wherever it stands.
        ("SELECT x FROM a WHERE y > ^rand()", "rand", CHANCE),
        ("SELECT x FROM a WHERE d = ^current_date - INTERVAL 1 DAY", "current_date", CLOCK),
        ("SELECT * FROM a JOIN b ON a.x = b.x AND ^rand() > 0.5", "rand", CHANCE),
        ("SELECT x FROM a GROUP BY x HAVING count(*) > ^rand() * 3", "rand", CHANCE),
        ("SELECT x FROM a GROUP BY ^uuid(), x", "uuid", CHANCE),
        ("SELECT sum(x) OVER (ORDER BY ^rand()) FROM a", "rand", CHANCE),
        ("SELECT sum(x) OVER w FROM a WINDOW w AS (ORDER BY ^rand())", "rand", CHANCE),
        ("SELECT x FROM a QUALIFY row_number() OVER (ORDER BY ^rand()) = 1", "rand", CHANCE),
        ("SELECT x FROM a ORDER BY ^rand() LIMIT 3", "rand", CHANCE),
        ("SELECT x FROM a UNION SELECT x FROM b ORDER BY ^rand() LIMIT 3", "rand", CHANCE),
        ("SELECT * FROM a LATERAL VIEW explode(^shuffle(xs)) t AS v", "shuffle", CHANCE),
        ("WITH c AS (SELECT ^uuid() AS id FROM a) SELECT * FROM c", "uuid", CHANCE),
        ("WITH c AS (SELECT ^uuid() AS id FROM a) SELECT * FROM b", "uuid", CHANCE),
        ("SELECT x FROM a WHERE x IN (SELECT x + ^rand() FROM b)", "rand", CHANCE),
        ("SELECT (SELECT max(x) FROM b WHERE d < ^now()) FROM a", "now", CLOCK),
        ("SELECT * FROM VALUES (^rand()) AS v(x)", "rand", CHANCE),
        ("SELECT * FROM (SELECT ^rand() AS x FROM a) PIVOT (sum(x) FOR y IN (1))", "rand", CHANCE),
        ("SELECT CASE WHEN x > 1 THEN coalesce(y, ^rand()) END FROM a", "rand", CHANCE),
        ("SELECT my_struct.f, ^ RAND ( ) FROM a".replace("^ ", "^"), "rand", CHANCE),
    ],
)
def test_a_function_that_is_not_deterministic_is_found_at_its_place(text, name, why):
    text, place = at(text)
    assert obstacles(text) == (Obstacle(place, f"{name}() {why}"),)


@pytest.mark.parametrize("name", sorted(functions.NON_DETERMINISTIC))
def test_every_function_of_spark_that_is_not_deterministic_is_found(name):
    calls = [f"{name}({arguments})" for arguments in ("", "x", "x, 1", "x, y, 1")]
    read = [call for call in calls if not parse_query(f"SELECT {call} FROM a").problems]
    assert read
    for call in read:
        assert [one.offset for one in obstacles(f"SELECT x, {call} FROM a")] == [10]


def test_an_alias_of_a_function_is_told_by_its_usual_name():
    assert whys("SELECT curdate(), random() FROM a") == [f"current_date() {CLOCK}", f"rand() {CHANCE}"]


def test_the_clock_behind_unix_timestamp_without_arguments_is_found():
    assert whys("SELECT unix_timestamp() FROM a") == [f"current_timestamp() {CLOCK}"]
    assert obstacles("SELECT unix_timestamp(s) FROM a") == ()


@pytest.mark.parametrize("literal", ["TIMESTAMP 'now'", "DATE 'today'", "DATE'yesterday'", "CAST('tomorrow' AS DATE)"])
def test_words_that_stand_for_the_time_of_the_run_are_found(literal):
    assert len(obstacles(f"SELECT x FROM a WHERE d > {literal}")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM a GROUP BY k, ^session_window(ts, '5 minutes')",
        "SELECT ^session_window(ts, '5 minutes') AS w, count(*) FROM a GROUP BY ALL",
        "SELECT ^session_window(ts, '5 minutes') AS w, count(*) FROM a GROUP BY w",
    ],
)
def test_groups_that_merge_are_an_obstacle(text):
    text, place = at(text)
    assert obstacles(text) == (Obstacle(place, "session_window() makes groups that a row more may merge into one"),)


def test_windows_of_fixed_length_are_keys_like_others():
    assert obstacles("SELECT window(ts, '5 minutes'), count(*) FROM a GROUP BY window(ts, '5 minutes')") == ()


def test_several_are_told_in_the_order_of_the_text():
    text = "SELECT uuid() AS u, x FROM a JOIN (SELECT rand() AS r FROM b LIMIT 3) ON true WHERE d < now()"
    found = obstacles(text)
    assert [one.why.partition(" ")[0] for one in found] == ["uuid()", "rand()", "LIMIT", "now()"]
    assert [one.offset for one in found] == sorted(one.offset for one in found)


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("SELECT x FROM a LIMIT 3", "LIMIT"),
        ("SELECT x FROM a OFFSET 3", "OFFSET"),
        ("SELECT x FROM a LIMIT ALL OFFSET 3", "OFFSET"),
        ("SELECT x FROM a SORT BY x LIMIT 3", "LIMIT"),
        ("SELECT x FROM a UNION ALL SELECT x FROM b LIMIT 3", "LIMIT"),
        ("SELECT x FROM a JOIN (SELECT x FROM b LIMIT 3) USING (x)", "LIMIT"),
        ("WITH c AS (SELECT x FROM b LIMIT 3) SELECT * FROM c JOIN c AS d USING (x)", "LIMIT"),
        ("SELECT x FROM a WHERE x IN (SELECT x FROM b LIMIT 3)", "LIMIT"),
        ("(SELECT x FROM a) LIMIT 3", "LIMIT"),
    ],
)
def test_a_limit_without_order_is_an_obstacle(text, clause):
    assert whys(text) == [f"{clause} without ORDER BY takes any rows, others on every run"]


def test_the_order_of_a_subquery_is_no_order_of_the_query_around_it():
    assert len(obstacles("SELECT x FROM (SELECT x FROM a ORDER BY x) LIMIT 3")) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "SELECT my_function(x) FROM a",
            "my_function() is not one of Spark's own functions: it may aggregate, or answer differently",
        ),
        (
            "SELECT x FROM a WHERE db.my_function(x)",
            "my_function() is not one of Spark's own functions: it may aggregate, or answer differently",
        ),
        (
            "SELECT x FROM a UNION SELECT x FROM b ORDER BY my_function(x) LIMIT 1",
            "my_function() is not one of Spark's own functions",
        ),
        ("SELECT * FROM my_function(3)", "my_function() in FROM is not one of Spark's own functions"),
        ("SELECT TRANSFORM(x) USING 'cat' AS (y) FROM a", "TRANSFORM runs a script, of which nothing is known"),
        (
            "SELECT explode(xs), row_number() OVER (ORDER BY y) FROM a",
            "a function that makes rows stands beside a window function, which Spark computes over the rows made",
        ),
        ("SELECT x FROM a |> WHERE x > 1", "the pipe syntax |> is not understood"),
        (
            "SELECT * FROM a LEFT JOIN b ON EXISTS (SELECT 1 FROM c)",
            "a subquery in the ON of a left join is not understood",
        ),
    ],
)
def test_what_is_not_understood_is_an_obstacle(text, why):
    assert whys(text) == [why]


def test_an_unknown_function_of_lateral_view_is_an_obstacle():
    assert "my_function() of LATERAL VIEW is not understood" in whys(
        "SELECT * FROM a LATERAL VIEW my_function(xs) t AS v"
    )


def test_a_recursion_that_subtracts_itself_is_an_obstacle():
    text = "WITH RECURSIVE r AS (SELECT s FROM e UNION ALL (SELECT s FROM f EXCEPT SELECT s FROM r)) SELECT * FROM r"
    why = "the recursive CTE 'r' reads itself in a place that is not monotone: it is on the right side of EXCEPT"
    assert obstacles(text) == (Obstacle(text.index("r AS"), why),)


def test_a_recursion_that_subtracts_others_is_none():
    step = "SELECT r.s FROM r LEFT ANTI JOIN f ON r.s = f.s"
    assert obstacles(f"WITH RECURSIVE r AS (SELECT s FROM e UNION ALL {step}) SELECT * FROM r") == ()


def test_a_cte_that_is_read_twice_is_told_once():
    assert len(obstacles("WITH c AS (SELECT my_function(x) AS x FROM a) SELECT * FROM c JOIN c AS d USING (x)")) == 1


def test_what_only_an_unread_cte_does_is_no_obstacle_of_the_tree():
    assert obstacles("WITH c AS (SELECT x FROM a LIMIT 3) SELECT * FROM b") == ()


def test_a_query_without_a_tree_has_no_obstacles():
    assert obstacles_of(None) == ()


def test_one_operator_is_asked_alone():
    assert obstacle_of(parse_query("SELECT x FROM a LIMIT 3").tree) == (
        "LIMIT without ORDER BY takes any rows, others on every run"
    )
    assert obstacle_of(parse_query("SELECT x FROM a").tree) is None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM a LIMIT 100",
        "SELECT count(*) AS n FROM a HAVING count(*) > 1 LIMIT 1",
        "SELECT DISTINCT sum(x) AS s FROM a LIMIT 1",
        "SELECT p.n, q.m FROM (SELECT count(*) AS n FROM a) AS p, (SELECT max(x) AS m FROM b) AS q LIMIT 5",
        "SELECT p.n FROM (SELECT count(*) AS n FROM a LIMIT 3) AS p",
        "WITH c AS (SELECT max(x) AS x FROM a LIMIT 1) SELECT b.x FROM b JOIN c ON b.x = c.x",
    ],
)
def test_a_limit_of_one_row_takes_nothing_away(query: str) -> None:
    assert obstacles_of_query(parse_query(query)) == ()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM a LIMIT 0",
        "SELECT count(*) AS n FROM a LIMIT 1 OFFSET 1",
        "SELECT count(*) AS n FROM a GROUP BY x LIMIT 1",
        "SELECT count(*) AS n FROM a GROUP BY ROLLUP (x) LIMIT 1",
        "SELECT count(*) OVER () AS n FROM a LIMIT 1",
        "SELECT explode(collect_list(x)) AS x FROM a LIMIT 1",
        "SELECT x LIKE ANY ('a%', 'b%') AS b FROM a LIMIT 1",
        "SELECT p.n FROM (SELECT count(*) AS n FROM a) AS p LEFT JOIN b ON b.x = p.n LIMIT 1",
        "SELECT p.n FROM (SELECT count(*) AS n FROM a) AS p, b LIMIT 1",
        "SELECT p.n FROM (SELECT count(*) AS n FROM a) AS p LATERAL VIEW explode(array(1, 2)) AS e LIMIT 1",
        "(SELECT count(*) AS n FROM a UNION ALL SELECT 1) LIMIT 1",
        "SELECT x.e FROM (SELECT explode(array(min(x), max(x))) AS e FROM a LIMIT 1) AS x",
        "SELECT x.b FROM (SELECT x LIKE ANY ('a%') AS b FROM a LIMIT 1) AS x",
        "SELECT p.n FROM (SELECT count(*) AS n FROM a LIMIT 0) AS p",
    ],
)
def test_a_limit_of_several_rows_is_an_obstacle(query: str) -> None:
    assert [one.why.partition(" ")[0] for one in obstacles_of_query(parse_query(query))] != []


RAND = Obstacle(7, f"rand() {CHANCE}")


@pytest.mark.parametrize(
    ("requested", "found", "mode", "reason"),
    [
        ("FULL", [], "FULL", "refresh_mode: FULL"),
        ("FULL", [RAND], "FULL", "refresh_mode: FULL"),
        ("AUTO", [], "DIFFERENTIAL", f"AUTO: {FROM_CHANGES}"),
        ("DIFFERENTIAL", [], "DIFFERENTIAL", f"refresh_mode: DIFFERENTIAL: {FROM_CHANGES}"),
        ("AUTO", [RAND], "FULL", f"AUTO: full because rand() {CHANCE} (line 1 of the query)"),
        (
            "DIFFERENTIAL",
            [RAND],
            "FULL",
            f"refresh_mode: DIFFERENTIAL: full because rand() {CHANCE} (line 1 of the query)",
        ),
        (
            "AUTO",
            [RAND, Obstacle(9, "x"), Obstacle(9, "y")],
            "FULL",
            f"AUTO: full because rand() {CHANCE} (line 1 of the query, and 2 more)",
        ),
    ],
)
def test_the_mode_is_the_one_asked_for_unless_the_query_forbids_it(requested, found, mode, reason):
    assert choose_mode(requested, found, "SELECT rand() FROM a") == ModeChoice(mode, reason)


def test_the_line_of_the_first_obstacle_is_told():
    text = "SELECT x,\n  y\nFROM a\nWHERE y > rand()\n  AND x < uuid()"
    assert choose_mode("AUTO", obstacles(text), text).reason == (
        f"AUTO: full because rand() {CHANCE} (line 4 of the query, and 1 more)"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT k FROM (SELECT k FROM a ORDER BY v LIMIT 3) AS x", "LIMIT inside a query"),
        (
            "WITH x AS (SELECT k FROM a ORDER BY v LIMIT 3) SELECT k FROM x",
            "LIMIT inside a query takes any of the rows",
        ),
        (
            "SELECT k FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) AS rn FROM a) AS x WHERE rn = 1",
            "row_number() over rows that tie in its ORDER BY inside a query may come out otherwise each time",
        ),
    ],
)
def test_what_may_come_out_otherwise_inside_a_query_is_seen_in_its_text(text, why):
    (found,) = obstacles_of_query(parse_query(text))
    assert found.why.startswith(why)
    assert choose_mode("AUTO", [found], text).mode == "FULL"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k FROM a ORDER BY v LIMIT 3",
        "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k LIMIT 1)",
        "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v) AS rn FROM a",
        "SELECT k, sum(count(*)) OVER () AS total FROM a GROUP BY k",
    ],
)
def test_the_outermost_select_may_number_rows_and_end_in_limit(text):
    assert obstacles_of_query(parse_query(text)) == ()


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT a, to_json(struct(*)) AS j FROM t", "a star inside a function"),
        ("SELECT x.a FROM (SELECT hash(t.*) AS a FROM t) AS x", "a star inside a function"),
        ("SELECT t.b FROM t RIGHT JOIN u USING (a)", "USING of a right join"),
        ("WITH q AS (SELECT t.b FROM t FULL JOIN u USING (a)) SELECT b FROM q", "USING of a full join"),
        ("SELECT *, count(*) AS n FROM t GROUP BY ALL", "GROUP BY ALL with a star"),
        ("SELECT t.*, a, count(*) AS n FROM t GROUP BY 2", "GROUP BY a position behind a star"),
        ("SELECT t.b FROM t RIGHT JOIN u ON user = u.a", "a name in ON of a join may be that of a function"),
        (
            "SELECT DISTINCT a, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM t",
            "row_number() over rows that tie in its ORDER BY may come out otherwise each time, and the result does not",
        ),
        ("SELECT b, lag(b) OVER (PARTITION BY a ORDER BY b) AS n FROM t", "the result does not show its keys"),
        ("SELECT *, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM t", "the result does not show its keys"),
        ("SELECT stddev(b) AS s FROM t GROUP BY a", "the result does not show its keys"),
    ],
)
def test_what_the_text_tells_is_said_before_any_tick(query: str, why: str) -> None:
    assert [why in obstacle.why for obstacle in obstacles_of_query(parse_query(query))] == [True]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, max(struct(*)) AS m, count(*) AS n FROM t GROUP BY a",
        "SELECT t.b FROM t LEFT JOIN u USING (a)",
        "SELECT a, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM t",
        "SELECT *, row_number() OVER (ORDER BY b) AS n FROM t",
        "SELECT *, rank() OVER (PARTITION BY a ORDER BY b) AS n FROM t",
        "SELECT a + 1 AS k, stddev(b) AS s FROM t GROUP BY k",
        "SELECT a, stddev(b) AS s FROM t GROUP BY 1",
        "SELECT a, stddev(b) AS s FROM t GROUP BY ALL",
        "SELECT b, lag(b) OVER (PARTITION BY a ORDER BY b) AS n FROM t ORDER BY b LIMIT 3",
    ],
)
def test_what_can_be_followed_is_not_refused(query: str) -> None:
    assert obstacles_of_query(parse_query(query)) == ()
