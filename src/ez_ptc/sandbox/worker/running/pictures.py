"""A program's pictures, as PNG files for the host: matplotlib figures and Pillow images.

These are the pictures a program shows, the figures open at its end, and the value of its last expression.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import threading
from typing import TYPE_CHECKING, Any, cast

from ...protocol.values import codec as values

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    from .link import Link

__all__ = ["ENVIRONMENT", "PICTURES", "Pictures", "hide_places", "no_timers", "prepare"]

_MAX_PICTURES = 32
# The reader of a picture needs four bytes of memory for each pixel.
_MAX_PIXELS = 1 << 25
# Settings of matplotlib: draw into memory, and use only its own fonts, since looking for others may take seconds.
ENVIRONMENT = {"MPLBACKEND": "agg", "MPL_IGNORE_SYSTEM_FONTS": "1"}
_FIGURES, _IMAGES = "matplotlib", "PIL"


class Pictures:
    """The pictures of one program, within its limit. Each is sent at once, for a program may pause and never go on."""

    def __init__(self) -> None:
        self._link: Link | None = None
        # A thread that draws while the program ends must not send anything after the program's last frame.
        self._sending = threading.Lock()
        self._room = 0
        self.count = 0
        self.left_out = 0

    def begin(self, most: int, link: Link) -> None:
        """Start without pictures, with room for `most` bytes, which go to `link`."""
        self._link, self._room, self.count, self.left_out = link, most, 0, 0

    def add(self, picture: Any) -> None:  # noqa: ANN401 - a figure or an image
        """Send a picture as it looks now, or count it if there is no room."""
        data = b"" if self.count >= _MAX_PICTURES else _png(picture)
        with self._sending:
            if self._link is not None and 0 < len(data) <= self._room and self.count < _MAX_PICTURES:
                attached = list[bytes]()
                sent = values.encode(data, attached=attached)
                self._link.send({"t": "picture", "data": sent}, attached)
                self.count += 1
                self._room -= len(data)
            else:
                self.left_out += 1

    def finish(self) -> int:
        """Send nothing any longer, and return the number of pictures there was no room for."""
        with self._sending:
            self._link = None
            return self.left_out

    def end(self, value: object) -> bool:
        """Add open figures and the pictures of the value; return whether the value is nothing but pictures.

        This runs the program's own code, and raises its exceptions.
        """
        items: tuple[object, ...] = (value,)
        if type(value) in (list, tuple):
            items = tuple(cast("Iterable[object]", value))
        places = (("matplotlib.figure", "Figure"), ("PIL.Image", "Image"))
        kinds = tuple(vars(sys.modules[module])[name] for module, name in places if module in sys.modules)
        pictures = [*items]
        if not kinds or not all(isinstance(item, kinds) for item in items):
            pictures = []
        figures = _open_figures()
        # Drawing functions return a part of a figure, or a list of such.
        is_shown = bool(pictures) or (
            bool(figures) and all(type(item).__module__.startswith(f"{_FIGURES}.") for item in items)
        )
        pictures = [item for item in pictures if not any(item is figure for figure in figures)]
        _close_figures()
        for picture in figures + pictures:
            self.add(picture)
        return is_shown


# Those of the running program.
PICTURES = Pictures()


class _NoTimer:
    """A timer that never fires."""

    def __init__(self, interval: float, function: Callable[[], object]) -> None:
        """Do nothing."""

    def start(self) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""


@contextlib.contextmanager
def no_timers() -> Generator[None]:
    """Keep matplotlib from starting a thread to warn about a slow search for fonts."""
    timer, threading.Timer = threading.Timer, _NoTimer
    try:
        yield
    finally:
        threading.Timer = timer


def prepare() -> None:
    """Let the loaded packages draw without files, and show their pictures."""
    # They draw once now: modules they load for it could not be loaded later.
    if _FIGURES in sys.modules:
        plots: Any = importlib.import_module("matplotlib.pyplot")
        importlib.import_module("matplotlib").use("agg")
        figure, axes = plots.subplots()
        axes.set_title("$x$")
        _png(figure)
        plots.close("all")
        plots.show = _show_figures
        type(figure).show = _show
    if _IMAGES in sys.modules:
        images = importlib.import_module("PIL.Image")
        images.preinit()
        images.new("RGB", (1, 1)).save(io.BytesIO(), format="PNG")
        images.Image.show = _show


def _show_figures(*args: object, **kwargs: object) -> None:
    """Show all open figures, and close them."""
    del args, kwargs
    figures = _open_figures()
    _close_figures()
    for figure in figures:
        PICTURES.add(figure)


def _show(self: Any, *args: object, **kwargs: object) -> None:  # noqa: ANN401 - a figure or an image
    """Show the picture."""
    del args, kwargs
    PICTURES.add(self)


def hide_places(hide: Callable[[str], str]) -> None:
    """Register fonts under their paths in the sandbox, and forget those found elsewhere."""
    fonts: dict[str, Any] = vars(sys.modules.get("matplotlib.font_manager", object))
    if "fontManager" not in fonts:
        return
    top: Any = sys.modules[_FIGURES]
    # It caches what it has found.
    path = hide(top.get_data_path())
    top.get_data_path = lambda: path
    manager: Any = fonts["fontManager"]
    for entries in (manager.ttflist, manager.afmlist):
        # This machine's own fonts cannot be opened.
        entries[:] = [entry for entry in entries if hide(entry.fname) != entry.fname]
        for entry in entries:
            object.__setattr__(entry, "fname", hide(entry.fname))
    _forget(fonts)
    _forget(cast("dict[str, Any]", vars(fonts["FontManager"])))


def _forget(functions: Mapping[str, Any]) -> None:
    for function in functions.values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def _open_figures() -> list[Any]:
    plots: Any = sys.modules.get("matplotlib.pyplot")
    if plots is None:
        return []
    return [plots.figure(number) for number in plots.get_fignums()]


def _close_figures() -> None:
    plots: Any = sys.modules.get("matplotlib.pyplot")
    if plots is not None:
        plots.close("all")


def _png(picture: Any) -> bytes:  # noqa: ANN401 - a figure or an image
    """Return a picture as a PNG file, or empty bytes if it is too large."""
    written = io.BytesIO()
    if hasattr(picture, "savefig"):
        width, height = picture.get_size_inches() * picture.dpi
        if width * height <= _MAX_PIXELS:
            picture.savefig(written, format="png", bbox_inches="tight")
    elif picture.width * picture.height <= _MAX_PIXELS:
        if picture.mode in {"1", "L", "LA", "P", "RGB", "RGBA"}:
            drawn = picture
        else:
            drawn = picture.convert("RGB")
        drawn.save(written, format="PNG")
    return written.getvalue()
