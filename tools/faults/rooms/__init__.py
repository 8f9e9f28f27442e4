"""All faults, by room of the package."""

from __future__ import annotations

from tools.faults.fault import Fault
from tools.faults.rooms.aggregates import AGGREGATES
from tools.faults.rooms.analysis import ANALYSIS
from tools.faults.rooms.capture import CAPTURE
from tools.faults.rooms.definition import DEFINITION
from tools.faults.rooms.fixpoint import FIXPOINT
from tools.faults.rooms.lakehouse import LAKEHOUSE
from tools.faults.rooms.maintenance import MAINTENANCE
from tools.faults.rooms.orchestration import ORCHESTRATION
from tools.faults.rooms.publishing import PUBLISHING
from tools.faults.rooms.refresh import REFRESH
from tools.faults.rooms.rules import RULES
from tools.faults.rooms.sql import SQL

FAULTS: tuple[Fault, ...] = (
    *DEFINITION,
    *SQL,
    *ANALYSIS,
    *LAKEHOUSE,
    *MAINTENANCE,
    *RULES,
    *AGGREGATES,
    *REFRESH,
    *PUBLISHING,
    *FIXPOINT,
    *CAPTURE,
    *ORCHESTRATION,
)
