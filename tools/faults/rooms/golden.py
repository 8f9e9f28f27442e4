"""Tests of the golden cases that judge rows, which come before those that compare texts of SQL."""

from __future__ import annotations

#: The text of a case differs with nearly every fault. That rows are wrong says more.
ROWS_OF_GOLDEN_CASES = (
    "tests/engine/delta/test_golden.py::test_rows_before_and_the_change_are_the_rows_after",
    "tests/engine/delta/test_golden.py::test_all_rows_go_and_others_come_again",
)
