"""Walking the tokens of a query: brackets, words, separators."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sqlglot import Token, TokenType

from airflow_trickle.blocks.shapes import NotInBlocks, Span

_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_NAMES = {TokenType.VAR, TokenType.IDENTIFIER}
#: What a query in parentheses begins with.
QUERY_STARTS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM})


class Cursor:
    """A place among the tokens between two of them."""

    def __init__(self, text: str, tokens: Sequence[Token], at: int = 0, end: int | None = None) -> None:
        self.text = text
        self.tokens = tokens
        self.at = at
        self.end = len(tokens) if end is None else end

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return self.at >= self.end

    @property
    def kind(self) -> TokenType | None:
        """The type of the next token."""
        return None if self.done else self.tokens[self.at].token_type

    def peek(self, ahead: int) -> TokenType | None:
        """The type of a later token."""
        at = self.at + ahead
        return self.tokens[at].token_type if at < self.end else None

    def word(self, ahead: int = 0) -> str:
        """The next word in upper case."""
        at = self.at + ahead
        return self.tokens[at].text.upper() if at < self.end else ""

    def take(self, *kinds: TokenType) -> bool:
        """Steps over the next token if it is of one of these types."""
        if self.kind in kinds:
            self.at += 1
            return True
        return False

    def take_word(self, *words: str) -> bool:
        """Steps over the next token if it is one of these words, written as a word."""
        if not self.done and self.word() in words and self.kind is not TokenType.IDENTIFIER:
            self.at += 1
            return True
        return False

    def need(self, kind: TokenType) -> Token:
        """The next token, which has to be of that type."""
        if self.kind is not kind:
            raise self.lost()
        self.at += 1
        return self.tokens[self.at - 1]

    def lost(self) -> NotInBlocks:
        """What to raise where the text is not what was expected."""
        offset = self.tokens[min(self.at, len(self.tokens) - 1)].start
        shown = "its end" if self.done else f"'{self.tokens[self.at].text}'"
        return NotInBlocks(f"the query could not be taken apart at {shown}", offset)

    def inside(self) -> Cursor:
        """Steps over a pair of brackets, which begins here; the tokens between them."""
        start = self.at
        self.skip_one()
        return Cursor(self.text, self.tokens, start + 1, self.at - 1)

    def skip_one(self) -> None:
        """Steps over one token, or over a pair of brackets with all between them."""
        if self.kind not in _OPEN:
            self.at += 1
            return
        depth = 0
        while not self.done:
            depth += (self.kind in _OPEN) - (self.kind in _CLOSE)
            self.at += 1
            if not depth:
                return
        raise self.lost()

    def is_name(self, at: int | None = None) -> bool:
        """Whether a token is certainly a name, whatever its word: quoted, behind a dot or before one."""
        at = self.at if at is None else at
        if self.tokens[at].token_type is TokenType.IDENTIFIER:
            return True
        before = self.tokens[at - 1].token_type if at else None
        after = self.tokens[at + 1].token_type if at + 1 < len(self.tokens) else None
        return before is TokenType.DOT or after is TokenType.DOT

    def until(self, kinds: Collection[TokenType]) -> Cursor:
        """Steps up to a token of one of these types outside of brackets; the tokens before it."""
        start = self.at
        while not self.done and not (self.kind in kinds and not self.is_name() and not self._is_other_use()):
            if self.kind in _CLOSE:
                raise self.lost()
            self.skip_one()
        return Cursor(self.text, self.tokens, start, self.at)

    def _is_other_use(self) -> bool:
        """FROM of IS DISTINCT FROM, EXCEPT of a star, names of functions: no clauses."""
        before = self.tokens[self.at - 1].token_type if self.at else None
        if self.kind is TokenType.FROM and before is TokenType.DISTINCT:
            return self.at >= 2 and self.tokens[self.at - 2].token_type in (TokenType.IS, TokenType.NOT)
        if self.kind is TokenType.EXCEPT and self.word() == "EXCEPT":
            return before is TokenType.STAR and self.peek(1) is TokenType.L_PAREN
        if self.kind in (TokenType.LEFT, TokenType.RIGHT):
            return self.peek(1) is TokenType.L_PAREN
        return False

    def split(self) -> Iterator[Cursor]:
        """The parts between commas outside of brackets."""
        rest = Cursor(self.text, self.tokens, self.at, self.end)
        while not rest.done:
            yield rest.until({TokenType.COMMA})
            if rest.take(TokenType.COMMA) and rest.done:
                raise rest.lost()

    @property
    def span(self) -> Span:
        """The text of what is left."""
        if self.done:
            raise self.lost()
        return Span(self.tokens[self.at].start, self.tokens[self.end - 1].end + 1)

    def name(self) -> str:
        """Steps over a name; it as written."""
        if self.done or (self.kind not in _NAMES and not self.word().isidentifier()):
            raise self.lost()
        token = self.tokens[self.at]
        self.at += 1
        return self.text[token.start : token.end + 1]
