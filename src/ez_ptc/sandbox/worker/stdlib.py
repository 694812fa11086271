"""The standard library for programs: read while files can be read, and run on first import.

After the lockdown no file can be opened, so a module not kept here does not exist for programs: no GUI, packaging,
servers, network clients or OpenSSL. This module is loaded first and by hand, so it imports only what every interpreter
has at its start.
"""

from __future__ import annotations

import _frozen_importlib as bootstrap
import _frozen_importlib_external as external
import _imp
import errno
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

__all__ = ["Modules", "Shelf", "rename"]

_PACKAGES = (
    "_pyrepl asyncio collections compression concurrent ctypes email encodings html http importlib json logging "
    "pathlib re sqlite3 string sysconfig tomllib unittest urllib xml zipfile zoneinfo"
)
_LEFT_OUT = (
    "__hello__ _aix_support _android_support _apple_support _bootsubprocess _ios_support _osx_support aifc antigravity "
    "asynchat asyncore cgi cgitb compileall crypt ctypes.macholib encodings.mbcs encodings.oem ensurepip ftplib "
    "imaplib imghdr imp mailbox mailcap modulefinder nntplib pipes poplib pty py_compile smtpd smtplib sndhdr "
    "sunau tabnanny telnetlib this tty turtle uu webbrowser xdrlib zipapp"
)
_NOT_KEPT = frozenset({"__pycache__", "conftest", "test", "tests"})
# OpenSSL is a large C library no program needs; hashlib falls back to CPython's own functions.
_ABSENT = frozenset({"_hashlib", "_ssl", "readline", "ssl"})

_SETTINGS = "_sysconfigdata_"
_CACHED = f".{sys.implementation.cache_tag}.pyc"
_HEADER = 16
_OF_PACKAGE = ".__init__"
# After this header come the time and size of the source, or its hash; neither is checked.
_TIMED, _UNCHECKED = (external.MAGIC_NUMBER + flags.to_bytes(4, "little") for flags in (0, 1))


rename: Callable[[CodeType, str], None] = vars(_imp)["_fix_co_filename"]
"""importlib's own function for cached bytecode that has moved; nested code objects are included."""


class Shelf:
    """Bytes in read-only shared memory (an anonymous file), which forks do not copy."""

    def __init__(self) -> None:
        self._size = 0
        self._fd = os.memfd_create("shelf")
        self._seen: memoryview | None = None

    def put(self, data: bytes) -> slice:
        """Add `data`, and return its position."""
        start = self._size
        self._size += os.write(self._fd, data)
        if self._size != start + len(data):
            # A file size limit lets a part of it through.
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return slice(start, self._size)

    def get(self, where: slice) -> bytes | memoryview:
        """Return the bytes at a position."""
        if self._seen is None:
            return os.pread(self._fd, where.stop - where.start, where.start)
        return self._seen[where]

    def close(self) -> None:
        """Make the shelf read-only."""
        import mmap

        # Private and read-only: a worker that makes it writable writes into its own pages.
        self._seen = memoryview(mmap.mmap(self._fd, self._size, mmap.MAP_PRIVATE, mmap.PROT_READ))
        os.close(self._fd)


class _Kept:
    """A loader (in importlib's terms) of a module that has been read and not run yet."""

    __slots__ = ("_package", "_place", "_shelf", "_stem", "_where", "folder")

    def __init__(self, shelf: Shelf, data: bytes, stem: str, place: str, folder: str = "") -> None:
        self._shelf = shelf
        self._stem = stem
        self._place = place
        self._package = stem == "__init__"
        self._where = shelf.put(data)
        self.folder = folder
        """The real folder of the file as long as it can be read, or an empty text."""

    def spec(self, name: str) -> ModuleSpec:
        """Return the module's spec for importlib."""
        is_package = self.is_package(name)
        spec = bootstrap.ModuleSpec(name, None, origin=self._origin(), is_package=is_package)
        spec.loader = self  # pyright: ignore[reportAttributeAccessIssue] - it has what importlib calls, and no base class
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [self._place]
        return spec

    def _origin(self) -> str:
        return f"{self._place}/{self._stem}.py"

    def create_module(self, spec: ModuleSpec) -> None:
        """Let importlib create the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        exec(self.get_code(), vars(module))

    def get_code(self, name: str = "") -> CodeType:
        """Return the module's code, without paths of this machine."""
        del name
        data = self._shelf.get(self._where)
        code: CodeType
        if data[: len(external.MAGIC_NUMBER)] == external.MAGIC_NUMBER:
            code = marshal.loads(data[_HEADER:])  # noqa: S302 - the interpreter's own file
        elif self.folder:
            # As an import does, this writes the cache for the next boot, where it may.
            loader = external.SourceFileLoader(self._stem, f"{self.folder}/{self._stem}.py")
            code = loader.get_code(self._stem)  # pyright: ignore[reportAssignmentType] - a file always has code
        else:
            return compile(data, self._origin(), "exec", dont_inherit=True)
        rename(code, self._origin())
        return code

    def get_source(self, name: str) -> None:
        """Return None: programs see no source files."""

    @property
    def path(self) -> str:
        """The module's file, as programs see it."""
        return self._origin()

    def get_data(self, path: str) -> bytes:
        """Return the contents of a data file. Raises OSError unless it came with a package."""
        with open(path, "rb") as file:
            return file.read()

    def get_resource_reader(self, name: str) -> object:
        """Return the reader for :mod:`importlib.resources`."""
        from importlib.readers import FileReader

        del name
        return FileReader(self)  # pyright: ignore[reportArgumentType] - it wants a path, and this has one

    def is_package(self, name: str) -> bool:
        """Return whether the module is a package."""
        return self._package and not name.endswith(_OF_PACKAGE)


