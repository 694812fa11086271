"""The text that a model reads of an exception."""

from typing import Final

from ez_ptc.results.bounds import ResultKeeper, bounded_error
from ez_ptc.results.robust_repr import message_of

__all__ = ["MAX_ERROR", "exception_text"]

# The maximum characters of an exception's text for a model.
MAX_ERROR: Final = 4_000


def exception_text(
    error: BaseException, message: str | None = None, *, most: int = MAX_ERROR, keeper: ResultKeeper | None = None
) -> str:
    """Return the text a model reads of an exception: its message or a given one, never a traceback.

    At most `most` characters: the first and the last lines of a longer message, of which `keeper` keeps the whole. The
    class name stands in for an empty message, and precedes a KeyError's, which is only the key.
    """
    name = type(error).__name__
    if message is None:
        message = message_of(error)
    if isinstance(error, KeyError) and not message.startswith(f"{name}: "):
        message = f"{name}: {message}"
    elif not message.strip():
        message = name
    return bounded_error(message, most, source=name, keeper=keeper)
