"""Faults of incremental aggregates and windows, and of the auxiliary state beside a table."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_DELTA = Room(
    "engine/delta aggregates",
    "airflow_trickle/engine/delta",
    tests=("tests/engine/delta/test_golden.py", "tests/engine/delta/test_rules.py"),
    slow=("tests/engine/test_kept.py", "tests/engine/delta/test_compositions.py", "tests/engine/test_differential.py"),
)

AGGREGATES: tuple[Fault, ...] = (
    _DELTA.fault(
        "only-the-first-term-touches-groups",
        "groups are recomputed only for the keys that the first changed input touches",
        "groups.py",
        'parts = []\n    for term in terms:\n        columns = ", ".join(',
        'parts = []\n    for term in terms[:1]:\n        columns = ", ".join(',
    ),
    _DELTA.fault(
        "windows-with-other-partitions",
        "of several windows with different partitions only those of one are recomputed",
        "groups.py",
        "if len(texts) != 1:",
        "if not texts:",
    ),
    _DELTA.fault(
        "touched-groups-cancel-out",
        "what touched groups gave before is computed from the new rows",
        "groups.py",
        "before = block.sql(replace(all_of(block.count, Version.OLD), conditions=condition))",
        "before = block.sql(replace(all_of(block.count, Version.NEW), conditions=condition))",
    ),
    _DELTA.fault(
        "having-left-out",
        "touched groups are recomputed without HAVING",
        "selects.py",
        '"HAVING": self.select.having,',
        '"HAVING": None,',
    ),
    _DELTA.fault(
        "group-of-null-not-recomputed",
        "the rows of the group whose key is NULL are not found",
        "keys.py",
        '{quote(key_name(number))} <=> ({text})"',
        '{quote(key_name(number))} = ({text})"',
    ),
    _DELTA.fault(
        "published-group-of-null-stays",
        "the published row of the group whose key is NULL is not taken away",
        "keys.py",
        'equal.append(f"{quote(name)} <=> {column}")',
        'equal.append(f"{quote(name)} = {column}")',
    ),
    _DELTA.fault(
        "minimum-not-read-again",
        "a group whose minimum or maximum was deleted is not read again",
        "extremes.py",
        'doubts.append(f"({went} IS NOT NULL AND NOT ({sure}))")',
        'doubts.append("false")',
    ),
    _DELTA.fault(
        "deleted-minimum-counts-as-safe",
        "a deleted value that equals the published minimum is taken for a worse one",
        "extremes.py",
        'sure = f"coalesce(p.{self.answer(part)} {better} {went}, false)',
        'sure = f"coalesce(p.{self.answer(part)} {as_good} {went}, false)',
    ),
    _DELTA.fault(
        "sums-are-never-subtracted",
        "deleted rows are added to the sums of auxiliary state",
        "tally.py",
        "self._sum_of(part, f'{wide} * {times}')",
        "self._sum_of(part, f'{wide} * abs({times})')",
    ),
    _DELTA.fault(
        "vanished-group-is-kept",
        "a group that lost its last row stays in auxiliary state",
        "tally.py",
        'having = f" HAVING sum({_ROWS}) <> 0" if self._names else ""',
        'having = ""',
    ),
    _DELTA.fault(
        "count-counts-null",
        "count(x) counts changed rows whose x is NULL",
        "tally.py",
        'counted = f"CASE WHEN {value} IS NULL THEN 0L ELSE {weight} END"',
        "counted = weight",
    ),
    _DELTA.fault(
        "having-ignored-by-auxiliary-state",
        "groups out of auxiliary state are published whatever HAVING says",
        "tally.py",
        'conditions.append(f"({self._said(select.having)})")',
        'conditions.append("true")',
    ),
    _DELTA.fault(
        "sum-of-null-swallows-new-rows",
        "a published NULL plus what came is NULL",
        "merging.py",
        'return f"CASE WHEN {old} IS NULL THEN {gain} WHEN {gain} IS NULL THEN {old} ELSE {both} END"',
        "return both",
    ),
    _DELTA.fault(
        "group-that-lost-a-row-only-grows",
        "a group that lost a row is merged as if rows only came",
        "merging.py",
        "lost = None if only_gains else self._keep_lost(gained)",
        "lost = None",
    ),
    _DELTA.fault(
        "rows-added-twice-count-once",
        "a row that came several times is aggregated once",
        "joins.py",
        "array_repeat(0, CAST({WEIGHT} AS INT))",
        "array_repeat(0, 1)",
    ),
    Fault(
        "auxiliary-state-of-other-inputs",
        "auxiliary state is used although it stands for other snapshots of the inputs",
        "engine",
        "airflow_trickle/engine/kept.py",
        'if said["definition"] != definition or said["inputs"] != json.loads(frontier.as_json())["inputs"]:',
        'if said["definition"] != definition:',
        ("tests/engine/test_kept.py",),
        ("tests/engine/restate/test_replay.py", "tests/engine/test_differential.py"),
    ),
)
