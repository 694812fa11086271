"""The calls of a running program, shown as they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ez_ptc.view.markup import structure_json
from ez_ptc.view.objects.parts import MAX_CELL, NotePart, TablePart, cell_text
from ez_ptc.view.objects.viewable import Viewable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["CallLog", "call_text"]

_MAX_ROWS: Final = 20


def call_text(tool: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    """Return a call as text: `price_of("lamp")`."""
    arguments = [structure_json(value, MAX_CELL) for value in args]
    arguments += [f"{name}={structure_json(value, MAX_CELL)}" for name, value in kwargs.items()]
    return f"{tool}({', '.join(arguments)})"


def _progress_text(event: Any) -> str:  # noqa: ANN401 - as above
    total = "" if event.total is None else f" of {event.total:,.12g}"
    return f"{event.done:,.12g}{total} {(event.message or '')[:MAX_CELL]}…"


class CallLog(Viewable):
    """The last 20 calls of a program; ended ones leave first."""

    def __init__(self) -> None:
        self._rows: Final[dict[str, tuple[str, str, str]]] = {}
        self._running: Final[set[str]] = set()
        self.count = 0

    def add(self, event: Any) -> tuple[str, str, str] | None:  # noqa: ANN401 - of a layer above
        """Add what an event says of a call; return the call's row, or None if it says nothing."""
        match type(event).__name__:
            case "CallStarted":
                self.count += 1
                self._running.add(event.id)
                if len(self._rows) >= _MAX_ROWS:
                    ended = next((key for key in self._rows if key not in self._running), next(iter(self._rows)))
                    del self._rows[ended]
                self._rows[event.id] = (event.path[:MAX_CELL], call_text(event.tool, event.args, event.kwargs), "…")
            case "CallEnded" if event.id in self._rows:
                self._running.discard(event.id)
                self._rows[event.id] = (*self._rows[event.id][:2], event.error or cell_text(event.result))
            case "CallProgress" if event.id in self._rows:
                self._rows[event.id] = (*self._rows[event.id][:2], _progress_text(event))
            case "ApprovalNeeded" if event.id in self._rows:
                self._running.discard(event.id)
                self._rows[event.id] = (*self._rows[event.id][:2], "waits for a decision")
            case _:
                return None
        return self._rows[event.id]

    def _view_parts(self) -> Iterator[ViewPart]:
        """Yield the last calls, and the number of all."""
        yield TablePart(("", "call", "result"), list(self._rows.values()))
        running = f", running: {len(self._running):,}" * bool(self._running)
        yield NotePart(f"calls: {self.count:,}{running}")
