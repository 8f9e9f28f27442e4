"""How rows are laid out: on terminals of any width, and in a pipe."""

from __future__ import annotations

import io
from decimal import Decimal

from rich.console import Console
from rich.text import Text

from airflow_trickle.cli.tables import print_table, printable, seconds

COLUMNS = ["table", "mode", "inserted", "reason"]
ROWS = [
    ("orders", "FULL", 12, "lines changed"),
    ("daily_revenue", Text("FAILED", "red"), None, "Spark does not accept its query, for a reason that is long"),
]


def printed(width: int | None = None, null: str | None = None) -> str:
    file = io.StringIO()
    terminal = width is not None
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None, soft_wrap=True)
    print_table(console, COLUMNS, ROWS, null=null)
    return file.getvalue()


def test_a_pipe_gets_whole_lines() -> None:
    assert printed() == (
        "table          mode    inserted  reason\n"
        "orders         FULL          12  lines changed\n"
        "daily_revenue  FAILED         -  Spark does not accept its query, for a reason that is long\n"
    )


def test_the_last_column_is_wrapped() -> None:
    assert printed(64) == (
        "table          mode    inserted  reason\n"
        "orders         FULL          12  lines changed\n"
        "daily_revenue  FAILED         -  Spark does not accept its\n"
        "                                 query, for a reason that is\n"
        "                                 long\n"
    )


def test_what_has_no_room_goes_below() -> None:
    assert printed(40) == (
        "table          mode    inserted\n"
        "orders         FULL          12\n"
        "    reason: lines changed\n"
        "daily_revenue  FAILED         -\n"
        "    reason: Spark does not accept its\n"
        "    query, for a reason that is long\n"
    )


def test_a_missing_value_is_left_out_below_unless_it_means_something() -> None:
    assert "inserted" not in printed(24).split("daily_revenue")[1]
    assert "inserted: NULL" in printed(24, null="NULL").split("daily_revenue")[1]


def test_even_the_narrowest_terminal_shows_everything() -> None:
    told = printed(5)
    for word in ("orders", "daily_revenue", "FAILED", "lines", "long"):
        assert word in told.replace("\n", "")


def test_values() -> None:
    file = io.StringIO()
    row = [True, 1.5, Decimal("2.50"), b"\x00\xff", "two\nlines \x1b[31m", None, {"a": [1]}]
    print_table(Console(file=file, soft_wrap=True), list("abcdefg"), [row], null="NULL")
    assert file.getvalue().splitlines()[1] == "True  1.5  2.50  00ff  two\\nlines \\x1b[31m  NULL  {'a': [1]}"


def test_no_rows() -> None:
    file = io.StringIO()
    print_table(Console(file=file), ["a", "b"], [])
    assert file.getvalue() == "a  b\n"


def test_seconds_line_up() -> None:
    assert [str(seconds(value)) for value in (0, 2.4, 80.081)] == ["0.00", "2.40", "80.08"]


def test_printable_keeps_other_scripts() -> None:
    assert printable("Größe 大きさ") == "Größe 大きさ"
