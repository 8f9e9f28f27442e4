"""The lists of functions are those of the Spark we run on, and the survey reads calls as Spark does."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from airflow_trickle.algebra import functions, nodes
from airflow_trickle.algebra.references import parse_query
from tests.algebra.spark_plans import shape_of_plan, shape_of_tree
from tools.sql_report import ask_once, every_node

#: In Spark's list, but no functions of a query: syntax, and a log that only Python workers fill.
ASIDE = {"case", "python_worker_logs"}
#: Written like functions, but part of Spark's grammar.
SYNTAX = {
    "timestampadd": "timestampadd(DAY, 1, DATE '2026-01-01')",
    "timestampdiff": "timestampdiff(DAY, DATE '2026-01-01', DATE '2026-01-02')",
    "try_cast": "try_cast('1' AS INT)",
}
ROWS = "(SELECT 1 AS x, 2.5D AS y, true AS f, 'a' AS s, X'00' AS b, array(1.0F) AS v, 3 AS z) t"
#: Arguments that fit, and the aggregates that they fit; for all others it is `x`.
ARGUMENTS = {
    "f": "any bool_and bool_or count_if every some",
    "b": "bitmap_and_agg bitmap_or_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float "
    "theta_intersection_agg theta_union_agg",
    "x, x": "corr covar_pop covar_samp max_by min_by regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope "
    "regr_sxx regr_sxy regr_syy tuple_sketch_agg_double tuple_sketch_agg_integer",
    "x, 0.5": "approx_percentile percentile percentile_approx",
    "x, 5": "histogram_numeric",
    "x, 0.5D, 0.5D, 1": "count_min_sketch",
    "y": "kll_sketch_agg_double",
    "float(y)": "kll_sketch_agg_float",
    "s": "tuple_intersection_agg_double tuple_intersection_agg_integer tuple_union_agg_double tuple_union_agg_integer",
    "v": "vector_avg vector_sum",
    "parse_json(s)": "schema_of_variant_agg",
    "0.5) WITHIN GROUP (ORDER BY x": "percentile_cont percentile_disc",
}
FITTING = {name: arguments for arguments, names in ARGUMENTS.items() for name in names.split()}
#: Only inside GROUP BY with sets, or only over what another aggregate made.
NOT_ALONE = {"approx_top_k_combine", "grouping", "grouping_id"}
DOUBTFUL = {
    "aes_encrypt": "'a', 'b'",
    "java_method": "'a', 'b'",
    "randstr": "3",
    "reflect": "'a', 'b'",
    "shuffle": "array(1, 2)",
    "try_reflect": "'a', 'b'",
    "uniform": "1, 2",
}
#: sqlglot has one name for two that mean the same.
SAME = {"curdate": "current_date", "random": "rand"}
SPECIAL = functions.AGGREGATES | functions.WINDOW_ONLY | functions.GENERATORS
SCALARS = sorted(functions.KNOWN - SPECIAL - set(functions.NON_DETERMINISTIC))
SAMPLE = SCALARS[::10]
KINDS = {("aggregate",), ("window",), ("generate",)}


def kinds(text: str) -> set[type]:
    parsed = parse_query(text)
    assert parsed.problems == (), text
    assert parsed.tree is not None
    return {type(node) for node in every_node(parsed.tree)}


@pytest.fixture(scope="module")
def classes(spark) -> dict[str, str]:
    """Every function that Spark knows by a name -> its class."""
    found = {one.name: one.className or "" for one in spark.catalog.listFunctions()}
    return {name: kind for name, kind in found.items() if re.fullmatch(r"\w+", name)}


# --- without Spark -------------------------------------------------------------------------------


def test_every_function_is_of_one_class():
    lists = [functions.AGGREGATES, functions.WINDOW_ONLY, functions.GENERATORS, set(functions.NON_DETERMINISTIC)]
    assert sum(len(names) for names in lists) + len(SCALARS) == len(functions.KNOWN)
    assert functions.ORDER_DEPENDENT <= functions.AGGREGATES
    assert functions.BY_POSITION <= functions.WINDOW_ONLY
    assert set(functions.MERGING) <= set(SCALARS)


@pytest.mark.parametrize("name", sorted(functions.AGGREGATES))
def test_an_aggregate_makes_an_aggregate(name):
    call = f"{name}({FITTING.get(name, 'x')})"
    assert nodes.Aggregate in kinds(f"SELECT {call} FROM t")
    if name not in NOT_ALONE:
        assert nodes.Window in kinds(f"SELECT {call} OVER (PARTITION BY z) FROM t")
        assert nodes.Aggregate not in kinds(f"SELECT {call} OVER (PARTITION BY z) FROM t")


@pytest.mark.parametrize("name", sorted(functions.WINDOW_ONLY))
def test_a_window_function_makes_a_window(name):
    arguments = {"lag": "x", "lead": "x", "nth_value": "x, 2", "ntile": "4"}.get(name, "")
    assert kinds(f"SELECT {name}({arguments}) OVER (ORDER BY x) FROM t") == {nodes.Project, nodes.Window, nodes.Scan}


@pytest.mark.parametrize("name", sorted(functions.GENERATORS))
def test_a_generator_makes_rows_in_the_columns_and_in_a_lateral_view(name):
    arguments = {"stack": "2, x, y", "json_tuple": "s, 'a'"}.get(name, "x")
    assert kinds(f"SELECT {name}({arguments}) FROM t") == {nodes.Project, nodes.Generate, nodes.Scan}
    assert nodes.Generate in kinds(f"SELECT * FROM t LATERAL VIEW {name}({arguments}) e AS a")
    assert nodes.TableFunction in kinds(f"SELECT * FROM t, LATERAL {name}({arguments}) AS e")


def test_a_scalar_function_makes_nothing_but_a_column():
    for name in SCALARS:
        assert kinds(scalar_call(name)) == {nodes.Project, nodes.Scan}, name


def scalar_call(name: str) -> str:
    """A query with a call that parses; what fits the types is Spark's business."""
    if name == "in":
        return "SELECT x IN (y) FROM t"  # in(x) parses as nonsense, and is opaque
    texts = [f"SELECT {name}({', '.join(['x'] * count)}) FROM t" for count in range(5)]
    texts += [f"SELECT {name}(x AS INT) FROM t", f"SELECT {name}(YEAR FROM x) FROM t", f"SELECT x {name} y FROM t"]
    texts += [f"SELECT {name} x FROM t", f"SELECT x {name} (y) FROM t", f"SELECT x {name} 'y' FROM t"]
    texts += [f"SELECT x {name} 1 AND 2 FROM t", f"SELECT CASE {name} x THEN y END FROM t"]
    return next((text for text in texts if not parse_query(text).problems), texts[1])


