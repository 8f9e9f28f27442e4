"""Random queries over tables with columns of many types, for Spark alone: the values where engines disagree.

Where `random_queries` puts every operator inside every other over whole numbers, this one looks at values and names:
time zones, dates before 1582, decimals of 38 digits, NaN, -0.0 and NULL as keys, bytes, structs, arrays, empty
texts, columns of one name on both sides of a join, aliases that shadow columns, CTEs that shadow tables, lateral
views, keys by position and by alias.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

_UTC = dt.timezone.utc
#: Three of them still have 38 digits, four do not.
_THIRD = Decimal("3" * 38)

#: Kind of a column -> its type in Arrow, and values that are easily mistaken for each other.
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [None, 0, 1, 2, -1]),
    "big": (pa.int64(), [None, 0, 1, 2, 2**53, 2**53 + 1]),
    "str": (pa.string(), [None, "", "a", "A", "b ", "ß", "\x00", "é", "e\u0301", "1", "2024-01-01"]),
    "dbl": (pa.float64(), [None, 0.0, -0.0, float("nan"), 1.5, float("inf"), 0.1]),
    "flt": (pa.float32(), [None, 0.0, -0.0, float("nan"), 1.5]),
    "dec": (pa.decimal128(10, 2), [None, Decimal("0.00"), Decimal("1.50"), Decimal("-1.50"), Decimal("99999999.99")]),
    "huge": (pa.decimal128(38, 0), [None, Decimal(0), Decimal(1), _THIRD, -_THIRD]),
    "ts": (
        pa.timestamp("us", "UTC"),
        [
            None,
            dt.datetime(2026, 3, 29, 1, 30, tzinfo=_UTC),
            dt.datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=_UTC),
            dt.datetime(2026, 10, 25, 0, 30, tzinfo=_UTC),
            dt.datetime(1500, 2, 28, 23, tzinfo=_UTC),
        ],
    ),
    "ntz": (
        pa.timestamp("us"),
        [
            None,
            dt.datetime(2026, 3, 29, 2, 30),
            dt.datetime(1582, 10, 10),
            dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        ],
    ),
    "day": (pa.date32(), [None, dt.date(2026, 3, 29), dt.date(1582, 10, 10), dt.date(1, 1, 1), dt.date(1969, 12, 31)]),
    "bin": (pa.binary(), [None, b"", b"\x00", b"a", b"\xff\xfe"]),
    "bool": (pa.bool_(), [None, True, False]),
    "pair": (
        pa.struct([("p", pa.int32()), ("q", pa.string())]),
        [None, {"p": None, "q": None}, {"p": 1, "q": ""}, {"p": 1, "q": "a"}],
    ),
    "list": (pa.list_(pa.int32()), [None, [], [1], [1, 1, None], [2, 1]]),
}
#: Kind of a column -> its type in Spark's words.
SPARK_TYPES = {
    "int": "INT",
    "big": "BIGINT",
    "str": "STRING",
    "dbl": "DOUBLE",
    "flt": "FLOAT",
    "dec": "DECIMAL(10,2)",
    "huge": "DECIMAL(38,0)",
    "ts": "TIMESTAMP",
    "ntz": "TIMESTAMP_NTZ",
    "day": "DATE",
    "bin": "BINARY",
    "bool": "BOOLEAN",
    "pair": "STRUCT<p: INT, q: STRING>",
    "list": "ARRAY<INT>",
}
#: Table -> column -> kind. Tables share names of columns with the same and with other kinds.
TABLES: dict[str, dict[str, str]] = {
    "a": {"id": "int", "k": "str", "d": "dbl", "n": "dec", "ts": "ts", "s": "pair", "l": "list", "f": "bool"},
    "b": {"id": "big", "k": "str", "d": "flt", "h": "huge", "day": "day", "b": "bin", "z": "ntz"},
    "c": {"id": "int", "k": "str", "n": "dec", "day": "day", "ts": "ts", "z": "ntz", "b": "bin"},
}
#: Kinds whose values can be keys of groups and of joins.
_KEYS = tuple(KINDS)


def schema_of(table: str) -> pa.Schema:
    """The columns of a table."""
    return pa.schema([(name, KINDS[kind][0]) for name, kind in TABLES[table].items()])


def random_row(random: Random, table: str) -> dict[str, Any]:
    """A row of few values, so that there are duplicates, partners and empty groups."""
    return {name: random.choice(KINDS[kind][1]) for name, kind in TABLES[table].items()}


@dataclass(frozen=True)
class _Relation:
    """A text for FROM, and its columns: alias, name, kind."""

    text: str
    columns: tuple[tuple[str, str, str], ...]
    #: Columns that USING made one of.
    merged: tuple[str, ...] = ()


def random_typed_query(random: Random) -> str:
    """A query such as Spark may take."""
    return _Typed(random).query(2)[0]


#: The text of a query, and the names and kinds of its columns.
_Made = tuple[str, list[tuple[str, str]]]


class _Typed:
    """Makes one query."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._aliases = 0

    def _any(self, *things: Any) -> Any:
        return self._random.choice(things)

    def _chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent

    def _alias(self) -> str:
        self._aliases += 1
        # Names of tables and of columns too: what is meant is for the rules of SQL to say.
        return str(self._any(f"t{self._aliases}", f"t{self._aliases}", f"T{self._aliases}"))

    # Whole queries.

    def query(self, depth: int, tables: dict[str, dict[str, str]] | None = None) -> _Made:
        tables = TABLES if tables is None else tables
        ways: list[Callable[[], _Made]] = [lambda: self._select(depth, tables)] * 4
        ways += [lambda: self._grouped(depth, tables)] * 4
        ways += [lambda: self._all_rows(depth, tables)]
        ways += [lambda: self._window(depth, tables)] * 2
        if depth > 0:
            ways += [lambda: self._set_operation(depth, tables)] * 2
            ways += [lambda: self._with(depth, tables)] * 2
            ways += [lambda: self._top(depth, tables)]
        return self._any(*ways)()

    def _select(self, depth: int, tables: dict[str, dict[str, str]]) -> _Made:
        relation = self._from(depth, tables)
        shown = [self._value(relation) for _ in range(self._any(1, 2, 3))]
        if depth > 0 and self._chance(25):
            shown.append((self._scalar(relation, tables), "int"))
        if self._chance(10) and len({name for _, name, _ in relation.columns}) == len(relation.columns):
            kinds = [(name, kind) for _, name, kind in relation.columns]
            return f"SELECT * FROM {relation.text}{self._where(depth, relation, tables)}", kinds
        items, kinds = self._named(shown, relation)
        distinct = "DISTINCT " if self._chance(25) else ""
        return f"SELECT {distinct}{', '.join(items)} FROM {relation.text}{self._where(depth, relation, tables)}", kinds

    def _named(self, shown: list[tuple[str, str]], relation: _Relation) -> tuple[list[str], list[tuple[str, str]]]:
        """Items with aliases, some of which are names of other columns."""
        names, items, kinds = set[str](), [], []
        for at, (text, kind) in enumerate(shown):
            name = f"c{at}"
            if self._chance(30):
                name = self._any(*(column for _, column, _ in relation.columns))
            while name.lower() in names:
                name += "2"
            names.add(name.lower())
            items.append(f"{text} AS {name}")
            kinds.append((name, kind))
        return items, kinds

    def _grouped(self, depth: int, tables: dict[str, dict[str, str]]) -> _Made:
        relation = self._from(depth, tables)
        keys = [self._value(relation, _KEYS) for _ in range(self._any(1, 1, 2))]
        sums = [self._aggregate(relation) for _ in range(self._any(1, 1, 2, 3))]
        items, kinds = self._named([*keys, *sums], relation)
        by = []
        for at, (text, _) in enumerate(keys):
            alias = items[at].rpartition(" AS ")[2]
            taken = any(alias.lower() == name.lower() for _, name, _ in relation.columns)
            by.append(str(self._any(text, str(at + 1), text if taken else alias)))
        order = self._any(True, True, False)
        if not order and all(text.isdigit() is False for text in by):
            items, kinds = items[::-1], kinds[::-1]
        having = f" HAVING {self._having(relation)}" if self._chance(25) else ""
        where = self._where(depth, relation, tables)
        return f"SELECT {', '.join(items)} FROM {relation.text}{where} GROUP BY {', '.join(by)}{having}", kinds

    def _all_rows(self, depth: int, tables: dict[str, dict[str, str]]) -> _Made:
        relation = self._from(depth, tables)
        items, kinds = self._named([self._aggregate(relation) for _ in range(2)], relation)
        having = f" HAVING {self._having(relation)}" if self._chance(50) else ""
        return f"SELECT {', '.join(items)} FROM {relation.text}{self._where(depth, relation, tables)}{having}", kinds

    def _window(self, depth: int, tables: dict[str, dict[str, str]]) -> _Made:
        relation = self._from(depth, tables)
        key, _ = key_kind = self._value(relation, _KEYS)
        value, _ = self._value(relation, _KEYS)
        function = self._any(
            "count(*)",
            f"count({value})",
            f"max({value})",
            f"min({value})",
            f"dense_rank() OVER (PARTITION BY {key} ORDER BY {value})",
        )
        over = function if " OVER " in function else f"{function} OVER (PARTITION BY {key})"
        kind = "int" if "(*)" in function or "rank" in function or "count" in function else "other"
        items, kinds = self._named([key_kind, (over, kind)], relation)
        return f"SELECT {', '.join(items)} FROM {relation.text}{self._where(depth, relation, tables)}", kinds

    def _set_operation(self, depth: int, tables: dict[str, dict[str, str]]) -> _Made:
        """Both sides have as many columns, of kinds that may need a common type."""
        sides = []
        width = self._any(1, 2)
        wanted = [self._any("int", "str", "dbl", "dec", "ts", "day", "bin", "ntz", "huge") for _ in range(width)]
        for _ in range(2):
            relation = self._from(depth - 1, tables)
            shown = [self._of_kind(relation, self._alike(kind)) for kind in wanted]
            items, kinds = self._named(shown, relation)
            sides.append((f"SELECT {', '.join(items)} FROM {relation.text}{self._where(0, relation, tables)}", kinds))
        word = self._any("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
        return f"({sides[0][0]}) {word} ({sides[1][0]})", sides[0][1]

    def _alike(self, kind: str) -> str:
        alike = {"int": ("int", "big", "dec"), "dbl": ("dbl", "flt", "int"), "ts": ("ts", "day"), "dec": ("dec", "int")}
        return str(self._any(*alike.get(kind, (kind,))))

    def _with(self, depth: int, tables: dict[str, dict[str, str]]) -> _Made:
        """CTEs that may hide a table, or one around them."""
        seen, parts = dict(tables), []
        for _ in range(self._any(1, 2)):
            name = self._any("a", "b", "q", "Q2")
            if name.lower() in {part.split(" ", 1)[0].lower() for part in parts}:
                continue
            text, kinds = self.query(depth - 1, seen)
            parts.append(f"{name} AS ({text})")
            seen = {key: columns for key, columns in seen.items() if key.lower() != name.lower()}
            seen[name] = dict(kinds)
        mine = {name: columns for name, columns in seen.items() if name not in tables or columns is not tables[name]}
        body, kinds = self.query(depth - 1, mine if mine and self._chance(70) else seen)
        return f"WITH {', '.join(parts)} {body}" if not body.startswith(
            "WITH"
        ) else f"WITH {', '.join(parts)} ({body})", kinds

    def _top(self, depth: int, tables: dict[str, dict[str, str]]) -> _Made:
        """Ordered by all columns: rows that tie are equal."""
        text, kinds = self.query(depth - 1, tables)
        order = ", ".join(f"{at + 1} {self._any('', 'DESC')}" for at in range(len(kinds)))
        return f"SELECT * FROM ({text}) ORDER BY {order} LIMIT {self._any(1, 3, '2 OFFSET 1')}", kinds

    # What FROM holds.

    def _relation(self, depth: int, tables: dict[str, dict[str, str]]) -> _Relation:
        alias = self._alias()
        if depth > 0 and self._chance(30):
            text, kinds = self.query(depth - 1, tables)
            return _Relation(f"({text}) AS {alias}", tuple((alias, name, kind) for name, kind in kinds))
        name = self._any(*tables)
        return _Relation(f"{name} AS {alias}", tuple((alias, *one) for one in tables[name].items()))

    def _from(self, depth: int, tables: dict[str, dict[str, str]]) -> _Relation:
        relation = self._relation(depth, tables)
        if self._chance(45):
            relation = self._joined(relation, self._relation(depth, tables))
        if self._chance(20):
            relation = self._exploded(relation)
        return relation

    def _joined(self, left: _Relation, right: _Relation) -> _Relation:
        word = self._any("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
        columns = left.columns if word in ("LEFT SEMI JOIN", "LEFT ANTI JOIN") else (*left.columns, *right.columns)
        both = {name for _, name, _ in left.columns} & {name for _, name, _ in right.columns}
        kinds = {(name, kind) for _, name, kind in left.columns} & {(name, kind) for _, name, kind in right.columns}
        if both and self._chance(40):
            named = sorted(name for name, _ in kinds) or sorted(both)
            using = self._random.sample(named, self._any(1, min(2, len(named))))
            merged = () if word in ("LEFT SEMI JOIN", "LEFT ANTI JOIN") else tuple(using)
            return _Relation(f"{left.text} {word} {right.text} USING ({', '.join(using)})", columns, merged)
        one, other = self._any(*left.columns), self._any(*right.columns)
        pairs = [
            (x, y)
            for x in left.columns
            for y in right.columns
            if x[2] == y[2] or {x[2], y[2]} <= {"int", "big", "dec", "dbl", "flt"}
        ]
        if pairs:
            one, other = self._any(*pairs)
        equal = self._any("=", "=", "<=>")
        more = f" AND {self._condition(left if word.startswith('LEFT') else right)}" if self._chance(20) else ""
        on = f"{one[0]}.{one[1]} {equal} {other[0]}.{other[1]}{more}"
        return _Relation(f"{left.text} {word} {right.text} ON {on}", columns)

    def _exploded(self, relation: _Relation) -> _Relation:
        lists = [f"{alias}.{name}" for alias, name, kind in relation.columns if kind == "list"]
        texts = [f"{alias}.{name}" for alias, name, kind in relation.columns if kind == "str"]
        made = lists + [f"split({text}, '')" for text in texts] + ["array(1, 1, 2)"]
        item, alias = self._any(*made), self._alias()
        kind = "str" if item.startswith("split") else "int"
        outer = self._any("", "OUTER ")
        if self._chance(30):
            text = f"{relation.text} LATERAL VIEW {outer}posexplode({item}) {alias} AS pos, e"
            return _Relation(text, (*relation.columns, (alias, "pos", "int"), (alias, "e", kind)), relation.merged)
        text = f"{relation.text} LATERAL VIEW {outer}explode({item}) {alias} AS e"
        return _Relation(text, (*relation.columns, (alias, "e", kind)), relation.merged)

    # Expressions.

    def _column(self, relation: _Relation, kinds: tuple[str, ...] = ()) -> tuple[str, str] | None:
        found = [one for one in relation.columns if not kinds or one[2] in kinds]
        if not found:
            return None
        alias, name, kind = self._any(*found)
        if name in relation.merged and self._chance(60):
            return name, kind
        alone = sum(1 for _, other, _ in relation.columns if other.lower() == name.lower()) == 1
        return (name if alone and self._chance(30) else f"{alias}.{name}"), kind

    def _value(self, relation: _Relation, kinds: tuple[str, ...] = ()) -> tuple[str, str]:
        found = self._column(relation, kinds)
        if found is None:
            return str(self._any("1", "CAST(NULL AS INT)")), "int"
        return self._made(*found) if self._chance(45) else found

    def _of_kind(self, relation: _Relation, kind: str) -> tuple[str, str]:
        found = self._column(relation, (kind,))
        if found is not None:
            return found
        literal = {"int": "1", "big": "1L", "str": "'a'", "dbl": "1.5D", "dec": "1.50", "day": "DATE'2026-03-29'"}
        return str(
            self._any(f"CAST(NULL AS {SPARK_TYPES[kind]})", literal.get(kind, f"CAST(NULL AS {SPARK_TYPES[kind]})"))
        ), kind

    def _made(self, text: str, kind: str) -> tuple[str, str]:
        """An expression of a column."""
        ways: dict[str, list[tuple[str, str]]] = {
            "int": [
                (f"{text} + 1", "int"),
                (f"{text} % 2", "int"),
                (f"CAST({text} AS STRING)", "str"),
                (f"coalesce({text}, 0)", "int"),
            ],
            "big": [
                (f"{text} - 1", "big"),
                (f"CAST({text} AS DOUBLE)", "dbl"),
                (f"CAST({text} AS DECIMAL(20,0))", "other"),
            ],
            "str": [
                (f"upper({text})", "str"),
                (f"length({text})", "int"),
                (f"nullif({text}, '')", "str"),
                (f"concat({text}, 'x')", "str"),
                (f"CAST({text} AS BINARY)", "bin"),
                (f"trim({text})", "str"),
                (f"try_cast({text} AS INT)", "int"),
            ],
            "dbl": [
                (f"-{text}", "dbl"),
                (f"CAST({text} AS STRING)", "str"),
                (f"isnan({text})", "bool"),
                (f"{text} * 2", "dbl"),
                (f"abs({text})", "dbl"),
                (f"try_cast({text} AS INT)", "int"),
            ],
            "flt": [(f"-{text}", "flt"), (f"CAST({text} AS DOUBLE)", "dbl"), (f"CAST({text} AS STRING)", "str")],
            "dec": [
                (f"{text} * 3", "other"),
                (f"{text} / 3", "other"),
                (f"CAST({text} AS STRING)", "str"),
                (f"CAST({text} AS DOUBLE)", "dbl"),
                (f"round({text}, 1)", "other"),
            ],
            "huge": [
                (f"try_add({text}, {text})", "other"),
                (f"CAST({text} AS STRING)", "str"),
                (f"CAST({text} AS DOUBLE)", "dbl"),
                (f"try_multiply({text}, 4)", "other"),
            ],
            "ts": [
                (f"CAST({text} AS DATE)", "day"),
                (f"hour({text})", "int"),
                (f"date_trunc('DAY', {text})", "ts"),
                (f"CAST({text} AS STRING)", "str"),
                (f"CAST({text} AS TIMESTAMP_NTZ)", "ntz"),
                (f"{text} + INTERVAL 1 DAY", "ts"),
                (f"{text} - TIMESTAMP'2026-01-01 00:00:00'", "other"),
                (f"to_utc_timestamp({text}, 'Europe/Berlin')", "ts"),
            ],
            "ntz": [
                (f"CAST({text} AS TIMESTAMP)", "ts"),
                (f"date_trunc('HOUR', {text})", "ntz"),
                (f"CAST({text} AS STRING)", "str"),
                (f"year({text})", "int"),
            ],
            "day": [
                (f"date_add({text}, 1)", "day"),
                (f"year({text})", "int"),
                (f"CAST({text} AS TIMESTAMP)", "ts"),
                (f"CAST({text} AS STRING)", "str"),
                (f"date_format({text}, 'yyyy-MM')", "str"),
            ],
            "bin": [(f"hex({text})", "str"), (f"length({text})", "int"), (f"md5({text})", "str")],
            "bool": [(f"NOT {text}", "bool"), (f"CAST({text} AS INT)", "int")],
            "pair": [
                (f"{text}.p", "int"),
                (f"{text}.q", "str"),
                (f"named_struct('p', {text}.p, 'q', 'x')", "pair"),
                (f"{text} IS NULL", "bool"),
            ],
            "list": [
                (f"size({text})", "int"),
                (f"array_distinct({text})", "list"),
                (f"sort_array({text})", "list"),
                (f"concat({text}, array(1))", "list"),
                (f"element_at(map(1, {text}), 1)", "list"),
                (f"array_contains({text}, 1)", "bool"),
            ],
        }
        return self._any(*ways[kind]) if kind in ways else (text, kind)

    def _aggregate(self, relation: _Relation) -> tuple[str, str]:
        number = self._value(relation, ("int", "big", "dec", "dbl", "flt"))
        whole = self._value(relation, ("int",))
        exact = self._column(relation, ("dec",)) or ("1", "int")
        huge = self._column(relation, ("huge",)) or ("1", "int")
        value = self._value(relation)
        only = f" FILTER (WHERE {self._condition(relation)})" if self._chance(15) else ""
        return self._any(
            ("count(*)" + only, "int"),
            (f"count({value[0]})" + only, "int"),
            (f"count(DISTINCT {value[0]})", "int"),
            (f"min({value[0]})" + only, value[1]),
            (f"max({value[0]})" + only, value[1]),
            (f"sum({whole[0]})" + only, "big"),
            (f"sum({exact[0]})" + only, "other"),
            (f"try_sum({huge[0]})", "other"),
            (f"avg({exact[0]})" + only, "other"),
            (f"avg({whole[0]})" + only, "other"),
            (f"max({number[0]})" + only, number[1]),
            (f"sum(DISTINCT {whole[0]})", "big"),
            (f"bool_or({self._condition(relation)})", "bool"),
            (f"count_if({self._condition(relation)})", "int"),
            (f"sort_array(collect_list({whole[0]}))", "list"),
        )

    def _having(self, relation: _Relation) -> str:
        value, _ = self._value(relation)
        return str(self._any("count(*) > 1", f"count({value}) = 0", f"max({value}) IS NOT NULL", "count(*) % 2 = 1"))

    def _where(self, depth: int, relation: _Relation, tables: dict[str, dict[str, str]]) -> str:
        if self._chance(45):
            return ""
        if depth > 0 and self._chance(50):
            return f" WHERE {self._any('', 'NOT ')}{self._asking(relation, tables)}"
        return f" WHERE {self._condition(relation)}"

    def _condition(self, relation: _Relation) -> str:
        text, kind = self._value(relation)
        literals = {
            "int": ("0", "1.0", "'1'"),
            "big": ("1", "9007199254740992D"),
            "str": ("''", "'a'"),
            "dbl": ("0.0D", "-0.0D", "double('NaN')"),
            "flt": ("0", "0.1"),
            "dec": ("0", "1.5", "0.1D"),
            "ts": ("TIMESTAMP'2026-03-29 01:30:00'", "DATE'2026-03-29'"),
            "day": ("DATE'1582-10-10'", "'2026-03-29'"),
            "ntz": ("TIMESTAMP_NTZ'2026-03-29 02:30:00'",),
            "bin": ("X'00'",),
            "list": ("array(1)",),
        }
        if kind not in literals or self._chance(25):
            return f"{text} IS {self._any('', 'NOT ')}NULL"
        return f"{text} {self._any('=', '<>', '<', '>=', '<=>')} {self._any(*literals[kind])}"

    def _partner(self, relation: _Relation, tables: dict[str, dict[str, str]]) -> tuple[str, str, str, str]:
        """A table under an alias, and a column of it that compares with one of a relation."""
        name, alias = self._any(*tables), self._alias()
        inner = [(column, kind) for column, kind in tables[name].items()]
        pairs = [
            (f"{whose}.{column}", mine)
            for whose, column, kind in relation.columns
            for mine, other in inner
            if kind == other and kind != "other"
        ]
        if not pairs:
            return f"{name} AS {alias}", alias, "1", inner[0][0]
        outer, mine = self._any(*pairs)
        return f"{name} AS {alias}", alias, outer, mine

    def _asking(self, relation: _Relation, tables: dict[str, dict[str, str]]) -> str:
        source, alias, outer, mine = self._partner(relation, tables)
        if self._chance(50):
            return f"EXISTS (SELECT 1 FROM {source} WHERE {alias}.{mine} {self._any('=', '=', '<=>')} {outer})"
        return f"({outer} {self._any('', 'NOT ')}IN (SELECT {alias}.{mine} FROM {source}))"

    def _scalar(self, relation: _Relation, tables: dict[str, dict[str, str]]) -> str:
        source, alias, outer, mine = self._partner(relation, tables)
        return f"(SELECT {self._any('count(*)', f'max({alias}.{mine})')} FROM {source} WHERE {alias}.{mine} = {outer})"
