"""Faults of recursive queries and cycles: semi-naive evaluation, delete-and-rederive, counting."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_FIXPOINT = Room(
    "engine/fixpoint",
    "airflow_trickle/engine/fixpoint",
    tests=("tests/engine/fixpoint/test_joins.py", "tests/engine/fixpoint/test_named_cases.py"),
    slow=(
        "tests/engine/fixpoint/test_near.py",
        "tests/engine/fixpoint/test_examples.py",
        "tests/engine/fixpoint/test_rules_and_layers.py",
        "tests/engine/fixpoint/test_recursive_ctes.py",
        "tests/engine/fixpoint/test_random_graphs.py",
    ),
)

FIXPOINT: tuple[Fault, ...] = (
    _FIXPOINT.fault(
        "two-new-rows-never-meet",
        "semi-naive evaluation joins new rows with old rows only, on both sides",
        "near.py",
        "yield self._given(rule, (*left, new[atom.member], *map(self._state, rule.atoms[at + 1 :])))",
        "right = (\n"
        "                    self._state(one) if one.member is None else self.rows[one.member].upto(upto[one.member])\n"
        "                    for one in rule.atoms[at + 1 :]\n"
        "                )\n"
        "                yield self._given(rule, (*left, new[atom.member], *right))",
    ),
    _FIXPOINT.fault(
        "old-rows-stop-one-rank-early",
        "the rows of the pass before are missing on the old side of semi-naive evaluation",
        "near_rows.py",
        "return now.filter(pc.less_equal(now[RANK], rank))",
        "return now.filter(pc.less(now[RANK], rank))",
    ),
    _FIXPOINT.fault(
        "row-supports-itself",
        "delete-and-rederive lets a row of the same rank hold a row up (Arrow)",
        "near.py",
        'pc.less(found["needs"], found[RANK])',
        'pc.less_equal(found["needs"], found[RANK])',
    ),
    _FIXPOINT.fault(
        "row-supports-itself-on-spark",
        "delete-and-rederive lets a row of the same rank hold a row up (Spark)",
        "retract.py",
        'f"WHERE {rows.same(c, d)} AND {d}.{WEIGHT} < {c}.{WEIGHT})",',
        'f"WHERE {rows.same(c, d)} AND {d}.{WEIGHT} <= {c}.{WEIGHT})",',
    ),
    _FIXPOINT.fault(
        "nothing-is-derived-again",
        "a row that went is not derived again in another way",
        "near.py",
        "self._gather(gained, chain(self._gained(changes), self._derivable_again()))",
        "self._gather(gained, self._gained(changes))",
    ),
    _FIXPOINT.fault(
        "cycle-settles-one-pass-early",
        "a cycle counts as settled when a pass brings only one row",
        "machine.py",
        "return not one.total",
        "return one.total <= 1",
    ),
    _FIXPOINT.fault(
        "iteration-cap-ignored",
        "a cycle goes on far beyond max_fixpoint_iterations",
        "machine.py",
        "sum(each.phase == phase for each in self.trace) >= self.cap:",
        "sum(each.phase == phase for each in self.trace) >= 100 * self.cap:",
        tests=("tests/engine/test_non_convergence.py",),
    ),
    _FIXPOINT.fault(
        "best-value-is-the-worst",
        "a lattice column with min takes over larger values",
        "adding.py",
        'sign = "<" if best.way == "min" else ">"',
        'sign = ">" if best.way == "min" else "<"',
    ),
    _FIXPOINT.fault(
        "counting-reads-new-on-both-sides",
        "counting joins changes with the new state on both sides, so pairs count twice",
        "counted.py",
        "before, after = bag.now(without_last=True), bag.now()",
        "before, after = bag.now(), bag.now()",
    ),
    _FIXPOINT.fault(
        "cycle-with-work-only-advances",
        "a cycle of which one table has work and another has not is not computed",
        "decide.py",
        "for kind in (Decision.SKIP, Decision.WORK, Decision.ADVANCE, Decision.IDLE):",
        "for kind in (Decision.SKIP, Decision.ADVANCE, Decision.IDLE, Decision.WORK):",
        tests=("tests/engine/test_definition_changes.py",),
        slow=("tests/cli/test_cycles.py",),
    ),
    _FIXPOINT.fault(
        "ranks-of-other-inputs",
        "ranks are used although they stand for other snapshots of the inputs",
        "ranks.py",
        '    if said["inputs"] != json.loads(frontier.as_json())["inputs"]:\n        return None\n',
        "",
        slow=("tests/engine/restate/test_replayed_cycles.py", "tests/engine/fixpoint/test_resume.py"),
    ),
)
