"""What the requests of a task take: each one sends the tools, the question, and all that was said before."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Spending", "Turn", "spend", "token_counter"]

# What a message takes besides its text.
_MESSAGE = 4
# The encoder takes 200,000 tokens at a time.
_PIECE = 200_000


class Turn(NamedTuple):
    """A request: the instructions and tools that it sends, what the model says, and what it is told."""

    tools: str
    said: str
    told: str = ""


@dataclass(frozen=True, slots=True)
class Spending:
    """The tokens in and out of a task, and its requests."""

    tokens_in: int
    tokens_out: int
    turns: int

    @property
    def total(self) -> int:
        """Tokens in and out."""
        return self.tokens_in + self.tokens_out


@functools.cache
def token_counter() -> Callable[[str], int]:
    """Return the function that counts tokens as OpenAI's o200k does. Raises ImportError without `bpe-openai`."""
    import bpe_openai

    encoding = bpe_openai.get_encoding("o200k_base")

    def count(text: str) -> int:
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        return sum(len(encoding.encode(piece)) for piece in pieces)

    return functools.lru_cache(maxsize=2_000)(count)


def spend(question: str, turns: Sequence[Turn]) -> Spending:
    """Return what the requests of a task take."""
    count = token_counter()
    tokens_in = tokens_out = 0
    context = count(question) + _MESSAGE
    for turn in turns:
        tokens_in += count(turn.tools) + context
        said = count(turn.said)
        tokens_out += said
        context += said + count(turn.told) + 2 * _MESSAGE
    return Spending(tokens_in, tokens_out, len(turns))
