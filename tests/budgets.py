"""How much a property test tries, and from which seed: one place for the whole suite.

A run has a profile, ``TRICKLE_PROFILE``: `fast` (`make fast`), `ci` (`make test`, and the default) or `soak`
(`make soak`). A test states only its weight relative to the others; the profile gives the number of examples.

A run has one seed, ``TRICKLE_SEED``. Seed 0 is the default of `fast` and `ci`: the same examples on every run. `soak`
draws a new seed. The header of a run prints both, and a failed run prints the command that repeats it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings


@dataclass(frozen=True)
class Profile:
    """How much a run tries."""

    name: str
    #: Examples of a property test of weight 1.
    examples: int
    #: Whether a run without ``TRICKLE_SEED`` draws a seed of its own.
    random: bool = False


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("fast", examples=25),
        Profile("ci", examples=50),
        Profile("soak", examples=2000, random=True),
    )
}


def _profile() -> Profile:
    name = os.environ.get("TRICKLE_PROFILE", "") or "ci"
    if name not in PROFILES:
        raise ValueError(f"TRICKLE_PROFILE is {name!r}, but must be one of {', '.join(PROFILES)}")
    return PROFILES[name]


def _seed(profile: Profile) -> int:
    if profile.random and not os.environ.get("TRICKLE_SEED"):
        os.environ["TRICKLE_SEED"] = str(time.time_ns() % 10**9 + 1)  # the workers of this run inherit it
    return int(os.environ.get("TRICKLE_SEED", "") or 0)


PROFILE = _profile()
SEED = _seed(PROFILE)


def register() -> None:
    """Make the profile of this run the one of Hypothesis."""
    for profile in PROFILES.values():
        # No test asserts a time: a busy machine is not a defect.
        settings.register_profile(
            profile.name,
            max_examples=profile.examples,
            derandomize=SEED == 0,
            deadline=None,
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile(PROFILE.name)


def examples(weight: float = 1) -> int:
    """The number of examples of a property test that tries `weight` times as many as others."""
    return max(1, round(PROFILE.examples * weight))


def budget(weight: float = 1, **others: Any) -> settings:
    """Hypothesis settings for a test that tries `weight` times as many examples as others."""
    return settings(max_examples=examples(weight), **others)


def rounds(count: int) -> int:
    """How often a seeded loop of `count` rounds runs: a quarter of it in `fast`, half in `ci`, four times in `soak`."""
    return max(1, count * min(PROFILE.examples, 400) // 100)


def chance(key: int | str) -> Random:
    """The random numbers of a test, named by `key`: with seed 0 the same on every run."""
    return Random(f"{SEED}/{key}") if SEED else Random(key)


class Round:
    """The seed of the round that a soak test is in; the report of a failure names it."""

    seed: int | None = None


def soak_seeds(seconds: float) -> Iterator[int]:
    """One seed after the other from that of the run, for so many seconds (or ``TRICKLE_SOAK_SECONDS``)."""
    until = time.monotonic() + soak_seconds(seconds)
    seed = SEED
    while time.monotonic() < until:
        Round.seed = seed
        yield seed
        seed += 1


def soak_seconds(default: float) -> float:
    """How long a soak test runs: ``TRICKLE_SOAK_SECONDS``, or its own default."""
    return float(os.environ.get("TRICKLE_SOAK_SECONDS", "") or default)


def soak_scale(default: float) -> float:
    """The TPC-H scale factor of a soak test: ``TRICKLE_SOAK_SCALE``, or its own default."""
    return float(os.environ.get("TRICKLE_SOAK_SCALE", "") or default)
