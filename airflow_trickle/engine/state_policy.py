"""Which auxiliary state of a table is kept, and why some is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_trickle.plan.steps import TableStep
from airflow_trickle.tuning import tuning


class WhyNot(str, Enum):
    """Why no state is kept of a table or of a part of its query."""

    #: ``state: none``.
    ASKED = "asked"
    #: The inputs are quickly read again.
    SMALL_INPUTS = "small_inputs"
    #: To read the state would hardly be quicker than to read the inputs.
    LARGE_SHARE = "large_share"
    #: It would exceed ``state_max_bytes``.
    BOUND = "bound"
    #: The published rows suffice, or the query has nothing of which state could be kept.
    NOT_NEEDED = "not_needed"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Declined:
    """A state that is not kept because of its size; sizes are unknown where an earlier version has declined it."""

    why: WhyNot
    size: int | None = None
    most: int | None = None

    @property
    def text(self) -> str:
        """The reason in words."""
        if self.size is None or self.most is None:
            return "it would be larger than half of the inputs"
        if self.why is WhyNot.BOUND:
            return f"state of {self.size:,} bytes would exceed state_max_bytes ({self.most:,})"
        return f"its {self.size:,} bytes are more than a share of the inputs that pays ({self.most:,})"

    def as_json(self) -> dict[str, Any]:
        """For the status of the table."""
        return {"why": self.why.value, "size": self.size, "most": self.most}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Declined:
        """What `as_json` gave."""
        return cls(WhyNot(said["why"]), said["size"], said["most"])


@dataclass(frozen=True)
class StatePolicy:
    """What the definition of a table says about its auxiliary state."""

    choice: str = "auto"
    #: How many bytes all states of the table may have together.
    bound: int | None = None

    @classmethod
    def of(cls, step: TableStep) -> StatePolicy:
        """The policy of a table."""
        return cls(step.state, step.state_max_bytes)

    @property
    def keeps_any(self) -> bool:
        """Whether any state may be kept."""
        return self.choice != "none"

    def why_not_made(self, inputs: int) -> WhyNot | None:
        """Why no state is made for inputs of so many bytes; None if it is made where it helps."""
        if not self.keeps_any:
            return WhyNot.ASKED
        small = self.choice == "auto" and inputs < tuning().aux_state_min_bytes
        return WhyNot.SMALL_INPUTS if small else None

    def refusal(self, size: int, others: int, inputs: int, *, new_part: bool) -> Declined | None:
        """Why a state of so many bytes is not kept; None if it is.

        Args:
            size: Its bytes.
            others: Bytes of the states that are kept besides.
            inputs: Bytes of all inputs.
            new_part: Whether it is the new state of a part of the query, or one with an entry for each value.
        """
        most = int(inputs * tuning().aux_state_share)
        if self.choice == "auto" and new_part and size > most:
            return Declined(WhyNot.LARGE_SHARE, size, most)
        if self.bound is not None and size + others > self.bound:
            return Declined(WhyNot.BOUND, size + others, self.bound)
        return None

    def still_declines(self, declined: Declined) -> bool:
        """Whether what was declined before needs not be tried again."""
        if declined.why is WhyNot.BOUND:
            return self.bound is not None and (declined.size or 0) > self.bound
        return self.choice == "auto"
