"""How far a long task is, told while it runs."""

from typing import Protocol

__all__ = ["Progress", "quiet"]


class Progress(Protocol):
    """Takes how far a stage is; each stage's last call has `done == total`."""

    def __call__(self, stage: str, /, *, done: int, total: int) -> None:
        """Take that `done` of `total` bytes of the stage (`"check"`, `"download"` or `"load"`) are done."""
        ...


def quiet(_stage: str, /, *, done: int, total: int) -> None:
    """Tell nobody."""
    del done, total
