"""Scalar expressions of a query: carried by the nodes of its tree, turned into text only when asked for."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel

from airflow_trickle.algebra import functions
from airflow_trickle.identifiers import fold

_SPARK = Dialect.get_or_raise("spark")
#: Where a subquery was lifted out of an expression, its ``meta`` holds the name that stands for it.
LIFTED = "trickle_lifted"
#: Functions whose name in Spark the parser does not keep.
_NAMES = {
    "ARRAY_UNIQUE_AGG": "COLLECT_SET",
    "GROUP_CONCAT": "LISTAGG",
    "LOGICAL_AND": "BOOL_AND",
    "LOGICAL_OR": "BOOL_OR",
}
_AROUND = (exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


class Scalar:
    """An expression over the columns of a node's input; equal to another if its text is.

    The text is made when it is asked for: parsing a thousand queries asks for none.
    """

    __slots__ = ("_text", "expression")

    def __init__(self, expression: exp.Expr) -> None:
        self.expression = expression
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The expression in Spark SQL; a subquery lifted out of it shows as ``$1``."""
        if self._text is None:
            self._text = _text_of(self.expression)
        return self._text

    @property
    def function(self) -> str:
        """The name of the outermost function, without what FILTER, OVER and the like put around it."""
        node = self.expression
        while isinstance(node, _AROUND):
            node = node.this
        if isinstance(node, exp.Anonymous):
            return str(node.this).upper()
        names = node.sql_names() if isinstance(node, exp.Func) else [node.key]
        # The parser's own name may be that of another database.
        sparks = (name for name in names if fold(name) in functions.KNOWN)
        return _NAMES.get(names[0]) or next(sparks, names[0]).upper()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads, as written, each once; those inside lifted subqueries are not its own."""
        found: dict[str, None] = {}
        for node in self.expression.walk(prune=lambda node: LIFTED in node.meta):
            if isinstance(node, exp.Column) and LIFTED not in node.meta:
                found[".".join(part.name for part in node.parts)] = None
        return tuple(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Scalar({self.text!r})"


def _text_of(expression: exp.Expr) -> str:
    shown = expression
    if any(LIFTED in node.meta for node in expression.walk()):
        shown = expression.transform(_placeholder)
    # What Spark has no word for is shown as well as it can be; nothing runs this text.
    return _SPARK.generate(shown, comments=False, copy=True, unsupported_level=ErrorLevel.IGNORE)


def _placeholder(node: exp.Expr) -> exp.Expr:
    name = node.meta.get(LIFTED)
    return exp.Var(this=name) if name else node
