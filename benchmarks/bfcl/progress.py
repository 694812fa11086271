"""A progress bar on standard error: rich's where it is installed, a line now and then otherwise."""

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

__all__ = ["shown"]

T = TypeVar("T")


def shown(entries: Sequence[T]) -> Iterator[T]:
    """Yield the entries while a bar shows how far they are."""
    if importlib.util.find_spec("rich") is None:
        yield from _plainly(entries)
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(entries, description="BFCL entries", console=Console(stderr=True))


def _plainly(entries: Sequence[T]) -> Iterator[T]:
    step = max(1, len(entries) // 20)
    for done, entry in enumerate(entries, start=1):
        yield entry
        if done % step == 0 or done == len(entries):
            print(f"BFCL entries {done}/{len(entries)}", file=sys.stderr, flush=True)
