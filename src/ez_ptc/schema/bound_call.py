"""What checking a call leads to."""

from typing import NamedTuple, Self

__all__ = ["BoundCall", "Repair"]


class Repair(str):
    """A sentence about a repair that changed what a call does, so that the model is told of it.

    `kind` is that of the mistake: of several repairs of one kind, the first says enough.
    """

    __slots__ = ("kind",)

    def __new__(cls, text: str, kind: str) -> Self:
        """Return the sentence `text` with its kind."""
        repair = super().__new__(cls, text)
        repair.kind = kind
        return repair


class BoundCall(NamedTuple):
    """The arguments to call the function with: `function(*call.args, **call.kwargs)`.

    `repairs` has a sentence for each mistake of the model that was repaired.
    """

    args: tuple[object, ...]
    kwargs: dict[str, object]
    repairs: tuple[str, ...] = ()
