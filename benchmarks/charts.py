"""Draws charts of the JSON files that the benchmarks write.

``TRICKLE_BENCH_IN`` names the files, ``TRICKLE_BENCH_CHARTS`` the folder of the charts (``docs/images`` by default).
The same files give the same bytes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROOT = Path(__file__).resolve().parent.parent
_OURS, _SPARK, _DUCKDB = "#3465a4", "#ce5c00", "#8f8f8f"
_SLOWER = "#cc0000"


def main() -> None:
    """Draw the charts of every file and print their names."""
    named = os.environ.get("TRICKLE_BENCH_IN", "")
    if not named:
        raise SystemExit("TRICKLE_BENCH_IN: name the JSON files that a benchmark wrote with TRICKLE_BENCH_OUT.")
    folder = Path(os.environ.get("TRICKLE_BENCH_CHARTS", _ROOT / "docs" / "images"))
    for path in named.split(","):
        for chart in draw(json.loads(Path(path).read_text(encoding="utf-8")), folder):
            print(chart, flush=True)


def draw(results: dict[str, Any], folder: Path) -> list[Path]:
    """Draw the charts of one run.

    Args:
        results: What the file of a run says.
        folder: Where the charts go; it is made if it is missing.

    Returns:
        The files, in the order of the kinds and shares of changes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{results['benchmark']}-sf{results['settings']['scale']:g}"
    charts = []
    for one in results["summaries"]:
        title = f"{results['benchmark']}, scale {results['settings']['scale']:g}, {_change(one)}"
        place = f"{name}-{one['change']}-{one['share']:g}"
        charts.append(_saved(folder / f"{place}-ratio.svg", partial(_ratios, one), title, one))
        charts.append(_saved(folder / f"{place}-seconds.svg", partial(_seconds, one), title, one))
    for kind in dict.fromkeys(one["change"] for one in results["summaries"]):
        of_kind = [one for one in results["summaries"] if one["change"] == kind]
        if len({one["share"] for one in of_kind}) > 1:
            title = f"{results['benchmark']}, scale {results['settings']['scale']:g}, {kind}"
            chart = folder / f"{name}-{kind}-shares.svg"
            charts.append(_saved(chart, partial(_by_share, of_kind), title, of_kind[0]))
    return charts


def _change(summary: dict[str, Any]) -> str:
    return f"{summary['change']} {summary['share']:.2%}, medians of {summary['rounds']} rounds"


def _saved(path: Path, drawn: Callable[[Axes], None], title: str, summary: dict[str, Any]) -> Path:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "trickle", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure: Figure = Figure(figsize=(max(6.0, 0.45 * len(summary["queries"]) + 2), 3.6), layout="constrained")
        axes = figure.add_subplot()
        drawn(axes)
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, format="svg", metadata={"Date": None})
    return path


def _ratios(summary: dict[str, Any], axes: Axes) -> None:
    """How many times as long plain Spark takes, by query; what did not change is pale."""
    queries = summary["queries"]
    colours = [_OURS if one["ratio"] >= 1 else _SLOWER for one in queries]
    bars = axes.bar([one["query"] for one in queries], [one["ratio"] for one in queries], color=colours)
    for bar, one in zip(bars, queries, strict=True):
        bar.set_alpha(1.0 if one["changed"] else 0.3)
    axes.axhline(1, color="black", linewidth=0.8)
    if summary["geometric_mean"] is not None:
        mean = summary["geometric_mean"]
        axes.axhline(mean, color=_OURS, linewidth=0.8, linestyle="--", label=f"geometric mean {mean:.2f}")
        axes.legend(frameon=False, fontsize=8)
    axes.set_yscale("log")
    axes.set_ylabel("plain Spark / refresh")
    _name_queries(axes, queries)


def _seconds(summary: dict[str, Any], axes: Axes) -> None:
    queries = summary["queries"]
    places = range(len(queries))
    rivals = (
        ("refresh", "seconds", _OURS),
        ("plain Spark", "spark_seconds", _SPARK),
        ("DuckDB", "duckdb_seconds", _DUCKDB),
    )
    for number, (label, key, colour) in enumerate(rivals):
        axes.bar(
            [place + 0.27 * (number - 1) for place in places],
            [one[key] for one in queries],
            0.25,
            color=colour,
            label=label,
        )
    axes.set_xticks(list(places), [one["query"] for one in queries])
    axes.set_yscale("log")
    axes.set_ylabel("seconds")
    axes.legend(frameon=False, fontsize=8, ncols=3)
    _name_queries(axes, queries)


def _by_share(summaries: Sequence[dict[str, Any]], axes: Axes) -> None:
    """The ratios of every query over the share of changed rows, and their geometric mean."""
    shares = [one["share"] * 100 for one in summaries]
    for name in dict.fromkeys(query["query"] for one in summaries for query in one["queries"]):
        ratios = [
            next((query["ratio"] for query in one["queries"] if query["query"] == name), math.nan) for one in summaries
        ]
        axes.plot(shares, ratios, linewidth=0.8, marker=".", label=name)
    means = [one["geometric_mean"] for one in summaries]
    axes.plot(shares, means, color="black", linewidth=2, label="geometric mean")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("changed rows, %")
    axes.set_ylabel("plain Spark / refresh")
    axes.legend(frameon=False, fontsize=6, ncols=2, loc="center left", bbox_to_anchor=(1, 0.5))


def _name_queries(axes: Axes, queries: Sequence[dict[str, Any]]) -> None:
    axes.tick_params(axis="x", labelrotation=90 if len(queries) > 10 else 20, labelsize=8)
