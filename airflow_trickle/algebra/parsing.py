"""The text of a query to sqlglot's tree: the one place where the parser is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError

from airflow_trickle.algebra.comments import blank_comments
from airflow_trickle.algebra.limits import check_nesting, check_size
from airflow_trickle.algebra.syntax import QueryProblem, explain_parse_error, explain_token_error, refuse_sample
from airflow_trickle.algebra.tokens import check_statement

_SPARK = Dialect.get_or_raise("spark")
#: Long enough that sqlglot hands back all the text before an error, which tells its exact place.
_WHOLE_TEXT = 1 << 40
#: How dbt names a table.
_REF = re.compile(r"\{\{\s*(?:ref|source)\s*\([^)]*?['\"](?P<table>\w+)['\"]\s*\)\s*\}\}")
#: What a parsed query may be.
QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
#: Behind WITH, the words of something else than a list of CTEs.
_NO_CTES = ("rollup", "cube", "ordinality", "(")


@dataclass(frozen=True)
class Statement:
    """One query: its text with blanks for comments, its tokens and its tree."""

    text: str
    tokens: list[Token]
    tree: exp.Expr


def parse_statement(text: str) -> Statement | QueryProblem:
    """Parses one query in Spark SQL, or says why that is not possible."""
    return check_size(text) or _parse_statement(text)


def _parse_statement(text: str) -> Statement | QueryProblem:
    bare = blank_comments(text)
    try:
        tokens = _SPARK.tokenize(bare)
    except TokenError:
        return explain_token_error(text)
    tree = check_nesting(tokens) or _template(bare, tokens) or check_statement(tokens) or _parse(bare, tokens)
    if isinstance(tree, QueryProblem):
        return tree
    return _check_withs(tokens, tree) or Statement(bare, tokens, tree)


def _parse(text: str, tokens: list[Token]) -> exp.Expr | QueryProblem:
    _tell_names(tokens)
    try:
        tree = _SPARK.parser(error_message_context=_WHOLE_TEXT).parse(tokens, text)[0]
    except ParseError as error:
        # The parser does not know all the places where Spark takes a sample.
        sample = next((token for token in tokens if token.token_type is TokenType.TABLE_SAMPLE), None)
        return explain_parse_error(error) if sample is None else refuse_sample(sample.start)
    except RecursionError:
        return QueryProblem(0, "the query is nested too deep to be read.", "Split it with a WITH clause.")
    except Exception as error:
        # sqlglot stumbles over some nonsense with errors of any type; one query must not hide all others.
        return QueryProblem(0, "the query does not parse.", f"The parser gave up: {error}.")
    return tree if isinstance(tree, QUERIES) else _not_a_query(tree)


def _template(text: str, tokens: Sequence[Token]) -> QueryProblem | None:
    """Refuses dbt's ``ref`` and ``source``, which nobody fills in here: dependencies are found in plain names."""
    start = next((token.start for token in tokens if token.token_type is TokenType.L_BRACE), None)
    if start is None or (found := _REF.match(text, start)) is None:
        return None
    return QueryProblem(start, f"{found[0]} is a template, and nothing fills it in.", f"Write {found['table']}.")


def _tell_names(tokens: Sequence[Token]) -> None:
    """Makes names of words that are no keywords where they stand."""
    for at, token in enumerate(tokens):
        if token.token_type is TokenType.WINDOW and not _names_a_window(tokens[at + 1 : at + 4]):
            # A column, or the function of GROUP BY window(…): not the clause that names windows.
            token.token_type = TokenType.VAR
        elif at and tokens[at - 1].token_type is TokenType.DOT and token.text.isidentifier():
            # a.select
            token.token_type = TokenType.VAR


def _names_a_window(following: Sequence[Token]) -> bool:
    """Whether what follows is ``w AS (``."""
    kinds = [token.token_type for token in following]
    return len(kinds) == 3 and kinds[1:] == [TokenType.ALIAS, TokenType.L_PAREN]


def _not_a_query(tree: exp.Expr | None) -> QueryProblem:
    what = "an empty statement" if tree is None else tree.key.upper()
    return QueryProblem(0, f"the query must be a SELECT, but is {what}.", "Write a SELECT that returns the rows.")


def _check_withs(tokens: Sequence[Token], tree: exp.Expr) -> QueryProblem | None:
    """Refuses ``WITH … (WITH RECURSIVE … )`` and the reverse, if the parser made one WITH RECURSIVE of both.

    In the one that was not recursive, a name would be the CTE itself instead of a table.
    """
    if not any(token.token_type is TokenType.RECURSIVE for token in tokens):
        return None
    withs = [
        token
        for token, following in pairwise(tokens)
        if token.token_type is TokenType.WITH and following.text.lower() not in _NO_CTES
    ]
    if len(withs) <= sum(1 for _ in tree.find_all(exp.With)):
        return None
    return QueryProblem(
        withs[1].start,
        "a WITH stands directly behind another one, and one of them is RECURSIVE.",
        "Write the parts of both into one WITH.",
    )
