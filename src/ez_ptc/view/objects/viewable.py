"""Objects shown by notebooks, IPython and rich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["Viewable"]


class Viewable:
    """A base of objects shown by their parts: as HTML, as lines of text, and by rich where it is installed."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Prefer these views to a `__repr__`."""
        super().__init_subclass__(**options)
        # IPython takes whichever it finds first in the order of a class's bases, this or a `__repr__`.
        cls._repr_pretty_ = Viewable._repr_pretty_

    def _view_parts(self) -> Iterable[ViewPart]:
        """Return what is shown of the object."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return bounded, escaped HTML for a notebook."""
        from ez_ptc.view.objects.drawing import draw_parts

        return draw_parts(self._view_parts())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401, ARG002, FBT001 - as IPython calls it
        """Print several lines in IPython; within a list, the `repr`."""
        from ez_ptc.view.objects.plain import plain_lines

        if len(getattr(printer, "stack", ())) > 1:
            printer.text(repr(self))
        else:
            printer.text(plain_lines(self._view_parts()))

    def __rich_console__(self, console: object, options: object) -> Iterator[object]:
        from ez_ptc.view.objects.drawing import draw_renderables

        return draw_renderables(self._view_parts())
