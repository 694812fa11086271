"""Data files of packages, such as fonts: read before the lockdown, and opened from memory after it."""

from __future__ import annotations

import builtins
import contextlib
import csv
import errno
import io
import os
import shutil
import stat
import tempfile
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from ..stdlib import Shelf

__all__ = ["empty_home", "keep_files"]

_MAX_FILE_BYTES = 4 << 20
_MAX_TOTAL_BYTES = 64 << 20
_CODE = (".py", ".pyc", ".pyi", ".pyx", ".pxd", ".so", ".a", ".c", ".cpp", ".h", ".hpp")
_NOT_FOR_PROGRAMS = {"..", "__pycache__", "include", "sample_data", "test", "tests"}
_PLACE = "<packages>/"
_READING = {"r", "rb", "rt"}


class _File(io.BytesIO):
    """A file in memory with a name, as an opened file has."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


@contextlib.contextmanager
def empty_home() -> Generator[None]:
    """Give packages an empty home while they are imported: they read settings there, and write caches."""
    folder = ""
    # If no file can be written, there are none to remove.
    with contextlib.suppress(OSError):
        os.environ["HOME"] = folder = tempfile.mkdtemp()
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def keep_files(shelf: Shelf, homes: Iterable[tuple[str, str]]) -> None:
    """Read the data files of packages, given as name and folder, and let `open` find them under their sandbox names.

    Only files listed in the package's installation record are read: other files beside the code may be secret.
    """
    kept: dict[str, slice] = {}
    bytes_left = _MAX_TOTAL_BYTES
    for name, home in homes:
        parent = os.path.dirname(home)
        for file in _listed_files(parent, name):
            size = 0
            if os.path.isfile(f"{parent}/{file}"):
                size = os.path.getsize(f"{parent}/{file}")
            if 0 < size <= min(_MAX_FILE_BYTES, bytes_left):
                with open(f"{parent}/{file}", "rb") as opened:
                    kept[_PLACE + file] = shelf.put(opened.read())
                bytes_left -= size
    if kept:
        kept_files = _Files(shelf, kept)
        io.open = builtins.open = kept_files.open
        os.stat = kept_files.stat
        loader: Any = SourceFileLoader
        loader.get_data = kept_files.get_data


def _listed_files(folder: str, package: str) -> Iterator[str]:
    """Yield the data files of a package, as listed by the distributions in a folder."""
    for entry in sorted(os.listdir(folder)):
        if not entry.endswith(".dist-info") or not os.path.isfile(f"{folder}/{entry}/RECORD"):
            continue
        with open(f"{folder}/{entry}/RECORD", encoding="utf-8", newline="") as record:
            for row in csv.reader(record):
                file = row[0] if row else ""
                *folders, name = file.split("/")
                is_code = name.endswith(_CODE) or ".so." in name
                if file.startswith(f"{package}/") and not is_code and _NOT_FOR_PROGRAMS.isdisjoint(folders):
                    yield file


class _Files:
    """The files in memory, which `open` and `os.stat` ask before the kernel."""

    def __init__(self, shelf: Shelf, kept: dict[str, slice]) -> None:
        self._shelf = shelf
        self._kept = kept
        self._open = io.open
        self._stat = os.stat
        self._get_data = SourceFileLoader.get_data

    @property
    def get_data(self) -> Callable[[SourceFileLoader, str], bytes]:
        """The `get_data` method for module loaders."""

        def get_data(loader: SourceFileLoader, path: str) -> bytes:
            position = self._find(path)
            if position is None:
                return self._get_data(loader, path)
            return bytes(self._shelf.get(position))

        return get_data

    def _find(self, path: Any) -> slice | None:  # noqa: ANN401 - anything may come
        with contextlib.suppress(TypeError, ValueError):
            text = cast("object", os.fspath(path))
            if isinstance(text, str):
                return self._kept.get(os.path.normpath(text).lstrip("/"))
            return None
        return None

    def open(self, file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as `open` takes it
        position = None
        if mode in _READING:
            position = self._find(file)
        if position is None:
            _refuse_ours(file)
            return self._open(file, mode, *args, **kwargs)
        opened = _File(bytes(self._shelf.get(position)), cast("str", os.fspath(file)))
        if mode == "rb":
            return opened
        options: dict[str, Any] = dict(zip(("buffering", "encoding", "errors", "newline"), args, strict=False))
        options |= kwargs
        return io.TextIOWrapper(opened, options.get("encoding"), options.get("errors"), options.get("newline"))

    def stat(self, path: Any, *args: Any, **kwargs: Any) -> os.stat_result:  # noqa: ANN401 - as `os.stat` takes it
        position = self._find(path)
        if position is None:
            _refuse_ours(path)
            return self._stat(path, *args, **kwargs)
        return os.stat_result((stat.S_IFREG | 0o444, 0, 0, 1, 0, 0, position.stop - position.start, 0, 0, 0))


def _refuse_ours(path: object) -> None:
    """Raise FileNotFoundError for a missing file of a package; the kernel would report that access is denied."""
    if isinstance(path, (str, os.PathLike)) and str(cast("object", path)).startswith(_PLACE):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(cast("object", path)))
