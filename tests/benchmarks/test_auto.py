"""How the benchmark counts AUTO's choices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.auto import Line, summarise

LINE = Line("q", "mixed", 0.01, 0, full=2.0, from_changes=1.0, auto=1.0, auto_mode="DIFFERENTIAL")


def test_the_quicker_mode_is_right_and_so_is_one_about_as_quick() -> None:
    assert (LINE.quicker, LINE.is_right) == ("DIFFERENTIAL", True)
    assert not replace(LINE, auto_mode="FULL").is_right
    assert replace(LINE, auto_mode="FULL", from_changes=1.9).is_right


def test_choices_by_the_program_are_counted_by_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    by_program = replace(LINE, auto_mode="FULL", choice={"by_program": True})
    summarise([LINE, by_program])
    assert capsys.readouterr().out.splitlines() == [
        "AUTO right in 1 of 2 lines (all): 50.0%",
        "AUTO right in 0 of 1 lines (never refreshed from changes before): 0.0%",
    ]
