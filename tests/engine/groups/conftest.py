"""A diamond with its source."""

from __future__ import annotations

import pytest

from tests.engine.groups.diamonds import DIAMOND, NUMBERS
from tests.engine.world import World


@pytest.fixture
def shop(world: World) -> World:
    world.source("s", NUMBERS, [{"k": 1, "x": 2}, {"k": 1, "x": 4}, {"k": 2, "x": 5}])
    world.define(DIAMOND, diamonds="atomic")
    return world
