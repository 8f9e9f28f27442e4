"""The tuning record: its defaults, who sees a changed one, and that no test reaches past it."""

from __future__ import annotations

import ast
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_trickle.lakehouse import commit, leases
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.tuning import Tuning, changed, tuned, tuning
from tests.conftest import Tuned

ROOT = Path(__file__).parents[1]
MIB = 1024**2

#: Upper-case names that tests may patch all the same, with the reason.
PATCHED_ALL_THE_SAME = {
    "PROFILE": "the budget of a test run, which is not the package's",
    "SEED": "the seed of a test run, which is not the package's",
    "_SIMPLE": "a pattern of file paths, which is no quantity: the test needs a path that Spark spells differently",
}
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("arrow_change_rows", 100_000),
        ("arrow_change_bytes", 32 * MIB),
        ("arrow_compare_rows", 200_000),
        ("arrow_compare_bytes", 32 * MIB),
        ("arrow_compare_memory", 64 * MIB),
        ("arrow_net_bytes", 128 * MIB),
        ("arrow_net_rows", 8_192),
        ("arrow_delete_files", 32),
        ("arrow_delete_rows", 100_000),
        ("small_file_bytes", 8 * MIB),
        ("small_files_per_partition", 16),
        ("arrow_rewrite_bytes", 16 * 8 * MIB),
        ("arrow_rewrite_memory", 64 * MIB),
        ("rewrite_deleted_share", 0.2),
        ("rewrite_delete_files", 8),
        ("one_task_write_bytes", 64 * MIB),
        ("aux_state_min_bytes", 32 * MIB),
        ("aux_state_files", 24),
        ("exact_double_limit", 2**53),
        ("auto_full_bytes", 24 * MIB),
        ("arrow_fixpoint_input_rows", 2_000_000),
        ("arrow_fixpoint_rows", 6_000_000),
        ("arrow_fixpoint_bytes", 256 * MIB),
        ("arrow_join_slice_rows", 8_000_000),
        ("arrow_join_rows", 24_000_000),
        ("fixpoint_union_parts", 8),
        ("metadata_cache_bytes", 16 * MIB),
        ("file_settle_seconds", 1.0),
        ("lease_seconds", 60.0),
        ("lease_wait_seconds", 30.0),
        ("claim_take_over_seconds", 60.0),
        ("database_lock_seconds", 60.0),
        ("database_statement_seconds", 120.0),
        ("database_idle_seconds", 300.0),
        ("commit_outcome_seconds", 10.0),
        ("iteration_push_seconds", 1.0),
        ("submission_outcome_seconds", 10.0),
        ("spark_reach_seconds", 5.0),
        ("spark_ready_seconds", 8.0),
        ("spark_answer_seconds", 15.0),
    ],
)
def test_the_default_of_a_field(field: str, value: float) -> None:
    assert getattr(Tuning(), field) == value
    assert getattr(tuning(), field) == value


def test_every_field_is_used_by_the_package() -> None:
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "airflow_trickle").rglob("*.py")
        if path != ROOT / "airflow_trickle" / "tuning.py"
    )
    assert [field.name for field in fields(Tuning) if f".{field.name}" not in sources] == []


def test_blocks_nest_and_an_error_ends_them_too() -> None:
    with tuned(lease_seconds=5) as outer:
        assert (outer, tuning().lease_seconds) == (Tuning(lease_seconds=5), 5)
        with tuned(small_file_bytes=1):
            assert (tuning().lease_seconds, tuning().small_file_bytes) == (5, 1)
        with pytest.raises(ZeroDivisionError), tuned(lease_seconds=6):
            _ = 1 / 0
        assert tuning() is outer
        with tuned(Tuning(), aux_state_files=3):
            assert tuning() == Tuning(aux_state_files=3)
        assert tuning() is outer
    assert tuning() == Tuning()


def test_the_record_itself_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        tuning().lease_seconds = 1  # type: ignore[misc]


def test_an_unknown_field_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match=r"^Tuning has no field lease_second; did you mean lease_seconds\?$"):
        changed(Tuning(), lease_second=1)
    with pytest.raises(TypeError, match=r"^Tuning has no field xyz; it has arrow_change_rows, .*spark_answer_seconds$"):
        changed(Tuning(), xyz=1)
    with pytest.raises(TypeError, match="did you mean lease_seconds"), tuned(lease_second=1):
        pytest.fail("the block was entered")
    assert tuning() == Tuning()


def test_a_limit_above_which_doubles_round_is_refused() -> None:
    with pytest.raises(ValueError, match=r"exact_double_limit is at most 2\*\*53"):
        changed(Tuning(), exact_double_limit=2**53 + 1)


