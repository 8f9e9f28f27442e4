"""What the benchmarks write about their measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report
from benchmarks.charts import draw
from benchmarks.report import Measurement, Report
from benchmarks.settings import settings

SPARK = {"jobs": 3, "stages": 5, "round_trips": 12, "bytes_read": 2**20}


def measurement(query: str, seconds: float, spark_seconds: float, number: int, **more: Any) -> Measurement:
    values: dict[str, Any] = {
        "mode": "DIFFERENTIAL",
        "reason": "",
        "tick_seconds": seconds,
        "phases": {"compute": seconds},
        "rows_in": 10,
        "rows_inserted": 1,
        "rows_deleted": 1,
        "bytes_opened": 2**21,
        "bytes_written": 100,
        "spark": SPARK,
        "change": "mixed",
        "share": 0.001,
        "warm_up": number == 0,
        "duckdb_seconds": 0.1,
        "exact": True,
        "state": [{"part": -1, "outcome": "added_to", "bytes": 1000, "files": 2}],
    }
    return Measurement(query=query, seconds=seconds, spark_seconds=spark_seconds, round=number, **{**values, **more})


@pytest.fixture
def found() -> Report:
    made = Report.begin("tpch", settings(("a", "b", "c")), {"orders": 150})
    for number, seconds in enumerate((9.0, 1.0, 2.0, 4.0)):
        made.rounds += [
            measurement("a", seconds, 8.0, number),
            measurement("b", seconds, 1.0, number, exact=number > 0),
            measurement("c", seconds, 1.0, number, rows_inserted=0, rows_deleted=0),
        ]
    return made


def test_medians_leave_the_first_round_out(found: Report) -> None:
    summary = found.summary("mixed", 0.001)

    assert summary.rounds == 3
    assert [one.seconds for one in summary.queries] == [2.0, 2.0, 2.0]


def test_the_geometric_mean_is_of_those_that_changed(found: Report) -> None:
    summary = found.summary("mixed", 0.001)

    assert summary.ratios == [4.0, 0.5]
    assert summary.geometric_mean == pytest.approx(2**0.5)
    assert summary.below_one == 1


def test_wrong_rows_of_any_round_are_told(found: Report, capsys: pytest.CaptureFixture[str]) -> None:
    report.show(found.summary("mixed", 0.001))

    assert found.summary("mixed", 0.001).wrong == ("b",)
    assert "WRONG ROWS: b" in capsys.readouterr().out


def test_the_table_is_printed(found: Report, capsys: pytest.CaptureFixture[str]) -> None:
    report.show(found.summary("mixed", 0.001))

    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "mixed 0.10%, medians of 3 rounds"
    assert lines[3].split() == ["a", "2.00", "8.00", "0.10", "4.00", "3", "5", "12", "1.0", "0.00", "DIFFERENTIAL"]
    assert lines[6].startswith("geometric mean of the 2 that changed: 1.41; least 0.50; below 1: 1")


def test_the_file_has_all_rounds_and_the_medians(found: Report, tmp_path: Path) -> None:
    found.write(tmp_path / "out.json")

    written = json.loads((tmp_path / "out.json").read_text())
    assert written["layout"] == report.LAYOUT
    assert len(written["rounds"]) == 12
    assert written["rounds"][0]["state"] == [{"part": -1, "outcome": "added_to", "bytes": 1000, "files": 2}]
    assert written["summaries"][0]["queries"][0]["ratio"] == 4.0


def test_charts_are_drawn_from_the_file_and_are_the_same_each_time(found: Report, tmp_path: Path) -> None:
    found.rounds += [measurement("a", 1.0, 2.0, number, share=0.01) for number in range(2)]
    found.write(tmp_path / "out.json")
    results = json.loads((tmp_path / "out.json").read_text())

    charts = draw(results, tmp_path / "one")
    again = draw(results, tmp_path / "two")

    assert [chart.name for chart in charts] == [
        "tpch-sf1-mixed-0.001-ratio.svg",
        "tpch-sf1-mixed-0.001-seconds.svg",
        "tpch-sf1-mixed-0.01-ratio.svg",
        "tpch-sf1-mixed-0.01-seconds.svg",
        "tpch-sf1-mixed-shares.svg",
    ]
    assert "geometric mean 1.41" in charts[0].read_text()
    assert [one.read_bytes() for one in charts] == [one.read_bytes() for one in again]


def test_what_the_environment_asks_for_must_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICKLE_BENCH_CHANGES", "mixed,upsert")

    with pytest.raises(
        SystemExit, match="TRICKLE_BENCH_CHANGES: upsert: not one of append, insert, delete, update, mixed"
    ):
        settings(("a",))
