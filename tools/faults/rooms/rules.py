"""Faults of the delta rules: joins, subqueries, set operations, CTEs, ranges."""

from __future__ import annotations

from tools.faults.fault import Fault, Room
from tools.faults.rooms.golden import ROWS_OF_GOLDEN_CASES

_RULES = Room(
    "engine/delta",
    "airflow_trickle/engine/delta",
    tests=(*ROWS_OF_GOLDEN_CASES, "tests/engine/delta/test_golden.py", "tests/engine/delta/test_rules.py"),
    slow=("tests/engine/delta/test_compositions.py", "tests/engine/test_differential.py"),
)
_BY_HAND = ("tests/engine/delta/test_rows_by_hand.py",)
_RANGES = ("tests/engine/delta/test_ranges.py", "tests/engine/delta/test_narrowing.py")

RULES: tuple[Fault, ...] = (
    _RULES.fault(
        "join-meets-old-right-side",
        "changed rows on the left of an inner join meet the right side as it was before",
        "joins.py",
        "return [*(term.with_(Version.NEW) for term in prefix), *more]",
        "return [*(term.with_(Version.OLD) for term in prefix), *more]",
    ),
    _RULES.fault(
        "join-counts-both-changes-twice",
        "changed rows on the right of an inner join meet the new left side, so pairs of changes count twice",
        "joins.py",
        "more = [Term((Version.OLD,) * at).with_(Version.DELTA)] if changed else []",
        "more = [Term((Version.NEW,) * at).with_(Version.DELTA)] if changed else []",
    ),
    _RULES.fault(
        "left-join-old-rows-stay",
        "a left join adds the old form of an affected row instead of taking it away",
        "joins.py",
        "changes = [(Version.OLD, -1)]",
        "changes = [(Version.OLD, 1)]",
    ),
    _RULES.fault(
        "semi-join-old-rows-stay",
        "a semi join adds the affected rows that had a partner instead of taking them away",
        "joins.py",
        "for version, weight in ((Version.NEW, 1), (Version.OLD, -1)):\n"
        "            term = uniform(at, Version.OLD, weight)"
        ".with_(version, join)",
        "for version, weight in ((Version.NEW, 1), (Version.OLD, 1)):\n"
        "            term = uniform(at, Version.OLD, weight)"
        ".with_(version, join)",
    ),
    _RULES.fault(
        "left-join-partner-gone-forgotten",
        "a left join forgets rows that lost their last partner",
        "joins.py",
        "if not isinstance(relation, TableName) or not self._context.views_of(relation, self._scope).grows:",
        "if not isinstance(relation, TableName):",
    ),
    _RULES.fault(
        "anti-join-ignores-its-right-side",
        "an anti join does not follow changes of its right side",
        "joins.py",
        "if not changed or met is None:\n            return terms",
        "if not changed or met is None or item.kind is JoinKind.ANTI:\n            return terms",
    ),
    _RULES.fault(
        "right-join-meets-old-left-side",
        "changed rows on the right of a right join meet the left side as it was before",
        "joins.py",
        "terms = [Term((Version.NEW,) * at).with_(Version.DELTA, join)] if changed else []",
        "terms = [Term((Version.OLD,) * at).with_(Version.DELTA, join)] if changed else []",
        tests=_BY_HAND,
    ),
    _RULES.fault(
        "full-join-forgets-unmatched-rows",
        "a full join forgets the rows of its right side that have no partner",
        "joins.py",
        "return [*left, *self._without_partner(prefix, at, item, changed)]",
        "return left",
    ),
    _RULES.fault(
        "full-join-asks-old-partners",
        "whether a changed row of a full join has a partner is asked of the old left side",
        "joins.py",
        "conditions=(alone[Version.NEW],)",
        "conditions=(alone[Version.OLD],)",
    ),
    _RULES.fault(
        "copies-of-a-row-count-once",
        "the weight of a changed row is only its sign, so duplicates are lost",
        "selects.py",
        'columns = f"{columns}, {term.weight} AS {WEIGHT}"',
        'columns = f"{columns}, CAST(sign({term.weight}) AS BIGINT) AS {WEIGHT}"',
    ),
    _RULES.fault(
        "in-subquery-forgets-null",
        "x IN (subquery) does not reconsider rows whose x is NULL",
        "selects.py",
        'return " OR ".join([*tests, f"{probe} IS NULL"])',
        'return " OR ".join(tests)',
        tests=_BY_HAND,
    ),
    _RULES.fault(
        "subquery-answer-not-taken-back",
        "rows for which a subquery's answer changed are added with the new answer and not taken away with the old",
        "selects.py",
        "for version, weight in ((Version.NEW, 1), (Version.OLD, -1))\n        ]",
        "for version, weight in ((Version.NEW, 1),)\n        ]",
    ),
    _RULES.fault(
        "changed-rows-ask-old-subqueries",
        "a changed row is filtered by subqueries over their old state",
        "terms.py",
        "inner: Version = Version.NEW",
        "inner: Version = Version.OLD",
    ),
    _RULES.fault(
        "old-state-asks-new-subqueries",
        "the old state of a query is computed with subqueries over their new state",
        "terms.py",
        'return Term((version,) * count, "", inner=version if version is Version.OLD else Version.NEW)',
        'return Term((version,) * count, "", inner=Version.NEW)',
    ),
    _RULES.fault(
        "cte-before-is-cte-after",
        "the old state of a CTE is computed from the new state of what it reads",
        "program.py",
        "old = context.bench.view(named(context.render(cte.query, Version.OLD, scope)",
        "old = context.bench.view(named(context.render(cte.query, Version.NEW, scope)",
    ),
    _RULES.fault(
        "top-rows-of-the-old-state",
        "ORDER BY … LIMIT takes its rows from the old state",
        "program.py",
        "after or context.render(behind_with, Version.NEW, scope)",
        "after or context.render(behind_with, Version.OLD, scope)",
    ),
    _RULES.fault(
        "union-all-loses-one-side",
        "UNION ALL loses the change of its right side when the left side changed too",
        "sets.py",
        "parts = [_cast(columns, side) for side in (left, right) if side is not None]",
        "parts = [_cast(columns, side) for side in (left or right,) if side is not None]",
    ),
    _RULES.fault(
        "distinct-needs-two-copies",
        "DISTINCT keeps a row only while it is there twice",
        "sets.py",
        '"if({l} + {r} > 0, 1L, 0L)"',
        '"if({l} + {r} > 1, 1L, 0L)"',
    ),
    _RULES.fault(
        "intersect-all-takes-more",
        "INTERSECT ALL keeps the larger number of copies",
        "sets.py",
        '"least({l}, {r})"',
        '"greatest({l}, {r})"',
    ),
    _RULES.fault(
        "except-all-subtracts-the-wrong-way",
        "EXCEPT ALL subtracts the left side from the right one",
        "sets.py",
        '"greatest({l} - {r}, 0L)"',
        '"greatest({r} - {l}, 0L)"',
    ),
    _RULES.fault(
        "except-keeps-removed-rows",
        "EXCEPT keeps a row that is once on its right side",
        "sets.py",
        '"if({l} > 0 AND {r} <= 0, 1L, 0L)"',
        '"if({l} > 0 AND {r} <= 1, 1L, 0L)"',
    ),
    _RULES.fault(
        "set-operation-null-is-not-null",
        "a set operation does not find the counts of rows with a NULL",
        "sets.py",
        'same = " AND ".join(f"d.{name} <=> n.{name}" for name in names)',
        'same = " AND ".join(f"d.{name} = n.{name}" for name in names)',
    ),
    _RULES.fault(
        "distinct-gain-null-is-new",
        "DISTINCT of rows that only come publishes a row with a NULL again and again",
        "sets.py",
        'f"{{0}}{name} <=> p.{own}"',
        'f"{{0}}{name} = p.{own}"',
    ),
    _RULES.fault(
        "range-excludes-its-end",
        "the range of a change excludes its greatest value",
        "ranges.py",
        'AND {expression} <= {high})" for',
        'AND {expression} < {high})" for',
        tests=_RANGES,
    ),
    _RULES.fault(
        "touching-ranges-are-apart",
        "ranges that share their end are taken to have no value in common",
        "ranges.py",
        "all(high < start or end < low for",
        "all(high <= start or end <= low for",
        tests=_RANGES,
    ),
    _RULES.fault(
        "range-forgets-null",
        "the range of a group's keys leaves out the group of NULL",
        "ranges.py",
        'return f"({self.holds(expression)} OR {expression} IS NULL)" if self.has_null else self.holds(expression)',
        "return self.holds(expression)",
        tests=_RANGES,
    ),
    _RULES.fault(
        "outer-join-without-partner-is-empty",
        "new rows on the left of a left join are left out if no partner can exist",
        "narrowing.py",
        "join is None\n            and known.ranges is not None\n            and self.relations.never_meets(",
        "known.ranges is not None\n            and self.relations.never_meets(",
        tests=_RANGES,
    ),
)
