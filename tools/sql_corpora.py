"""The queries that the parser is measured by: TPC-H and TPC-DS as DuckDB carries them, and our own in Spark's SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parent.parent
OURS = ROOT / "tests" / "algebra" / "spark_sql"
_TITLE = re.compile(r"^-- title: ", re.MULTILINE)


@dataclass(frozen=True)
class Query:
    """A query of a corpus; of our own, the name is that of its file and its title."""

    name: str
    text: str


@dataclass(frozen=True)
class Corpus:
    """Queries, and the tables that they read: table -> column -> type in Spark's words."""

    title: str
    about: str
    queries: tuple[Query, ...]
    tables: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Adaptation:
    """The smallest change to a text that Spark refuses and DuckDB takes, and why it changes nothing else."""

    what: str
    why: str
    pattern: re.Pattern[str]
    replacement: str


ADAPTATIONS = (
    Adaptation(
        'AS "name" becomes AS `name`',
        "between double quotes Spark reads a string, where the standard reads a name",
        re.compile(r'\bAS "([^"]+)"'),
        r"AS `\1`",
    ),
)

#: The tables of our own corpus.
_TABLES: Mapping[str, Mapping[str, str]] = {
    "t": {"id": "INT", "grp": "STRING", "x": "INT", "y": "DOUBLE", "d": "DATE", "ts": "TIMESTAMP", "flag": "BOOLEAN"},
    "u": {"id": "INT", "name": "STRING", "amount": "DECIMAL(10, 2)"},
    "edges": {"src": "INT", "dst": "INT"},
    "sales": {"year": "INT", "quarter": "STRING", "region": "STRING", "amount": "DECIMAL(10, 2)", "units": "INT"},
    "wide": {"id": "INT", "q1": "INT", "q2": "INT", "q3": "INT", "q4": "INT"},
    "nested": {
        "id": "INT",
        "tags": "ARRAY<STRING>",
        "attrs": "MAP<STRING, INT>",
        "person": "STRUCT<name: STRING, address: STRUCT<city: STRING, zip: STRING>>",
        "items": "ARRAY<STRUCT<sku: STRING, qty: INT>>",
        "js": "STRING",
        "v": "VARIANT",
    },
    "größen": {"größe": "INT", "naïve column": "INT"},
}

_PIPES = "pipes are kept opaque on purpose: the parser turns them into CTEs, not always into those that Spark means"
_SETTLE = "it reads other rows on every run"
_TRAVEL = "each tick pins the snapshots it reads"
_PLACE = "a subquery in a place where the tree has none; the whole query is recomputed"
#: Queries of our own corpus that give no complete tree -> why.
NO_TREE: Mapping[str, str] = {
    "columns: unsigned shift": "the parser does not know >>>; shiftrightunsigned(x, 1) is the same",
    "ctes: recursive cte with a deeper limit": "the parser does not know MAX RECURSION LEVEL",
    "grouping: group by the alias of a subquery": "a column may have that name too, and then it is the key",
    "joins: asof join": "Spark has no such join: ASOF is an alias there",
    "joins: table with options": "the parser does not know WITH (…) behind a table",
    "literals: binary literal with a space": "the parser takes X'1F' only without a space",
    "literals: variant access by path": "the parser does not know v:path; variant_get(v, '$.path') is the same",
    "literals: variant access by a name": "the parser does not know v:path; variant_get(v, '$.path') is the same",
    "pipes: pipe with aggregate": _PIPES,
    "pipes: pipe with a set operation": _PIPES,
    "pipes: pipe with extend, set and drop": "the parser does not know SET in a pipe",
    "pipes: pipe with join": _PIPES,
    "pipes: pipe with pivot": _PIPES,
    "pipes: pipe with where and select": _PIPES,
    "pipes: pipe behind a select": _PIPES,
    "refused: fetch first": "Spark has no FETCH",
    "refused: for system time as of": _TRAVEL,
    "refused: function of somebody else": "it may aggregate, or answer differently each time",
    "refused: identifier clause": "it hides which table is read",
    "refused: insert from a query": "it is not a query",
    "refused: parameter marker": "nothing fills it in",
    "refused: question mark": "nothing fills it in",
    "refused: script transform": "nothing is known of what the script does",
    "refused: several inserts": "it is not a query",
    "refused: tablesample behind an alias": _SETTLE,
    "refused: tablesample in a join": _SETTLE,
    "refused: tablesample of a percentage": _SETTLE,
    "refused: tablesample of a subquery": _SETTLE,
    "refused: tablesample of a subquery with a bare alias": _SETTLE,
    "refused: tablesample of rows": _SETTLE,
    "refused: timestamp as of": _TRAVEL,
    "refused: version as of": _TRAVEL,
    "sets: table statement": "the parser does not know TABLE t; SELECT * FROM t is the same",
    "sets: table statement in a union": "the parser does not know TABLE t; SELECT * FROM t is the same",
    "subqueries: subquery in a lateral view": _PLACE,
    "subqueries: subquery in a table function": _PLACE,
    "subqueries: subquery in sort by": _PLACE,
    "subqueries: subquery in the condition of a left join": _PLACE,
    "subqueries: subquery in the condition of a semi join": _PLACE,
    "subqueries: subquery in the order of a union": _PLACE,
}


def corpora() -> tuple[Corpus, ...]:
    """TPC-H, TPC-DS, and our own."""
    ours = Corpus(
        "Spark SQL",
        "Queries of our own in Spark's dialect, `tests/algebra/spark_sql`.",
        tuple(_own_queries(OURS)),
        _TABLES,
    )
    return _benchmark("TPC-H", "tpch", "dbgen"), _benchmark("TPC-DS", "tpcds", "dsdgen"), ours


def _own_queries(folder: Path) -> Iterator[Query]:
    for file in sorted(folder.glob("*.sql")):
        for part in _TITLE.split(file.read_text(encoding="utf-8"))[1:]:
            title, _, text = part.partition("\n")
            yield Query(f"{file.stem}: {title.strip()}", text.strip().removesuffix(";"))


def _benchmark(title: str, extension: str, generator: str) -> Corpus:
    with duckdb.connect() as connection:
        connection.execute("SET autoinstall_known_extensions = false")
        connection.execute("SET autoload_known_extensions = false")
        connection.execute(f"LOAD '{_extension(extension)}'")
        connection.execute(f"CALL {generator}(sf = 0)")
        queries = connection.execute(f"FROM {extension}_queries() ORDER BY query_nr").fetchall()
        columns = connection.execute(
            "SELECT table_name, column_name, replace(data_type, 'VARCHAR', 'STRING') "
            "FROM information_schema.columns ORDER BY table_name, ordinal_position"
        ).fetchall()
    tables: dict[str, dict[str, str]] = {}
    for table, column, kind in columns:
        tables.setdefault(table, {})[column] = kind
    width = len(str(len(queries)))
    found = tuple(Query(f"Q{number:0{width}}", text.strip().removesuffix(";")) for number, text in queries)
    return Corpus(title, f"The queries and tables of DuckDB's extension `{extension}`.", found, tables)


def _extension(name: str) -> Path:
    package = find_spec(f"duckdb_extension_{name}")
    if package is None or package.origin is None:
        raise SystemExit(f"Install the package duckdb-extension-{name}; requirements-dev.txt names it.")
    return Path(package.origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
