"""What checking a call leads to."""

from dataclasses import dataclass

__all__ = ["BoundCall"]


@dataclass(frozen=True, slots=True)
class BoundCall:
    """The arguments to call the function with: `function(*call.args, **call.kwargs)`.

    `repairs` has a sentence for each mistake of the model that was repaired.
    """

    args: tuple[object, ...]
    kwargs: dict[str, object]
    repairs: tuple[str, ...] = ()
