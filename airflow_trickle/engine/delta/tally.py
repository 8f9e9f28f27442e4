"""Aggregates that can be added and taken away: kept per group beside the table, so that a loss needs no look back.

    T = for every group: how many rows, how many values, their sum                    a bag of such lines, added up
    ΔT = the same of the changed rows, each times its weight;   γ(L + ΔL) = f(T + ΔT)

Lines of one group are added up when they are read, so a refresh only adds lines. f says what COUNT, SUM and AVG are of
them. Sums are decimals of 38 digits: nothing is ever rounded, so nothing drifts; sums of floating-point numbers have
no part in this. Minima and maxima are not in the lines but in the published rows, see `extremes`.

A subquery without names of the query around it, as in HAVING sum(x) > (SELECT …), is answered before and after: groups
between the two answers come or go, whether or not their lines changed.

COUNT(DISTINCT x) has a line for each group and value, and counts the values that have rows. Minima and maxima that no
published column shows have such lines too.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_trickle.blocks.expressions import folded, position_in
from airflow_trickle.blocks.nameless import has_no_names
from airflow_trickle.blocks.shapes import Call, Span, Subquery, is_within
from airflow_trickle.engine.delta.context import LINES_FAIL, Change, Published, Tallies, Version, replaced, weighted
from airflow_trickle.engine.delta.extremes import Extremes
from airflow_trickle.engine.delta.keys import found_by_range, key_name, published_among
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.tally_parts import (
    MOST_DIGITS,
    WHOLE,
    Part,
    closed_answers,
    parts_of,
    with_values,
)
from airflow_trickle.engine.delta.terms import Term, all_of
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.identifiers import quote
from airflow_trickle.tuning import tuning

_ROWS = f"{RESERVED}n"


class Tally:
    """How one SELECT with groups is kept as lines that add up."""

    def __init__(
        self,
        block: Block,
        keys: tuple[Span, ...],
        parts: list[Part],
        calls: dict[Span, Part],
        asked: tuple[Subquery, ...] = (),
    ) -> None:
        self._block = block
        #: Subqueries of columns and HAVING that name nothing of the query around them.
        self._asked = asked
        self._keys = keys
        self._parts = parts
        self._calls = calls
        self._added = [part for part in parts if not part.is_extreme and not part.valued]
        self._valued = [part for part in parts if part.valued]
        #: Values by which lines differ within a group.
        self._values = [f"{RESERVED}x{part.number}" for part in self._valued]
        extremes = [part for part in parts if part.is_extreme]
        spans = [next(span for span, part in calls.items() if part.number == one.number) for one in extremes]
        self._extremes = Extremes(block, keys, extremes, spans)
        self._names = [quote(key_name(number)) for number in range(len(keys))]

    def is_understood(self, shown: tuple[int | None, ...] | None) -> bool:
        """Whether all columns are made of keys and aggregates alone, and published rows tell what lines do not."""
        if self.hides_extremes(shown):
            return False
        lines = self._extremes.unknown(self.added_up(self.whole()))
        return self._block.context.bench.resolves(self.result(lines))

    def hides_extremes(self, shown: tuple[int | None, ...] | None) -> bool:
        """Whether it has minima or maxima that lines have to tell, since no published column is one."""
        hidden = bool(self._values or self._asked) or shown is None or self._extremes.columns() is None
        return bool(self._extremes.parts) and hidden

    @property
    def asked(self) -> list[Span]:
        """The subqueries that may change without the rows of the groups."""
        return [one.query.span for one in self._asked]

    def changed_answers(self) -> list[Subquery]:
        """Those that changed."""
        context, scope = self._block.context, self._block.scope
        return [one for one in self._asked if context.reads_change(one.query, scope)]

    def make(self, tallies: Tallies) -> None:
        """Have the lines made, if they spare more reading than they cost."""
        # Lines for each value may be as many as there are rows.
        if self._values and found_by_range(self._block, self._keys):
            return
        tallies.whole, tallies.large = self.whole(), bool(self._values)

    # --- the lines ---------------------------------------------------------------------------------

    @property
    def _columns(self) -> list[str]:
        found = [_ROWS]
        for part in self._added:
            found.append(f"{RESERVED}c{part.number}")
            if part.sums:
                found.append(f"{RESERVED}s{part.number}")
            if part.averages_doubles:
                found.append(f"{RESERVED}a{part.number}")
        return found

    def _value(self, part: Part, version: Version) -> str:
        said, scope = self._block.context.expression, self._block.scope
        value = "1" if part.value is None else said(part.value, version, scope)
        if part.name == "count_if":
            value = f"CASE WHEN {value} THEN 1 END"
        return value if part.only is None else f"CASE WHEN {said(part.only, version, scope)} THEN {value} END"

    def _sum_of(self, part: Part, text: str) -> str:
        """A sum in the type that lines have."""
        if not part.is_wide:
            return f"CAST(coalesce(sum({text}), 0) AS DECIMAL(38,{part.scale}))"
        # Without ANSI mode, a sum that does not fit is NULL.
        failing = f"raise_error('{LINES_FAIL} a sum of too large numbers')"
        total = f"CASE WHEN count({text}) = 0 THEN 0 ELSE coalesce(sum({text}), {failing}) END"
        return f"CAST({total} AS DECIMAL(38,{part.scale}))"

    def _wide(self, part: Part, text: str) -> str:
        return f"CAST({text} AS DECIMAL({WHOLE[part.kind]},0))" if part.kind in WHOLE else text

    def _weighed(self, part: Part, text: str) -> str:
        """A value as often as its weight tells."""
        weight = f"{RESERVED}w"
        if not part.is_wide:
            return f"{text} * CAST({weight} AS DECIMAL(10,0))"
        # The product of so many digits may not fit; a row mostly comes or goes once.
        limit = 10 ** (MOST_DIGITS - part.scale)
        narrow = f"CAST({text} AS DECIMAL({MOST_DIGITS},{part.scale})) * CAST({weight} AS DECIMAL(10,0))"
        failing = f"CAST(raise_error('{LINES_FAIL} a sum of too large numbers') AS DECIMAL(38,{part.scale}))"
        return (
            f"CASE WHEN {text} IS NULL THEN NULL WHEN {weight} = 1 THEN {text} WHEN {weight} = -1 THEN -{text} "
            f"WHEN abs({text}) < {limit} THEN {narrow} ELSE {failing} END"
        )

    def whole(self) -> str:
        """All lines, from the rows as they are now."""
        every = all_of(self._block.count, Version.NEW)
        if self._values:
            return self.changed([replace(every, weight="CAST(1 AS BIGINT)")])
        keys = [self._block.context.expression(key, every.inner, self._block.scope) for key in self._keys]
        shown = [f"{text} AS {name}" for text, name in zip(keys, self._names, strict=True)]
        shown.append(f"count(*) AS {_ROWS}")
        for part in self._added:
            value = self._value(part, every.inner)
            shown.append(f"count({value}) AS {RESERVED}c{part.number}")
            if part.sums:
                wide = self._wide(part, f"({value})")
                shown.append(f"{self._sum_of(part, wide)} AS {RESERVED}s{part.number}")
                if part.averages_doubles:
                    shown.append(f"{self._sum_of(part, f'abs({wide})')} AS {RESERVED}a{part.number}")
        sql = self._block.sql(every, columns=", ".join(shown), grouped=False)
        return f"{sql} GROUP BY {', '.join(keys)}" if keys else sql

    def changed(self, terms: list[Term]) -> str:
        """The lines of the changed rows."""
        rows = " UNION ALL ".join(self._changed_rows(term) for term in terms)
        weight = f"{RESERVED}w"
        by = [*self._names, *self._extremes.values, *self._values]
        shown = [*by, f"sum({weight}) AS {_ROWS}"]
        for part in self._added:
            value = f"{RESERVED}x{part.number}"
            counted = f"CASE WHEN {value} IS NULL THEN 0L ELSE {weight} END"
            shown.append(f"sum({counted}) AS {RESERVED}c{part.number}")
            if part.sums:
                wide = self._wide(part, value)
                shown.append(f"{self._sum_of(part, self._weighed(part, wide))} AS {RESERVED}s{part.number}")
                if part.averages_doubles:
                    size = self._sum_of(part, self._weighed(part, f"abs({wide})"))
                    shown.append(f"{size} AS {RESERVED}a{part.number}")
        group = f" GROUP BY {', '.join(by)}" if by else " HAVING count(*) > 0"
        lines = f"SELECT {', '.join(shown)} FROM ({rows}){group}"
        return self._extremes.changed(lines, self._columns) if self._extremes.parts else lines

    def _changed_rows(self, term: Term) -> str:
        said = self._block.context.expression
        keys = (said(key, term.inner, self._block.scope) for key in self._keys)
        shown = [f"{text} AS {name}" for text, name in zip(keys, self._names, strict=True)]
        shown += [f"{self._value(part, term.inner)} AS {RESERVED}x{part.number}" for part in self._parts]
        shown.append(f"{term.weight} AS {RESERVED}w")
        return self._block.sql(replace(term, weight=""), columns=", ".join(shown), grouped=False)

    def folded(self, lines: str) -> str:
        """The lines of each group, and value, as one; none for what has no rows."""
        sums = [f"sum({name}) AS {name}" for name in self._columns]
        by = [*self._names, *self._values]
        group = f" GROUP BY {', '.join(by)}" if by else ""
        having = f" HAVING sum({_ROWS}) <> 0" if by else ""
        return f"SELECT {', '.join([*by, *sums])} FROM (SELECT {self.listed} FROM ({lines})){group}{having}"

    def added_up(self, lines: str) -> str:
        """The lines of each group as one; none for a group without rows."""
        if not self._values:
            return self.folded(lines)
        wrong = f"CAST(raise_error('{LINES_FAIL} the rows of a value do not add up') AS BIGINT)"
        found = [*self._names, f"coalesce(sum(IF({_ROWS} < 0, {wrong}, {_ROWS})), 0) AS {_ROWS}"]
        found += [f"coalesce(sum({column}), 0) AS {column}" for column in self._columns if column != _ROWS]
        for part, value in zip(self._valued, self._values, strict=True):
            call = f"count(DISTINCT {value})" if part.name == "count" else f"{part.name}({value})"
            found.append(f"{call} AS {self._extremes.answer(part)}")
        group = f" GROUP BY {', '.join(self._names)}" if self._names else ""
        return f"SELECT {', '.join(found)} FROM ({self.folded(lines)}){group}"

    @property
    def listed(self) -> str:
        """The columns of a line."""
        return ", ".join([*self._names, *self._values, *self._columns])

    def gained(self, terms: list[Term], tallies: Tallies, about: str) -> str | None:
        """The view of the lines of the changed rows, which are noted to be kept; None if there are none."""
        view = self._block.context.bench.keep(self.changed(terms), about) if terms else None
        if view is None:
            tallies.unchanged = True
            return None
        tallies.gained = view
        tallies.folded = self.folded(self.with_gained(tallies))
        return view

    def with_gained(self, tallies: Tallies) -> str:
        """All lines so far and those to add."""
        before = f"SELECT {self.listed} FROM {quote(str(tallies.lines))}"
        return (
            before
            if tallies.gained is None
            else f"{before} UNION ALL SELECT {self.listed} FROM {quote(tallies.gained)}"
        )

    def for_key(self, item: Span, rows: str, condition: str) -> str:
        """One row: a column of the result over the lines that fulfil a condition, none of them included."""
        sums = [
            f"coalesce(sum({name}), 0) AS {name}" if name[len(RESERVED)] in "nc" else f"sum({name}) AS {name}"
            for name in self._columns
        ]
        return f"SELECT {self._said(item)} FROM (SELECT {', '.join(sums)} FROM {rows} WHERE {condition})"

    def answers(self, item: Span, lines: str, gained: str, before: str, after: str) -> str:
        """By key: a column of the result before and after, where it is another one.

        Args:
            item: The column.
            lines: SQL of the entries so far, those of the keys of ``gained`` at least.
            gained: SQL of the entries to add.
            before: What to call the column before.
            after: The same for the column after.
        """
        keys, then = ", ".join(self._names), [f"{name}_after" for name in self._columns]
        sums = []
        for name, later in zip(self._columns, then, strict=True):
            for value, shown in ((f"CASE WHEN {RESERVED}old THEN {name} END", name), (name, later)):
                total = f"sum({value})" if name[len(RESERVED)] not in "nc" else f"coalesce(sum({value}), 0)"
                sums.append(f"{total} AS {shown}")
        entries = (
            f"SELECT {self.listed}, true AS {RESERVED}old FROM ({lines}) "
            f"UNION ALL SELECT {self.listed}, false AS {RESERVED}old FROM ({gained})"
        )
        both = f"SELECT {keys}, {', '.join(sums)} FROM ({entries}) GROUP BY {keys}"
        # In two steps, since an expression names the entries by the same names in both.
        first = f"SELECT {keys}, {self._said(item)} AS {before}, {', '.join(then)} FROM ({both})"
        turned = ", ".join(f"{later} AS {name}" for name, later in zip(self._columns, then, strict=True))
        second = f"SELECT {keys}, {before}, {turned} FROM ({first})"
        answers = f"SELECT {keys}, {before}, {self._said(item)} AS {after} FROM ({second})"
        return f"SELECT * FROM ({answers}) WHERE NOT ({before} <=> {after})"

    # --- the change --------------------------------------------------------------------------------

    def change(
        self, terms: list[Term], tallies: Tallies, shown: tuple[int | None, ...] | None, published: Published | None
    ) -> Change | None:
        """The change of the result, by the lines so far and those of the changed rows, which are noted to be kept.

        Args:
            terms: The changed rows.
            tallies: The lines so far; is told what becomes of them.
            shown: By key: the column that shows it; None if some are not shown.
            published: The result before; None for a part of a query, whose keys are then not shown.
        """
        bench, lines = self._block.context.bench, tallies.lines
        assert lines is not None  # noqa: S101 - asked before
        view = self.gained(terms, tallies, "what the changed rows add to each group")
        if self.changed_answers():
            return self._change_of_answers(tallies, shown, published)
        if view is None:
            return None
        listed = self.listed
        same = " AND ".join(f"d.{name} <=> l.{name}" for name in self._names) or "true"
        within = "".join(
            f" AND {known.holds_or_null(f'l.{quote(name)}')}"
            for name, known in bench.ranges(view).items()
            if name.startswith(f"{RESERVED}k")
        )
        before = (
            f"SELECT * FROM {quote(lines)} AS l WHERE EXISTS (SELECT 1 FROM {quote(view)} AS d WHERE {same}){within}"
        )
        after = self.added_up(f"SELECT {listed} FROM ({before}) UNION ALL SELECT {listed} FROM {quote(view)}")
        if self._extremes.parts:
            assert shown is not None  # noqa: S101 - asked for by tally_of
            assert published is not None  # noqa: S101 - its columns are shown
            found = self._extremes.found(view, self.added_up(before), after, shown, published)
            which = published_among(self._block, shown, view, published)
            return replaced(published, which, self.result(found.lines), *found.read_again)
        if shown is not None and published is not None:
            return replaced(published, published_among(self._block, shown, view, published), self.result(after))
        old = weighted(self.result(self.added_up(before)), -1)
        return Change(f"{weighted(self.result(after), 1)} UNION ALL {old}")

    def _change_of_answers(
        self, tallies: Tallies, shown: tuple[int | None, ...] | None, published: Published | None
    ) -> Change | None:
        """The same if subqueries changed: all groups if columns have them, else those that HAVING judges otherwise."""
        before, after = f"SELECT * FROM {quote(str(tallies.lines))}", self.with_gained(tallies)
        having, which = self._block.select.having, None if published is None else "true"
        if self._names and having is not None and all(is_within(one.span, having) for one in self.changed_answers()):
            view = self._judged_otherwise(having, after, tallies)
            if view is None:
                return None
            same = " AND ".join(f"d.{name} <=> l.{name}" for name in self._names)
            there = f"EXISTS (SELECT 1 FROM {quote(view)} AS d WHERE {same})"
            before, after = (f"SELECT * FROM ({lines}) AS l WHERE {there}" for lines in (before, after))
            which = None
            if shown is not None and published is not None:
                which = published_among(self._block, shown, view, published)
        result = self.result(self.added_up(after))
        if published is not None and which is not None:
            return replaced(published, which, result)
        old = weighted(self.result(self.added_up(before), Version.OLD), -1)
        return Change(f"{weighted(result, 1)} UNION ALL {old}")

    def _judged_otherwise(self, having: Span, lines: str, tallies: Tallies) -> str | None:
        """The keys of the groups that changed, or of which HAVING says something else now; None if there are none."""
        listed = ", ".join(self._names)
        new, old = (f"coalesce({self._said(having, version)}, false)" for version in (Version.NEW, Version.OLD))
        keys = f"SELECT {listed} FROM ({self.added_up(lines)}) WHERE {new} <> {old}"
        if tallies.gained is not None:
            keys = f"SELECT DISTINCT * FROM ({keys} UNION ALL SELECT {listed} FROM {quote(tallies.gained)})"
        return self._block.context.bench.keep(keys, "the keys of groups that HAVING may judge otherwise")

    # --- from lines to rows ------------------------------------------------------------------------

    def result(self, lines: str, version: Version = Version.NEW) -> str:
        """The rows of the result, out of one line for each group; subqueries answer from one state."""
        select = self._block.select
        # By names of our own first, so that nothing in an item can mean an item before it.
        items = [f"{self._item(item.span, version)} AS {RESERVED}i{at}" for at, item in enumerate(select.items)]
        named = [
            f"{RESERVED}i{at} AS {item.alias or quote(f'{RESERVED}i{at}')}" for at, item in enumerate(select.items)
        ]
        conditions = [self._adds_up()]
        if select.having is not None:
            conditions.append(f"({self._said(select.having, version)})")
        rows = f"SELECT {', '.join(items)} FROM ({lines}) WHERE {' AND '.join(conditions)}"
        return f"SELECT {', '.join(named)} FROM ({rows})"

    def _adds_up(self) -> str:
        """Lines that say less than nothing are wrong; rather fail than publish what they say."""
        wrong = " OR ".join(f"{name} < 0" for name in self._columns if name[len(RESERVED)] in "nca")
        return f"IF({wrong}, CAST(raise_error('{LINES_FAIL} the sums of a group do not add up') AS BOOLEAN), true)"

    def _item(self, span: Span, version: Version) -> str:
        """A column of the result, said over lines: a key as a whole, or made of aggregates."""
        blocks = self._block.context.blocks
        words = folded(blocks, span)
        same = (name for key, name in zip(self._keys, self._names, strict=True) if folded(blocks, key) == words)
        return next(same, None) or self._said(span, version)

    def _said(self, span: Span, version: Version = Version.NEW) -> str:
        """An expression without names beside its aggregates, said over lines."""
        context, scope = self._block.context, self._block.scope
        answers = {call: self._answer(part) for call, part in self._calls.items()}
        answers |= {one.span: context.expression(one.span, version, scope) for one in self._asked}
        text, at = [], span.start
        for call in sorted(answers, key=lambda call: call.start):
            if is_within(call, span):
                text += [context.blocks.text[at : call.start], answers[call]]
                at = call.end
        return "".join([*text, self._block.context.blocks.text[at : span.end]])

    def _answer(self, part: Part) -> str:
        count = f"{RESERVED}c{part.number}"
        if part.is_extreme or part.valued:
            return self._extremes.answer(part)
        if part.name == "count" and part.value is None and part.only is None:
            return _ROWS
        if not part.sums:
            return count
        total, size = f"{RESERVED}s{part.number}", f"{RESERVED}a{part.number}"
        if part.name == "sum":
            text = f"CAST({total} AS {part.answer})"
        elif part.averages_doubles:
            exact = f"CAST({total} AS DOUBLE) / CAST({count} AS DOUBLE)"
            failing = f"raise_error('{LINES_FAIL} an average of more than 2^53 in all')"
            text = f"IF({size} < {tuning().exact_double_limit}, {exact}, {failing})"
        else:
            digits = int(part.kind.removeprefix("decimal(").split(",")[0])
            exact = f"CAST({total} AS DECIMAL({digits + 10},{part.scale})) / CAST({count} AS DECIMAL(20,0))"
            text = (
                f"IF({count} < 100000000, CAST({exact} AS {part.answer}), "
                f"raise_error('{LINES_FAIL} an average of too many rows'))"
            )
        return f"CASE WHEN {count} > 0 THEN {text} END"


def tally_of(
    block: Block, keys: tuple[Span, ...], shown: tuple[int | None, ...] | None, calls: list[Call]
) -> Tally | None:
    """How a SELECT with groups is kept as lines; None if it cannot be.

    A column is a key as a whole, or an expression whose only names are inside of aggregates: over lines it then says
    the same. A key inside a larger expression would need to be found there, and names are easily mistaken.

    Args:
        block: The SELECT.
        keys: What it groups by.
        shown: By key: the column that shows it; None if the published rows do not tell all keys.
        calls: Its aggregates.
    """
    select, blocks = block.select, block.context.blocks
    # A star inside a function would hold the weight of the changed rows.
    stars = any(item.star is not None for item in select.items) or block.star_in_call() is not None
    if stars or select.qualify is not None or select.sets:
        return None
    # A number as a key would be read as a position.
    if (select.group is not None and not keys) or any(position_in(blocks, key) is not None for key in keys):
        return None
    words = {folded(blocks, key) for key in keys}
    made = [item.span for item in select.items if folded(blocks, item.span) not in words]
    if select.having is not None:
        made.append(select.having)
    asked = closed_answers(block, made, calls)
    if not all(has_no_names(blocks, span, [*calls, *asked]) for span in made):
        return None
    parts = parts_of(block, calls)
    if parts is None:
        return None
    tally = Tally(block, keys, *parts, asked)
    if tally.hides_extremes(shown):
        parts = with_values(*parts)
        if parts is None:
            return None
        tally = Tally(block, keys, *parts, asked)
    return tally if tally.is_understood(shown) else None
