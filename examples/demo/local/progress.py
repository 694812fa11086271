"""The progress of a long task."""

from typing import Protocol

__all__ = ["Progress", "quiet"]


class Progress(Protocol):
    """Receives the progress of a stage; the last call of each stage has `done == total`."""

    def __call__(self, stage: str, /, *, done: int, total: int) -> None:
        """Receive that `done` of `total` bytes of a stage (`"check"`, `"download"` or `"load"`) are done."""
        ...


def quiet(_stage: str, /, *, done: int, total: int) -> None:
    """Report nothing."""
    del done, total
