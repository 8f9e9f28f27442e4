"""Errors that come out of a broadcast: Spark wraps them into one of Java's, which says nothing of its kind."""

from __future__ import annotations

from airflow_trickle.engine.failures import fails_on_rows, first_lines

WRAPPED = (
    "(java.util.concurrent.ExecutionException) org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by "
    "zero. Use `try_divide`.\nSQLSTATE: 22012"
)
LOST = "(java.util.concurrent.ExecutionException) org.apache.spark.SparkException: Job aborted"


def test_the_message_begins_with_what_is_wrong() -> None:
    assert first_lines(WRAPPED, 3) == "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide`."
    assert first_lines("plain\n== SQL ==", 3) == "plain"


def test_a_wrapped_error_of_rows_is_one_of_rows() -> None:
    assert fails_on_rows(RuntimeError(WRAPPED))
    assert not fails_on_rows(RuntimeError(LOST))
    assert not fails_on_rows(RuntimeError("SparkArithmeticException: without a wrapping"))
