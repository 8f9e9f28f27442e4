"""Finds what lets a query run code on the machine of Spark: Java methods and scripts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sqlglot import Token, TokenType, exp

from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.identifiers import fold

#: Functions that call any static method of Java's, such as one that reads the environment of the server.
_JAVA = frozenset({"java_method", "reflect", "try_reflect"})
_HINT = (
    "Take it out of the query. Whoever runs Airflow can allow it for all pipelines with allow_code_in_queries = True "
    "under [trickle] in airflow.cfg; no pipeline file can."
)


def code_in_query(tokens: list[Token], tree: exp.Expr) -> tuple[QueryProblem, ...]:
    """Every call of a Java method and every script of a query.

    By tokens, not by the tree: quoted, behind a schema and inside pipes the parser makes something else of a call.
    """
    return (*_java(tokens), *_scripts(tokens, tree))


def _java(tokens: list[Token]) -> Iterator[QueryProblem]:
    for token, following in pairwise(tokens):
        named = token.token_type is not TokenType.STRING and fold(token.text) in _JAVA
        if named and following.token_type is TokenType.L_PAREN:
            message = f"{fold(token.text)}(…) runs a method of Java on the machine of Spark, which is not allowed."
            yield QueryProblem(token.start, message, _HINT)


def _scripts(tokens: list[Token], tree: exp.Expr) -> Iterator[QueryProblem]:
    count = sum(1 for _ in tree.find_all(exp.QueryTransform))
    if not count:
        return
    starts = [token.start for token in tokens if fold(token.text) == "transform"]
    message = "TRANSFORM … USING runs a script on the machine of Spark, which is not allowed."
    yield QueryProblem(starts[0] if starts else 0, message, _HINT)
