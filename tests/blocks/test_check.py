"""Two readings of a query must agree; where they do not, it is computed in full."""

from __future__ import annotations

import pytest

from airflow_trickle.blocks import check
from airflow_trickle.blocks.shapes import NotInBlocks

QUERY = "SELECT k, v FROM a WHERE k > 1"


def test_readings_that_differ_in_one_clause_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check.blocks_of(QUERY)
    read = check._of_block
    # As a reading would that misses WHERE: as many SELECTs, and one of them is another.
    monkeypatch.setattr(check, "_of_block", lambda select: (*read(select)[:3], False, *read(select)[4:]))
    with pytest.raises(NotInBlocks) as refused:
        check.blocks_of(QUERY)
    assert refused.value.why == "the query could not be taken apart with certainty"
