"""Random queries over a(x, y), b(x, y), c(x, y), each with its text for Spark and its text for DuckDB.

Every query returns two columns of numbers, x and y, and the same rows on every run: where rows are ranked
or cut off, equal ranks are equal rows. One text is made, with marks where the two differ in spelling.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

TABLES = ("a", "b", "c")
#: Mark -> Spark, DuckDB.
_SPELLINGS = {
    "@SEMI": ("LEFT SEMI JOIN", "SEMI JOIN"),
    "@ANTI": ("LEFT ANTI JOIN", "ANTI JOIN"),
    "@SAME": ("<=>", "IS NOT DISTINCT FROM"),
    "@ANY": ("any", "bool_or"),
    "@EVERY": ("every", "bool_and"),
    "@MINUS": ("MINUS", "EXCEPT"),
}
_COMPARISONS = ("=", "=", "<>", "<", ">=", "@SAME")
_LITERALS = ("0", "1", "2", "NULL")


@dataclass(frozen=True)
class Query:
    """One query, in two spellings."""

    marked: str

    @property
    def spark(self) -> str:
        return self._spelled(0)

    @property
    def duckdb(self) -> str:
        return self._spelled(1)

    def _spelled(self, column: int) -> str:
        text = self.marked
        for mark, spelling in _SPELLINGS.items():
            text = text.replace(mark, spelling[column])
        return text


def random_query(random: Random, depth: int = 4, size: int = 7, names: tuple[str, ...] = TABLES) -> Query:
    """A query of at most ``depth`` queries inside each other and about ``size`` altogether, over some tables."""
    return Query(_Maker(random, size).query(depth, (), names))


class _Maker:
    """Makes one query.

    Throughout, ``outer`` are the aliases of the query around this one, ``names`` what FROM may name, and
    ``aliases`` what a row of this query is made of.
    """

    def __init__(self, random, size):
        self._random = random
        self._left = size
        self._aliases = 0
        #: How much of what is never monotone: with too much of it nothing is left to judge.
        self._rough = self._any(0.2, 0.2, 1)

    def _one_of(self, *ways):
        """What one of some (weight, way) makes."""
        possible = [(weight, way) for weight, way in ways if weight]
        return self._random.choices([way for _, way in possible], [weight for weight, _ in possible])[0]()

    def _any(self, *things):
        return self._random.choice(things)

    def _chance(self, percent):
        return self._random.randrange(100) < percent

    def _alias(self):
        self._aliases += 1
        return f"t{self._aliases}"

    def _not(self):
        return self._any("", "NOT ")

    # Whole queries.

    def query(self, depth, outer, names):
        self._left -= 1
        if depth <= 1 or self._left <= 0:
            return self._simple(outer, names)
        return self._one_of(
            (34, lambda: self._select(depth, outer, names)),
            (14, lambda: self._set_operation(depth, outer, names)),
            (9 * self._rough, lambda: self._grouped(depth, outer, names)),
            (4 * self._rough, lambda: self._all_rows(depth, names)),
            (5 * self._rough, lambda: self._window(depth, names)),
            (4 * self._rough, lambda: self._top(depth, names)),
            (10, lambda: self._with(depth, names)),
            (3, lambda: self._unpivoted(depth, names)),
            (4, lambda: self._recursive(depth, names)),
        )

    def _simple(self, outer, names):
        alias = self._alias()
        where = f" WHERE {self._condition(1, (alias,), outer, names)}" if self._chance(50) else ""
        return f"SELECT {alias}.x AS x, {alias}.y AS y FROM {self._any(*names)} AS {alias}{where}"

    def _select(self, depth, outer, names):
        source, aliases = self._from(depth, names)
        distinct = "DISTINCT " if self._chance(15) else ""
        x, y = (self._value(depth - 1, aliases, outer, names) for _ in range(2))
        where = f" WHERE {self._condition(depth, aliases, outer, names)}" if self._chance(65) else ""
        return f"SELECT {distinct}{x} AS x, {y} AS y FROM {source}{where}"

    def _set_operation(self, depth, outer, names):
        word = self._any("UNION", "UNION", "INTERSECT", "EXCEPT", "@MINUS") + self._any("", " ALL")
        left, right = (self.query(depth - 1, outer, names) for _ in range(2))
        return f"({left}) {word} ({right})"

    def _grouped(self, depth, outer, names):
        source, alias = self._relation(depth - 1, names)
        x, y = f"{alias}.x", f"{alias}.y"
        where = f" WHERE {self._condition(depth - 1, (alias,), outer, names)}" if self._chance(30) else ""
        having = f" HAVING {self._having(depth - 1, alias, names)}" if self._chance(50) else ""
        if self._chance(30):
            keys = self._any(f"{x}, {y}", f"{x}, {y}", f"ROLLUP ({x}, {y})", f"GROUPING SETS (({x}), ({y}))")
            return f"SELECT {x} AS x, {y} AS y FROM {source}{where} GROUP BY {keys}{having}"
        value = self._aggregate(depth - 1, alias, names)
        if self._chance(15):
            key = f"CAST({self._asking(depth - 1, (alias,), names)} AS INT)"
            return f"SELECT {key} AS x, {value} AS y FROM {source}{where} GROUP BY {self._any('1', 'ALL')}"
        return f"SELECT {x} AS x, {value} AS y FROM {source}{where} GROUP BY {x}{having}"

    def _all_rows(self, depth, names):
        """An aggregate over all rows, which has a row even without any, or a HAVING without GROUP BY."""
        source, alias = self._relation(depth - 1, names)
        if self._chance(30):
            return f"SELECT 1 AS x, 2 AS y FROM {source} HAVING {self._having_alone(depth - 1, alias, names)}"
        x, y = (self._aggregate(depth - 1, alias, names) for _ in range(2))
        return f"SELECT {x} AS x, {y} AS y FROM {source}"

    def _having_alone(self, depth, alias, names):
        inner = self._alias()
        return self._one_of(
            (1, lambda: "1 = 1"),
            (1, lambda: f"EXISTS ({self.query(depth, (), names)})"),
            (2, lambda: f"EXISTS (SELECT 1 FROM {self._any(*names)} AS {inner} WHERE {inner}.x = max({alias}.x))"),
        )

    def _aggregate(self, depth, alias, names):
        y = f"{alias}.y"
        return self._one_of(
            (3, lambda: "count(*)"),
            (4, lambda: f"{self._any('sum', 'max', 'min')}({y})"),
            (2, lambda: f"count(DISTINCT {y})"),
            (1, lambda: f"max({y}) - min({y})"),
            (1, lambda: f"CAST(2 * avg({self._any('', 'DISTINCT ')}{y}) AS INT)"),
            (1, lambda: f"count(*) FILTER (WHERE {self._condition(depth, (alias,), (), names)})"),
            (1, lambda: f"CAST(@ANY({y} > 0) AS INT)"),
            (1, lambda: f"CAST(@ANY({y} > 0) = true AS INT)"),
            (1, lambda: f"CAST(@EVERY({y} > 0) AND @ANY({y} = 1) AS INT)"),
        )

    def _having(self, depth, alias, names):
        return self._one_of(
            (3, lambda: f"count(*) {self._any('=', '>', '<')} 1"),
            (1, lambda: f"max({alias}.y) IS NULL"),
            (1, lambda: f"@ANY({alias}.y > 0) OR {alias}.x = 1"),
            (2, lambda: f"{alias}.x {self._not()}IN ({self._column(depth, (), names)})"),
            (2, lambda: f"{self._not()}EXISTS ({self._existing(depth, (), names)})"),
            (2, lambda: f"count(*) {self._any('=', '>', '<')} {self._scalar(depth, (), names)}"),
            (1, lambda: f"count(DISTINCT {alias}.y) >= {self._scalar(depth, (), names)}"),
        )

    def _window(self, depth, names):
        source, alias = self._relation(depth - 1, names)
        x, y = f"{alias}.x", f"{alias}.y"
        order = f"ORDER BY {x} NULLS FIRST, {y} NULLS FIRST"
        part = self._any("", f"PARTITION BY {x} ", f"PARTITION BY {y} ")
        ranked = f"{self._any('row_number()', 'rank()', f'sum({y})', 'count(*)')} OVER ({part}{order})"
        whole = f"{self._any(f'sum({y})', 'count(*)', f'max({y})', f'avg({y})')} OVER (PARTITION BY {x})"
        qualify = f"{ranked} {self._any('=', '>', '<')} {self._any('1', '2')}"
        both = f"SELECT {x} AS x, {y} AS y FROM {source} QUALIFY {qualify}"

        def asking():
            return self._asking(depth - 1, (alias,), names)

        return self._one_of(
            (2, lambda: f"SELECT {x} AS x, {ranked} AS y FROM {source}"),
            (1, lambda: f"SELECT {y} AS x, CAST({whole} AS INT) AS y FROM {source}"),
            (1, lambda: f"SELECT {x} AS x, sum({y}) OVER w AS y FROM {source} WINDOW w AS (PARTITION BY {x})"),
            (1, lambda: f"SELECT {x} AS x, count(*) OVER (PARTITION BY {asking()}) AS y FROM {source}"),
            (2, lambda: both),
            (1, lambda: f"{both} {self._any('AND', 'OR')} {self._not()}{asking()}"),
        )

    def _top(self, depth, names):
        source, alias = self._relation(depth - 1, names)
        cut = self._any("LIMIT 1", "LIMIT 2", "LIMIT 2 OFFSET 1", "OFFSET 1")
        order = self._any(f"{alias}.x NULLS FIRST, {alias}.y NULLS FIRST", "y DESC NULLS LAST, 1 NULLS FIRST")
        if self._chance(25):
            order = f"{alias}.x = {self._scalar(depth - 1, (), names)} NULLS FIRST, {order}"
        return f"SELECT {alias}.x AS x, {alias}.y AS y FROM {source} ORDER BY {order} {cut}"

    def _with(self, depth, names):
        """CTEs that are read never, once or often, and may hide a table or each other."""
        parts, seen = [], names
        for name in self._random.sample(("a", "b", "d", "e"), self._any(1, 1, 2, 3)):
            parts.append(f"{name} AS ({self.query(depth - 1, (), seen)})")
            # Three times: most of what follows reads it.
            seen = (*(one for one in seen if one != name), name, name, name)
        return f"WITH {', '.join(parts)} {self._behind_with(depth, seen)}"

    def _behind_with(self, depth, names):
        body = self.query(depth - 1, (), names)
        return f"SELECT x, y FROM ({body})" if body.startswith("WITH") else body

    def _unpivoted(self, depth, names):
        inner = self.query(depth - 1, (), names)
        alias = self._alias()
        return f"SELECT {alias}.v AS x, 0 AS y FROM ({inner}) UNPIVOT (v FOR n IN (x, y)) AS {alias}"

    def _recursive(self, depth, names):
        """Reads itself once, as Spark wants it, and takes all values from its tables, so that it ends."""
        first = self.query(depth - 1, (), names)
        this, other = self._alias(), self._alias()
        name, on, table = f"r{this}", f"{this}.y = {other}.x", self._any(*names)
        itself, there = f"{name} AS {this}", f"{table} AS {other}"
        step = self._one_of(
            (3, lambda: f"SELECT {this}.x, {other}.y FROM {itself} JOIN {there} ON {on}"),
            (1, lambda: f"SELECT {other}.x, {other}.y FROM {itself} LEFT JOIN {there} ON {on}"),
            (1, lambda: f"SELECT {other}.x, {other}.y FROM {itself} RIGHT JOIN {there} ON {on}"),
            (1, lambda: f"SELECT {this}.y, {this}.x FROM {itself} @ANTI {there} ON {on}"),
            (1, lambda: f"SELECT {other}.x, {other}.y FROM {there} @SEMI {itself} ON {on}"),
            (1, lambda: f"SELECT {other}.y, {other}.x FROM {there} @ANTI {itself} ON {on}"),
        )
        body = self._behind_with(depth, (*names, name, name))
        return f"WITH RECURSIVE {name}(x, y) AS (({first}) UNION ({step})) {body}"

    # What FROM holds.

    def _relation(self, depth, names):
        alias = self._alias()
        if depth <= 1 or self._left <= 0 or self._chance(45):
            if self._chance(5):
                rows = (f"({self._any(*_LITERALS)}, {self._any('0', '1', '2')})" for _ in range(self._any(1, 2)))
                return f"(VALUES {', '.join(rows)}) AS {alias}(x, y)", alias
            return f"{self._any(*names)} AS {alias}", alias
        return f"({self.query(depth - 1, (), names)}) AS {alias}", alias

    def _from(self, depth, names):
        source, alias = self._relation(depth, names)
        aliases = (alias,)
        for _ in range(self._any(0, 0, 1, 1, 2)):
            source, aliases = self._joined(depth, source, aliases, names)
        if self._chance(6):
            # Last, since Spark and DuckDB do not agree on what a comma binds.
            alias = self._alias()
            return f"{source}, LATERAL ({self._beside(depth, aliases, names)}) AS {alias}", (*aliases, alias)
        return source, aliases

    def _joined(self, depth, left, aliases, names):
        if self._chance(12):
            alias = self._alias()
            word = self._any("JOIN", "LEFT JOIN")
            inner = self._beside(depth, aliases, names)
            return f"{left} {word} LATERAL ({inner}) AS {alias} ON true", (*aliases, alias)
        if self._chance(12):
            inner, right = self._joined(depth, *self._first(depth, names), names)
            right_text = f"({inner})"
        else:
            right_text, alias = self._relation(depth, names)
            right = (alias,)
        word = self._any("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "@SEMI", "@ANTI")
        kept = aliases if word.startswith("@") else (*aliases, *right)
        if word == "CROSS JOIN":
            return f"{left} CROSS JOIN {right_text}", kept
        if self._chance(15) and len(aliases) == len(right) == 1:
            return f"{left} {word} {right_text} USING ({self._any('x', 'y', 'x, y')})", kept
        # DuckDB has no subqueries in the ON of an outer join.
        deep = depth if word in ("JOIN", "@SEMI") and self._chance(30) else 0
        on = self._condition(deep, (self._any(*aliases), self._any(*right)), (), names)
        if self._chance(60):
            on = f"{self._any(*aliases)}.{self._any('x', 'y')} = {self._any(*right)}.{self._any('x', 'y')} AND ({on})"
        return f"{left} {word} {right_text} ON {on}", kept

    def _first(self, depth, names):
        source, alias = self._relation(depth - 1, names)
        return source, (alias,)

    def _beside(self, depth, aliases, names):
        """What LATERAL holds, which may read the rows before it."""
        return self._one_of(
            (2, lambda: self._simple(aliases, names)),
            (2, lambda: self.query(depth - 1, aliases, names)),
            (1, lambda: self._counted(aliases, names)),
        )

    def _counted(self, outer, names):
        alias = self._alias()
        where = self._condition(0, (alias,), outer, names)
        return f"SELECT count(*) AS x, max({alias}.y) AS y FROM {self._any(*names)} AS {alias} WHERE {where}"

    # Expressions.

    def _value(self, depth, aliases, outer, names):
        deep = depth >= 1 and self._left > 0
        return self._one_of(
            (12, lambda: f"{self._any(*aliases)}.{self._any('x', 'y')}"),
            (2 if outer else 0, lambda: f"{self._any(*outer)}.{self._any('x', 'y')}"),
            (1, lambda: self._any(*_LITERALS[:3])),
            (1, lambda: f"coalesce({self._any(*aliases)}.x, {self._any(*aliases)}.y)"),
            (1, lambda: f"CASE WHEN {self._condition(depth - 1, aliases, outer, names)} THEN 1 ELSE 0 END"),
            (1 if deep else 0, lambda: self._scalar(depth, aliases, names)),
            (1 if deep else 0, lambda: f"CAST({self._asking(depth, aliases, names)} AS INT)"),
        )

    def _condition(self, depth, aliases, outer, names):
        deep = depth >= 1 and self._left > 0
        return self._one_of(
            (8, lambda: self._comparison(aliases, outer)),
            (2, lambda: f"{self._plain(aliases, outer)} IS {self._not()}NULL"),
            (2, lambda: f"{self._plain(aliases, outer)} {self._not()}IN ({self._any('0, 1', '1, 2', '0, NULL')})"),
            (4 if depth > 0 else 1, lambda: self._combined(depth, aliases, outer, names)),
            (12 if deep else 0, lambda: f"{self._not()}{self._asking(depth, aliases, names)}"),
            (3 if deep else 0, lambda: self._hidden(depth, aliases, outer, names)),
        )

    def _plain(self, aliases, outer):
        whose = self._any(*outer) if outer and self._chance(40) else self._any(*aliases)
        return f"{whose}.{self._any('x', 'y')}"

    def _comparison(self, aliases, outer):
        one = f"{self._any(*aliases)}.{self._any('x', 'y')}"
        other = self._plain(aliases, outer) if outer or self._chance(60) else self._any(*_LITERALS[:3])
        return f"{one} {self._any(*_COMPARISONS)} {other}"

    def _combined(self, depth, aliases, outer, names):
        one, other = (self._condition(depth - 1 if depth > 1 else 0, aliases, outer, names) for _ in range(2))
        word = self._any("AND", "OR", "OR")
        return f"{self._not()}({one} {word} {self._not()}({other}))"

    def _asking(self, depth, aliases, names):
        """EXISTS or IN, which may read the row it is asked for."""
        seen = aliases if self._chance(60) else ()
        return self._one_of(
            (3, lambda: f"EXISTS ({self._existing(depth, seen, names)})"),
            (3, lambda: f"({self._plain(aliases, ())} {self._not()}IN ({self._column(depth, seen, names)}))"),
        )

    def _hidden(self, depth, aliases, outer, names):
        """A subquery where it is easily taken for a harmless one, or overlooked."""
        asking = self._asking(depth, aliases, names)
        plain = self._plain(aliases, outer)
        return self._one_of(
            (2, lambda: f"{plain} {self._any(*_COMPARISONS)} {self._scalar(depth, aliases, names)}"),
            (1, lambda: f"{self._scalar(depth, aliases, names)} {self._not()}IN (0, 1)"),
            (1, lambda: f"{plain} {self._not()}IN (1, {self._scalar(depth, aliases, names)})"),
            (1, lambda: f"{self._scalar(depth, (), names)} {self._not()}IN ({self._column(depth, (), names)})"),
            (1, lambda: f"({asking}) IS {self._not()}NULL"),
            (1, lambda: f"({asking}) = {self._any('true', 'false')}"),
            (1, lambda: f"CASE WHEN {asking} THEN {self._any('true', 'false')} ELSE {plain} = 1 END"),
            (1, lambda: f"coalesce({asking}, true)"),
            (1, lambda: f"NOT (NOT ({asking}))"),
        )

    def _existing(self, depth, seen, names):
        if self._chance(40):
            alias = self._alias()
            where = self._condition(depth - 1, (alias,), seen, names)
            return f"SELECT 1 FROM {self._any(*names)} AS {alias} WHERE {where}"
        if self._chance(15):
            return f"{self._simple(seen, names)} LIMIT {self._any('1', '1', '0')}"
        return self.query(depth - 1, seen, names)

    def _column(self, depth, seen, names):
        """A query of one column."""
        if self._chance(60):
            alias = self._alias()
            where = f" WHERE {self._condition(depth - 1, (alias,), seen, names)}" if seen or self._chance(40) else ""
            return f"SELECT {alias}.{self._any('x', 'y')} FROM {self._any(*names)} AS {alias}{where}"
        alias = self._alias()
        return f"SELECT {alias}.{self._any('x', 'y')} FROM ({self.query(depth - 1, (), names)}) AS {alias}"

    def _scalar(self, depth, seen, names):
        """A subquery of at most one row."""
        source, alias = self._relation(depth - 1, names)
        where = f" WHERE {self._condition(depth - 1, (alias,), seen, names)}" if seen or self._chance(40) else ""
        made = self._any(
            "count(*)", f"max({alias}.x)", f"min({alias}.y)", f"sum({alias}.x)", "DISTINCT 1", f"avg({alias}.y)"
        )
        return f"(SELECT {made} FROM {source}{where})"