def test_the_fixture_changes_the_record_for_the_rest_of_the_test(tuned: Tuned) -> None:
    tuned(lease_seconds=5)
    tuned(aux_state_files=3)
    assert tuning() == Tuning(lease_seconds=5, aux_state_files=3)


def test_what_the_fixture_changed_is_gone_in_the_next_test() -> None:
    assert tuning() == Tuning()


def test_two_threads_do_not_see_each_others_record() -> None:
    both = threading.Barrier(2)

    def seen(seconds: float) -> float:
        with tuned(lease_seconds=seconds):
            both.wait(10)
            return tuning().lease_seconds

    with tuned(lease_seconds=9), ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(seen, [1, 2])) == [1, 2]
        assert tuning().lease_seconds == 9
        # Unless it gets a copy of the context, a thread begins with the defaults.
        assert threads.submit(tuning).result() == Tuning()
        assert threads.submit(copy_context().run, tuning).result() == Tuning(lease_seconds=9)


def test_a_lease_is_renewed_as_often_as_the_record_of_its_holder_says(monkeypatch: pytest.MonkeyPatch) -> None:
    renewed: list[float] = []
    monkeypatch.setattr(leases, "renew", lambda *_: renewed.append(tuning().lease_seconds))
    monkeypatch.setattr(leases, "release", lambda *_: None)
    monkeypatch.setattr(leases, "try_acquire", lambda _lake, identifier, *_: leases.Lease(identifier, "me"))
    lake: Any = SimpleNamespace()
    with tuned(lease_seconds=0.04), leases.holding(lake, ["default.t"], "me"):
        deadline = time.monotonic() + 30
        while not renewed:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert set(renewed) == {0.04}


def test_tables_that_are_staged_side_by_side_see_the_record() -> None:
    found: list[Any] = commit.stage_together([tuning, tuning])  # type: ignore[list-item]
    assert found == [Tuning()] * 2
    with tuned(small_file_bytes=1):
        found = commit.stage_together([tuning, tuning])  # type: ignore[list-item]
    assert found == [Tuning(small_file_bytes=1)] * 2


def test_a_session_is_interrupted_with_the_timeouts_of_the_record() -> None:
    seen: list[float] = []
    session: Any = SimpleNamespace(interruptAll=lambda: seen.append(tuning().spark_reach_seconds))
    with tuned(spark_reach_seconds=2):
        SparkProvider.of(session).interrupt()
    assert seen == [2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fixpoint_union_parts": 3}, "fixpoint_union_parts is at least 4, not 3"),
        ({"lease_seconds": 0}, "lease_seconds is more than 0, not 0"),
    ],
)
def test_a_value_that_cannot_work_is_refused(change: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message), tuned(**change):
        pass


# --- no test reaches past the record -----------------------------------------------------------------


def patched_constants(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Upper-case names, and default arguments, that a test module sets from outside, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if called in ("setattr", "delattr", "patch", "object"):
                yield from ((name, node.lineno) for name in _names(node.args[:2]))
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and _CONSTANT.fullmatch(target.attr):
                yield target.attr, node.lineno


def _names(arguments: list[ast.expr]) -> Iterator[str]:
    for argument in arguments:
        # The last piece of an f-string is enough: it ends with the name.
        last = argument.values[-1] if isinstance(argument, ast.JoinedStr) and argument.values else argument
        if isinstance(last, ast.Constant) and isinstance(last.value, str):
            name = last.value.rpartition(".")[2]
            if _CONSTANT.fullmatch(name) or name in ("__defaults__", "__kwdefaults__"):
                yield name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ('monkeypatch.setattr("airflow_trickle.engine.fetch.SMALL", 0)', "SMALL"),
        ('monkeypatch.setattr(\n    merge,\n    "_FEW_FILES",\n    0,\n)', "_FEW_FILES"),
        ('patched.setattr(f"airflow_trickle.engine.{module}.SMALL", 3)', "SMALL"),
        ('monkeypatch.setattr(holding, "__defaults__", (0.2,))', "__defaults__"),
        ("near.MOST_HERE = -1", "MOST_HERE"),
        ('mock.patch.object(near, "MOST_HERE", -1)', "MOST_HERE"),
    ],
)
def test_a_patched_constant_is_found(code: str, name: str) -> None:
    assert [found for found, _ in patched_constants(ast.parse(code))] == [name]


def test_no_test_and_no_benchmark_patches_a_constant() -> None:
    breaches, exceptions = [], set()
    for path in sorted(path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")):
        for name, line in patched_constants(ast.parse(path.read_text(encoding="utf-8"))):
            exceptions.add(name)
            if name not in PATCHED_ALL_THE_SAME:
                breaches.append(f"{path.relative_to(ROOT)}:{line}: {name} should be a field of Tuning")
    assert not breaches, "\n".join(breaches)
    assert set(PATCHED_ALL_THE_SAME) <= exceptions, "an exception that nobody needs any more"