@pytest.mark.parametrize("name", sorted(functions.NON_DETERMINISTIC))
def test_a_function_that_answers_differently_is_doubted(name):
    parsed = parse_query(f"SELECT x FROM t WHERE {name}({DOUBTFUL.get(name, '')}) IS NOT NULL")
    assert parsed.problems == ()
    assert [(doubt.name, doubt.why) for doubt in parsed.doubts] == [
        (SAME.get(name, name), functions.NON_DETERMINISTIC[name])
    ]


@pytest.mark.parametrize(
    "expression", ["d > DATE 'today'", "ts < TIMESTAMP ' Now '", "d = 'tomorrow'", "date_add('yesterday', x) = d"]
)
def test_a_word_for_the_current_date_is_doubted(expression):
    assert [doubt.name for doubt in parse_query(f"SELECT x FROM t WHERE {expression}").doubts] == ["current_timestamp"]


@pytest.mark.parametrize("expression", ["'today' AS label", "DATE '2026-01-01'", "s LIKE 'now%'", "'nowhere' = s"])
def test_other_strings_are_not_doubted(expression):
    assert parse_query(f"SELECT {expression} FROM t").doubts == ()


# --- with Spark ----------------------------------------------------------------------------------


def test_every_function_of_spark_is_known(classes):
    assert set(classes) - functions.TABLE_FUNCTIONS - ASIDE <= functions.KNOWN
    assert set(classes) >= functions.TABLE_FUNCTIONS


def test_known_functions_that_spark_does_not_list_are_syntax_that_it_takes(spark, classes):
    for name in sorted(functions.KNOWN - set(classes)):
        assert refusal(spark, f"SELECT {SYNTAX[name]}") is None


def test_what_spark_implements_as_an_aggregate_is_one(classes):
    found = {name for name, kind in classes.items() if ".aggregate." in kind}
    assert found
    assert found <= functions.AGGREGATES
    generators = {name for name, kind in classes.items() if re.search(r"Explode|Inline|\.Stack|JsonTuple", kind)}
    assert generators == functions.GENERATORS


def test_spark_takes_every_aggregate_for_one(spark):
    for name in sorted(functions.AGGREGATES - NOT_ALONE):
        text = f"SELECT {name}({FITTING.get(name, 'x')}) AS a, z FROM {ROWS}"
        assert refusal(spark, text) == "MISSING_GROUP_BY", text


def refusal(spark, text: str) -> str | None:
    from pyspark.errors import PySparkException

    try:
        spark.sql(text)
    except PySparkException as error:
        return error.getCondition()
    return None


def test_the_survey_agrees_with_sparks_own_examples(spark):
    """The documentation of each function, which Spark carries, has queries; the first that it takes is compared."""
    compared = set()
    for name in [*sorted(SPECIAL), *SAMPLE]:
        for text in examples(spark, name):
            parsed = parse_query(text)
            plan = ask_once(spark, text).plan
            if plan and parsed.tree is not None:
                assert set(shape_of_tree(parsed.tree)) & KINDS == set(shape_of_plan(plan)) & KINDS, text
                compared.add(name)
                break
    # Examples of types or files that are not there, and functions without any.
    assert len(compared) >= 0.9 * (len(SPECIAL) + len(SAMPLE))
    assert SPECIAL - compared <= {"measure", "bitmap_and_agg", "bitmap_or_agg"}


def examples(spark, name: str) -> Iterator[str]:
    usage = "\n".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect())
    return (found.rstrip("; ") for found in re.findall(r"^\s*> (SELECT .*)$", usage, re.MULTILINE))


def test_what_spark_takes_without_parentheses_is_doubted_too(spark):
    taken = set()
    for name in sorted(functions.NON_DETERMINISTIC):
        if refusal(spark, f"SELECT {name} FROM range(1)") is None and name != "user":
            taken.add(name)
            assert [doubt.name for doubt in parse_query(f"SELECT {name} FROM t").doubts] == [name]
    assert taken >= {"current_date", "current_timestamp", "current_user"}


def test_spark_takes_no_other_function_for_random(spark):
    """Spark refuses in a join condition what it knows to answer differently each time."""
    asked = set()
    for name in ["rand", "uuid", "shuffle", *SAMPLE]:
        text = next((text for text in examples(spark, name) if not re.search(r"\b(FROM|AS)\b", text)), None)
        if text is not None:
            condition = f"({text.removeprefix('SELECT ')}) IS NOT NULL"
            refused = refusal(spark, f"SELECT 1 FROM range(1) a JOIN range(1) b ON {condition}")
            random = refused == "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
            assert random == (name in functions.NON_DETERMINISTIC), (text, refused)
            asked.add(name)
    assert asked >= {"rand", "uuid", "shuffle"}
