"""Damaged pipeline files: whatever a file holds, it is read in seconds, in bounded memory, and the one beside it too.

Each batch is read by a process of its own: one that ends by a signal, a limit of memory or of time is a failure whose
seed is shown. `make soak` goes on for as long as it may; the seed of a damage gives its text again.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from random import Random

import pytest

from airflow_trickle.plan.build import plan_path
from tests import budgets
from tests.engine.delta import golden

GOOD = "pipeline: good\nsources: {t: {}}\nstream_tables:\n  s: {query: SELECT id FROM t}\n"
#: What is put into a text, once or very often.
PIECES = [
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "&a ",
        "*a ",
        "<<: ",
        "- ",
        "? ",
        ": ",
        "|\n",
        ">\n",
        "'",
        '"',
        "`",
        "\\",
        "\t",
        "#",
    ),
    *(
        "!!int ",
        "!!binary ",
        "!x ",
        "---\n",
        "...\n",
        "\0",
        "\ufeff",
        "😀",
        "9",
        ":59",
        "0x",
        "1e9",
        "~",
        "yes",
        "%",
        "@",
    ),
    *(
        "SELECT ",
        "FROM t ",
        "WITH x AS (",
        "UNION ALL ",
        "NOT ",
        "- ",
        "CASE WHEN a THEN ",
        "::INT",
        "ARRAY<",
        "a.",
        "a+",
    ),
    *(
        "/*",
        "*/",
        "--",
        "EXISTS (SELECT 1 FROM t WHERE ",
        " OVER (",
        "x -> ",
        "{{ ref('a') }}",
        "${env:HOME}",
        "JOIN t ",
    ),
]
_CASES = golden.cases()
_SECONDS, _BYTES, _BATCH = 20.0, 3 * 1024**3, 40


def damaged(seed: int) -> str:
    """A pipeline file with queries of the golden cases, damaged in some places."""
    random = Random(f"damaged {seed}")
    lines = ["pipeline: bad", "sources: {a: {}, b: {}, t: {}}", "defaults: &d {owner: me}", "stream_tables:"]
    for number, case in enumerate(random.sample(_CASES, 3)):
        lines += [f"  s{number}:", "    tags: [x]", "    query: |", f"      {case.query}"]
    text = "\n".join(lines) + "\n"
    for _ in range(random.randint(1, 6)):
        at, piece = random.randrange(len(text) + 1), random.choice(PIECES)
        often = random.choice([1, 1, 2, 50, 3_000, 200_000 // len(piece)])
        kind = random.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + random.randrange(30) :]
        elif kind == 1:
            begin = random.randrange(len(text) + 1)
            text = text[:at] + text[begin : begin + random.randrange(200)] * min(often, 400) + text[at:]
        else:
            text = text[:at] + piece * often + text[at:]
    return text[: 2 * 1024**2]


def _read(folder: Path, seed: int) -> str | None:
    """What is wrong with how a damaged file is read; None if nothing is."""
    (folder / "a_good.yaml").write_text(GOOD)
    (folder / "bad.yaml").write_text(damaged(seed), encoding="utf-8", errors="surrogatepass")
    begun = time.process_time()
    project = plan_path(folder)
    took = time.process_time() - begun
    if "good" not in [plan.pipeline for plan in project.plans]:
        return "the file beside it is not planned"
    unforeseen = [problem.message for problem in project.problems if "cannot be understood" in problem.message]
    if unforeseen:
        return unforeseen[0]
    if sum(len(str(problem)) for problem in project.problems) > 1_000_000:
        return "its problems are a megabyte of text"
    return f"it took {took:.0f} s of CPU" if took > _SECONDS else None


def _batch(folder: Path, seeds: list[int], results: SimpleQueue[tuple[int, str | None]]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    for seed in seeds:
        results.put((seed, "it ended the process"))
        results.put((seed, _read(folder, seed)))


def read_batch(folder: Path, seeds: list[int]) -> dict[int, str]:
    """What is wrong, by seed, of a batch that is read by a process of its own."""
    folder.mkdir(exist_ok=True)
    context = multiprocessing.get_context("fork")
    # Written at once: a process that ends by a signal has said which file it was reading.
    results: SimpleQueue[tuple[int, str | None]] = context.SimpleQueue()
    process = context.Process(target=_batch, args=(folder, seeds, results), daemon=True)
    process.start()
    found: dict[int, str | None] = {}
    while process.is_alive() or not results.empty():
        process.join(0.02)
        while not results.empty():
            seed, why = results.get()
            found[seed] = why
    return {seed: why for seed, why in found.items() if why is not None}


def test_a_damaged_file_is_read_in_bounds(tmp_path: Path) -> None:
    assert read_batch(tmp_path / "dags", list(range(budgets.rounds(10)))) == {}


@pytest.mark.soak
def test_damaged_files_are_read_in_bounds_for_as_long_as_one_likes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = 0
    for seed in budgets.soak_seeds(seconds=600):
        seeds = [seed * _BATCH + number for number in range(_BATCH)]
        assert read_batch(tmp_path / "dags", seeds) == {}
        count += len(seeds)
    with capsys.disabled():
        print(f"\n{count} damaged files, all read in bounds")
