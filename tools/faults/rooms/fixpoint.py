"""Faults of recursive queries and cycles: semi-naive evaluation, delete-and-rederive, counting."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_FIXPOINT = Room(
    "engine/fixpoint",
    "airflow_trickle/engine/fixpoint",
    tests=(
        "tests/engine/fixpoint/test_near_without_spark.py",
        "tests/engine/fixpoint/test_passes_without_spark.py",
        "tests/engine/fixpoint/test_joins.py",
    ),
    slow=(
        "tests/engine/fixpoint/test_named_cases.py",
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
        slow=("tests/engine/fixpoint/test_rules_and_layers.py::test_rows_of_one_pass_do_not_hold_up_each_other",),
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
        slow=("tests/engine/test_non_convergence.py",),
    ),
    _FIXPOINT.fault(
        "best-value-is-the-worst",
        "a lattice column with min takes over larger values",
        "adding.py",
        'sign = "<" if best.way == "min" else ">"',
        'sign = ">" if best.way == "min" else "<"',
        slow=(
            "tests/engine/fixpoint/test_rules_and_layers.py::test_what_came_from_a_value_that_was_bettered_goes_too",
        ),
    ),
    _FIXPOINT.fault(
        "counting-reads-new-on-both-sides",
        "counting joins changes with the new state on both sides, so pairs count twice",
        "counted.py",
        "before, after = bag.now(without_last=True), bag.now()",
        "before, after = bag.now(), bag.now()",
        slow=("tests/engine/fixpoint/test_rules_and_layers.py::test_two_new_rows_that_meet_are_counted_once",),
    ),
    _FIXPOINT.fault(
        "cycle-with-work-only-advances",
        "a cycle of which one table has work and another has not is not computed",
        "decide.py",
        "for kind in (Decision.SKIP, Decision.WORK, Decision.ADVANCE, Decision.IDLE):",
        "for kind in (Decision.SKIP, Decision.ADVANCE, Decision.IDLE, Decision.WORK):",
        tests=("tests/engine/test_ticks_on_duckdb.py",),
        slow=("tests/engine/test_definition_changes.py", "tests/engine/fixpoint/test_design_cases.py"),
    ),
    _FIXPOINT.fault(
        "ranks-of-other-inputs",
        "ranks are used although they stand for other snapshots of the inputs",
        "ranks.py",
        '    if said["inputs"] != json.loads(frontier.as_json())["inputs"]:\n        return None\n',
        "",
        tests=("tests/engine/test_state_that_fits.py",),
        slow=("tests/engine/restate/test_replayed_cycles.py", "tests/engine/fixpoint/test_resume.py"),
    ),
    _FIXPOINT.fault(
        "pass-sees-the-pass-before",
        "members see what the others had before the pass, not what those before them have got in it (Jacobi)",
        "near.py",
        "            for key, rows in self.rows.items():\n"
        "                read = dict(machine.consumed.get(key, {}))\n"
        "                try:\n"
        "                    found = self._gathered(chain(first.get(key, ()), self._following(key)))\n",
        "            ahead = {\n"
        "                key: self._gathered(chain(first.get(key, ()), self._following(key))) for key in self.rows\n"
        "            }\n"
        "            for key, rows in self.rows.items():\n"
        "                read = dict(machine.consumed.get(key, {}))\n"
        "                try:\n"
        "                    found = ahead[key]\n",
        slow=("tests/engine/fixpoint/test_design_cases.py",),
    ),
    _FIXPOINT.fault(
        "pass-on-spark-sees-the-pass-before",
        "the same where rules are followed by Spark",
        "machine.py",
        "            for key, rows in self.rows.items():\n"
        "                found = [*first.get(key, ()), *self._following(rows)]\n",
        "            ahead = {key: [*first.get(key, ()), *self._following(rows)] for key, rows in self.rows.items()}\n"
        "            for key, rows in self.rows.items():\n"
        "                found = ahead[key]\n",
        slow=("tests/engine/fixpoint/test_design_cases.py",),
    ),
    _FIXPOINT.fault(
        "except-of-the-cycle-is-a-union",
        "what is subtracted from a member of a cycle is added to it",
        "finding.py",
        "            if body.kind is not SetKind.UNION:\n                raise",
        "            if body.kind is SetKind.INTERSECT:\n                raise",
        slow=("tests/engine/fixpoint/test_design_cases.py",),
    ),
    _FIXPOINT.fault(
        "computed-in-full-settles-one-pass-early",
        "a cycle of which every pass is computed in full counts as settled when a pass brings only one row",
        "naive.py",
        "if not one.total:",
        "if one.total <= 1:",
        tests=("tests/engine/fixpoint/test_passes_without_spark.py",),
        slow=("tests/engine/fixpoint/test_design_cases.py",),
    ),
    _FIXPOINT.fault(
        "submission-makes-one-pass-more",
        "a submission makes one pass more than passes_per_submission",
        "checkpoint.py",
        "return most is not None and self.passes >= most",
        "return most is not None and self.passes > most",
        slow=("tests/engine/fixpoint/test_passes_per_submission.py",),
    ),
    _FIXPOINT.fault(
        "cap-counts-one-submission",
        "max_fixpoint_iterations counts the passes since the last submission or kill only",
        "saving.py",
        'self.naive.settle(frames, found.state["layer"], found.state["count"])',
        'self.naive.settle(frames, found.state["layer"], 0)',
        slow=("tests/engine/fixpoint/test_passes_per_submission.py",),
    ),
    Fault(
        "ranks-of-a-broken-cycle-are-state",
        "a table that left its cycle takes the ranks of the cycle for auxiliary state of its own",
        "engine",
        "airflow_trickle/engine/kept.py",
        '    if "kind" in said:\n        return None  # the ranks of a cycle that the table belonged to\n',
        "",
        ("tests/engine/test_state_that_fits.py",),
        ("tests/engine/fixpoint/test_design_cases.py",),
    ),
    Fault(
        "only-one-member-has-failed",
        "when a cycle fails, only its first table gets the error",
        "engine",
        "airflow_trickle/engine/refresh.py",
        "        for run in runs:\n            record_failure(run, error)\n        raise\n",
        "        record_failure(runs[0], error)\n        raise\n",
        ("tests/engine/test_ticks_on_duckdb.py",),
        ("tests/engine/fixpoint/test_design_cases.py",),
    ),
    Fault(
        "drop-leaves-what-was-made",
        "dropping a table with mutual recursion leaves the tables that were made from its CTEs",
        "engine",
        "airflow_trickle/engine/steer.py",
        "        group = groups.get(status.identifier)\n        found |=",
        "        group = None\n        found |=",
        ("tests/cli/test_states.py",),
    ),
    Fault(
        "dropped-table-keeps-its-state",
        "the status of a dropped table stays, so the next tick takes it for one that is there",
        "engine",
        "airflow_trickle/engine/steer.py",
        "            forget(lake, connection, status.identifier)\n",
        "",
        ("tests/cli/test_states.py",),
    ),
)
