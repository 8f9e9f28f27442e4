"""Table metadata that was read is kept up to a number of bytes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from airflow_trickle.lakehouse.metadata_cache import MetadataCache
from tests.conftest import Tuned


def cache(reads: list[str], **sizes: int) -> MetadataCache:
    def read(location: str) -> Any:
        reads.append(location)
        return SimpleNamespace(location=location), sizes[location]

    return MetadataCache(read)


def test_metadata_is_read_once_as_long_as_it_fits(tuned: Tuned) -> None:
    tuned(metadata_cache_bytes=10)
    reads: list[str] = []
    kept = cache(reads, a=4, b=6, c=1)
    assert [kept.get(name).location for name in "abab"] == ["a", "b", "a", "b"]
    assert (reads, kept.nbytes) == (["a", "b"], 10)
    kept.get("c")
    kept.get("b")
    # What was used least recently made room.
    assert (reads, kept.nbytes) == (["a", "b", "c"], 7)
    kept.get("a")
    assert reads == ["a", "b", "c", "a"]


def test_metadata_that_is_larger_than_the_cache_is_not_kept(tuned: Tuned) -> None:
    tuned(metadata_cache_bytes=10)
    reads: list[str] = []
    kept = cache(reads, large=11, small=3)
    kept.get("small")
    assert [kept.get("large").location for _ in range(2)] == ["large", "large"]
    assert (reads, kept.nbytes) == (["small", "large", "large"], 3)
