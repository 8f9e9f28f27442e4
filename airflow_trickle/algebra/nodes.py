"""The operator tree of a query: frozen nodes that say what is computed, and nothing of how.

Every node knows its ``offset``, a place in the text of its query. Children are fields of type `Node`;
what a node means for its children (does a row more in one take a row away?) is in `analysis`, how it is
refreshed is in `engine`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from airflow_trickle.algebra.scalars import Scalar


class JoinKind(str, Enum):
    """How two inputs are joined."""

    INNER = "inner"
    CROSS = "cross"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


class SetKind(str, Enum):
    """A set operation."""

    UNION = "union"
    INTERSECT = "intersect"
    EXCEPT = "except"


class LookupKind(str, Enum):
    """What a subquery inside an expression yields for each row."""

    SCALAR = "scalar"
    EXISTS = "exists"
    IN = "in"
    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a projection: its alias, if it has one, and its expression (a star stays a star)."""

    alias: str | None
    value: Scalar


@dataclass(frozen=True, slots=True)
class Scan:
    """Reads a table; ``offset`` is where the query names it."""

    offset: int
    name: str
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Values:
    """Rows that stand in the query itself; a SELECT without FROM reads one row without columns."""

    offset: int
    rows: int
    text: Scalar | None = None


@dataclass(frozen=True, slots=True)
class TableFunction:
    """A function in FROM that makes rows out of its arguments, such as range(10)."""

    offset: int
    call: Scalar


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the rows for which the condition is true."""

    offset: int
    input: Node
    condition: Scalar


@dataclass(frozen=True, slots=True)
class Project:
    """Computes the columns of the output, row by row.

    ``chance`` names a function anywhere in the SELECT whose answer for a row may change with the rows around it.
    """

    offset: int
    input: Node
    outputs: tuple[Output, ...]
    chance: str | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """Joins two inputs; ``lateral``: the right one is evaluated for each row of the left one.

    ``origin`` names the SQL it comes from where that is not a JOIN: EXISTS, IN, NOT EXISTS, NOT IN.
    NOT IN is ``null_aware``: a NULL on either side makes the answer unknown, so the row goes.
    """

    offset: int
    kind: JoinKind
    left: Node
    right: Node
    condition: Scalar | None = None
    using: tuple[str, ...] = ()
    natural: bool = False
    lateral: bool = False
    origin: str | None = None
    null_aware: bool = False


@dataclass(frozen=True, slots=True)
class Lookup:
    """Looks a subquery up for each row of the input; ``name`` stands for the answer in expressions above.

    ``positive``: the answer is a truth value that is only combined by AND and OR, so that more rows in the
    subquery can only let more rows pass.
    """

    offset: int
    input: Node
    subquery: Node
    kind: LookupKind
    positive: bool
    name: str
    #: Of IN: what is looked for.
    probe: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Groups rows and computes aggregates; ``sets`` holds GROUPING SETS, ROLLUP, CUBE as written."""

    offset: int
    input: Node
    keys: tuple[Scalar, ...]
    functions: tuple[Scalar, ...]
    sets: tuple[Scalar, ...] = ()
    #: GROUP BY ALL: the keys are the outputs without an aggregate.
    all_outputs: bool = False


@dataclass(frozen=True, slots=True)
class Pivot:
    """Turns values into columns: an aggregate."""

    offset: int
    input: Node
    text: Scalar


@dataclass(frozen=True, slots=True)
class Unpivot:
    """Turns columns into rows, row by row."""

    offset: int
    input: Node
    text: Scalar


@dataclass(frozen=True, slots=True)
class Window:
    """Computes window functions, each over the partition of its row."""

    offset: int
    input: Node
    functions: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """Keeps one of equal rows."""

    offset: int
    input: Node


@dataclass(frozen=True, slots=True)
class TopK:
    """Keeps some rows of the ordered input: ORDER BY … LIMIT [OFFSET]."""

    offset: int
    input: Node
    order: tuple[Scalar, ...]
    limit: Scalar | None
    skip: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Generate:
    """LATERAL VIEW or explode: makes rows out of each row."""

    offset: int
    input: Node
    call: Scalar
    outer: bool = False
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class SetOperation:
    """UNION, INTERSECT or EXCEPT; ``all`` keeps duplicates."""

    offset: int
    kind: SetKind
    all: bool
    left: Node
    right: Node
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Cte:
    """A named part of a query."""

    offset: int
    name: str
    columns: tuple[str, ...]
    node: Node


@dataclass(frozen=True, slots=True)
class With:
    """Named parts, and the query that uses them."""

    offset: int
    ctes: tuple[Cte, ...]
    body: Node


@dataclass(frozen=True, slots=True)
class CteScan:
    """Reads a named part of the query."""

    offset: int
    cte: Cte
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class SelfReference:
    """Reads the recursive CTE that is being defined; ``target`` is the offset of its `Recursion`."""

    offset: int
    name: str
    target: int
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Recursion:
    """The least fixed point of ``body``, which reads itself through `SelfReference`; ``all``: as a bag."""

    offset: int
    name: str
    body: Node
    all: bool


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part that is not understood: ``what`` it is and ``why``; only ever recomputed."""

    offset: int
    inputs: tuple[Node, ...]
    what: str
    why: str


Node: TypeAlias = (
    Scan
    | Values
    | TableFunction
    | Filter
    | Project
    | Join
    | Lookup
    | Aggregate
    | Pivot
    | Unpivot
    | Window
    | Distinct
    | TopK
    | Generate
    | SetOperation
    | With
    | CteScan
    | SelfReference
    | Recursion
    | Opaque
)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes a node reads, in order; of `With` the body (its parts are reached where they are read)."""
    match node:
        case Join(left=left, right=right) | SetOperation(left=left, right=right):
            found: tuple[Node, ...] = (left, right)
        case Lookup():
            found = (node.input, node.subquery)
        case Opaque():
            found = node.inputs
        case CteScan():
            found = (node.cte.node,)
        case With() | Recursion():
            found = (node.body,)
        case Scan() | Values() | TableFunction() | SelfReference():
            found = ()
        case _:
            found = (node.input,)
    return found