# A warning during an import points at the first frame outside importlib, so this function poses as one of importlib.
rename(_Kept.exec_module.__code__, "<frozen importlib._bootstrap_external>")


def _bytecode(folder: str, stem: str) -> bytes:
    """Return the marshalled code of a file, from its cache if that is fresh, as an import would.

    Without a cache, return the source: compiling modules that may never be imported would take seconds.
    """
    source = f"{folder}/{stem}.py"
    try:
        data = _read(f"{folder}/__pycache__/{stem}{_CACHED}")
        status = os.stat(source)
        numbers = int(status.st_mtime), int(status.st_size)
        age = b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)
        if data.startswith((_UNCHECKED, _TIMED + age)):
            return data
    except OSError:
        pass
    return _read(source)


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


class Modules:
    """The finder of the kept modules, under the names importlib asks for."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self.absent = _ABSENT
        """Names that must not be found, although other finders would find them while files can be read."""
        self.shelf = Shelf()
        self._settings: dict[str, str] = {}

    def keep(self, folder: str, package: str, place: str) -> None:
        """Read the modules in a folder, and of the packages in it, to be importable from `package`.

        Only at the top of the standard library is there a selection.
        """
        packages, left_out = map(str.split, (_PACKAGES, _LEFT_OUT))
        for entry in os.listdir(folder):
            stem, suffix = os.path.splitext(entry)
            name = package if stem == "__init__" else f"{package}.{stem}".lstrip(".")
            if name in left_out or stem in _NOT_KEPT:
                continue
            if suffix == ".py" and name.startswith(_SETTINGS):
                self._settings[name] = folder
            elif suffix == ".py":
                self._kept[name] = _Kept(self.shelf, _bytecode(folder, stem), stem, place, folder)
            elif not suffix and (package or name in packages) and os.path.exists(f"{folder}/{entry}/__init__.py"):
                self.keep(f"{folder}/{entry}", name, f"{place}/{entry}")

    def keep_package(self, folder: str, name: str, place: str) -> None:
        """Read a package without the modules in it."""
        self._kept[name] = _Kept(self.shelf, _bytecode(folder, "__init__"), "__init__", place, folder)

    def keep_file(self, folder: str, name: str, place: str) -> None:
        """Read one module from a file."""
        self._kept[name] = _Kept(self.shelf, _bytecode(folder, name), name, place, folder)

    def close(self) -> None:
        """Keep nothing more, and hide this machine's paths, those in CPython's build settings too."""
        for name, folder in self._settings.items():
            namespace: dict[str, dict[str, object]] = {}
            exec(_read(f"{folder}/{name}.py"), namespace)
            settings = {name: value for name, value in namespace["build_time_vars"].items() if "/" not in str(value)}
            build_settings = f"build_time_vars = {settings!r}\n".encode()
            self._kept[name] = _Kept(self.shelf, build_settings, name, "<stdlib>")
        self._settings.clear()
        for module in self._kept.values():
            module.folder = ""
        self.shelf.close()

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a kept module; importlib asks other finders for the rest."""
        del path, target
        # A package's own code is also a module in it, as it is as a file.
        module = self._kept.get(name.removesuffix(_OF_PACKAGE))
        # Frozen modules are available already, unless that was turned off.
        if module is not None and not _imp.is_frozen(name):
            return module.spec(name)
        if name in self.absent:
            message = f"No module named {name!r}"
            raise ModuleNotFoundError(message, name=name)
        return None
