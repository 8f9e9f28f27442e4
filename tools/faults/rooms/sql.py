"""Faults in how a query is read: algebra and blocks."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_ALGEBRA = Room("algebra", "airflow_trickle/algebra", tests=("tests/algebra", "tests/analysis"))
_BLOCKS = Room(
    "blocks",
    "airflow_trickle/blocks",
    tests=("tests/blocks", "tests/engine/delta/test_golden.py", "tests/engine/delta/test_narrowing.py"),
    slow=("tests/engine/delta/test_rules.py", "tests/engine/delta/test_compositions.py"),
)

SQL: tuple[Fault, ...] = (
    _BLOCKS.fault(
        "star-names-no-column",
        "a change holds only the columns that a query names although a star reads all",
        "columns_named.py",
        "if stars and not asked:",
        "if False:",
        tests=("tests/blocks/test_columns_named.py",),
    ),
    _BLOCKS.fault(
        "pivot-part-of-a-condition",
        "PIVOT behind the condition of a join is taken for a part of the condition",
        "sources.py",
        "on = cursor.until(_ENDS | set(_STRANGE)).span",
        "on = cursor.until(_ENDS).span",
        tests=("tests/algebra/test_golden_trees.py",),
    ),
    _ALGEBRA.fault(
        "fingerprint-ignores-tables",
        "the fingerprint of a query ignores which tables its names stand for",
        "references.py",
        'meaning = "\\x00".join((parsed.normal, *identifiers))',
        'meaning = "\\x00".join((parsed.normal,))',
        tests=("tests/algebra/test_fingerprints.py",),
    ),
    _ALGEBRA.fault(
        "odd-table-name-not-quoted",
        "a table whose name is no plain word gets an alias without quotes",
        "references.py",
        'quoted = bare if plain or bare.startswith("`") else f"`{bare}`"',
        "quoted = bare",
        tests=("tests/algebra/test_references.py",),
    ),
    _ALGEBRA.fault(
        "clock-counts-as-deterministic",
        "current_timestamp() counts as a function that always answers the same",
        "functions.py",
        '    **dict.fromkeys(_CLOCK, "depends on when it runs"),\n',
        "",
        tests=("tests/algebra/test_functions.py", "tests/analysis/test_modes.py"),
    ),
    _ALGEBRA.fault(
        "negated-in-counts-as-positive",
        "NOT around EXISTS or IN inside a larger condition does not make it negative",
        "predicates.py",
        "positive = not positive",
        "positive = bool(positive)",
        tests=("tests/algebra/test_golden_trees.py",),
    ),
    _ALGEBRA.fault(
        "not-exists-becomes-a-semi-join",
        "NOT EXISTS and NOT IN become semi joins",
        "predicates.py",
        "JoinKind.ANTI if negated else JoinKind.SEMI",
        "JoinKind.SEMI",
        tests=("tests/algebra/test_golden_trees.py",),
    ),
    _ALGEBRA.fault(
        "derived-query-loses-recursive",
        "a CTE that reads itself loses the word RECURSIVE when mutual recursion is taken apart",
        "decompose.py",
        "use.reader in kept and use.cte >= use.reader and",
        "use.reader in kept and use.cte > use.reader and",
        tests=("tests/algebra/test_decompose.py",),
    ),
    _BLOCKS.fault(
        "sums-of-named-windows-unseen",
        "whether a query comes out the same each time is not asked of its WINDOW clause",
        "repeatable.py",
        "select.having, select.qualify, select.windows))",
        "select.having, select.qualify))",
        tests=("tests/engine/delta/test_golden.py",),
    ),
    _BLOCKS.fault(
        "or-counts-as-and",
        "the parts of a condition with OR count as conditions that every row fulfils",
        "expressions.py",
        "_NO_PLAIN_AND = {TokenType.OR, TokenType.CASE}",
        "_NO_PLAIN_AND = {TokenType.CASE}",
    ),
    _BLOCKS.fault(
        "between-is-cut-in-two",
        "the AND of BETWEEN separates two conditions",
        "expressions.py",
        "between = True",
        "between = False",
    ),
    _BLOCKS.fault(
        "count-distinct-is-merged",
        "count(DISTINCT x) counts as an aggregate that can be added to",
        "expressions.py",
        "return cursor.peek(2) is TokenType.DISTINCT",
        "return cursor.peek(1) is TokenType.DISTINCT",
    ),
    _BLOCKS.fault(
        "two-readings-not-compared",
        "the blocks of a query are not compared with what the parser says of it",
        "check.py",
        "if ours != theirs:",
        "if len(ours) != len(theirs):",
        slow=("tests/algebra/test_corpora.py",),
    ),
    _BLOCKS.fault(
        "limit-of-windows-is-left-out",
        "a window over all rows counts as one row, so its LIMIT is ignored",
        "one_row.py",
        "if any(call.name in _AGGREGATES and call.over is None and call.window is None for call in calls):",
        "if any(call.name in _AGGREGATES for call in calls):",
    ),
    _BLOCKS.fault(
        "limit-of-groups-is-left-out",
        "groups count as one row, so their LIMIT is ignored",
        "one_row.py",
        "    if body.group is not None or body.group_all or body.sets or body.qualify is not None:",
        "    if body.qualify is not None:",
    ),
    _ALGEBRA.fault(
        "limit-zero-takes-nothing-away",
        "LIMIT 0 of one row of aggregates counts as no limit",
        "one_row.py",
        "int(literal.name) >= 1",
        "int(literal.name) >= 0",
        tests=("tests/analysis/test_modes.py",),
    ),
)
