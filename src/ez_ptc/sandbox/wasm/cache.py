"""The compiled component: machine code in a private folder of the user's cache.

Code loaded from there runs in this process. So the folder and the file must belong to this user, and no one else may
write to them, or replace a folder or link on the way there; otherwise nothing there is opened, another folder is made,
or the component is compiled again, in memory. A file gets its name once it is whole. The name has
a hash of everything its contents depend on, their checksum and size, and when they were written. Reading all of a file
takes as long as half of a first program, so the checksum is compared only if size or time differ.

Each load marks its file as used. Who compiles removes the files of other versions, but for those used last: another
environment may have them. A file may be removed while it is in use (Windows refuses it then).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import platform
import stat
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from ez_ptc._component import COMPONENT_WHEEL
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.wasm.bindings import EngineError, version

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ez_ptc.sandbox.wasm.component import Component, Engine

__all__ = ["cache_folder", "default_folder", "load_component"]

_log = logging.getLogger("ez_ptc.sandbox")
_OWNER_ONLY = 0o700
_MAX_LINKS = 40
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_KEY_LENGTH = 32
_UNFINISHED = "compiling-"
_SUFFIX = ".cwasm"
# Files of other versions that are kept.
_MAX_OTHERS = 2


def cache_folder() -> Path:
    """Return this user's folder for compiled components, private if one can be made so.

    If others may write to the default, it is a folder of this user's own beside temporary files; a warning names it
    when it is made. If that is not private either, the default is returned, and nothing there is opened.
    """
    default = default_folder()
    if sys.platform == "win32" or _is_made_private(default):
        return default
    # Such a folder has the sticky bit: no one else can replace what this user has made there.
    folder = Path(tempfile.gettempdir()) / f"ez-ptc-wasm-{os.getuid()}"
    is_new = not os.path.lexists(folder)
    if not _is_made_private(folder):
        return default
    if is_new:
        _log.warning("others may write to %s (chmod go-w): the compiled sandbox is kept in %s", default, folder)
    return folder


def default_folder() -> Path:
    """Return the folder in this user's cache; it may not exist, and others may write to it."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        chosen = os.environ.get("XDG_CACHE_HOME", "")
        base = Path(chosen) if Path(chosen).is_absolute() else Path.home() / ".cache"
    return base / "ez-ptc" / "wasm"


def load_component(engine: Engine, path: Path, digest: str, folder: Path) -> Component:
    """Return the component in the file `path`, compiled for this machine; the first time takes some seconds.

    `digest` is its SHA-256 in hexadecimal.

    Raises:
        SandboxError: The file is damaged, or is no component for this engine.
    """
    target = f"{digest} {version()} {sys.platform} {platform.machine()} {engine.settings}"
    key = hashlib.sha256(target.encode()).hexdigest()[:_KEY_LENGTH]
    component = _load(engine, folder, key)
    if component is not None:
        return component
    with _lock(folder):
        # Another process may have compiled it meanwhile.
        return _load(engine, folder, key) or _compile(engine, path, digest, folder, key)


def _load(engine: Engine, folder: Path, key: str) -> Component | None:
    """Return the component from a private and undamaged file, or None without such a file."""
    # What is damaged, or made by another CPU or engine, is compiled again.
    with contextlib.suppress(OSError, EngineError):
        if _is_private(folder):
            for path in folder.glob(f"{key}-*{_SUFFIX}"):
                # The checksum is against damage only, since those who may write the file may run anything.
                if _belongs_to_user(path.lstat()) and (whole := _find_whole(path, key)) is not None:
                    component = engine.load(whole)
                    with contextlib.suppress(OSError):  # a file system that cannot be written to
                        os.utime(whole, ns=(time.time_ns(), whole.stat().st_mtime_ns))
                    return component
                path.unlink()
    return None


def _find_whole(path: Path, key: str) -> Path | None:
    """Return where the undamaged file is, or None if it is damaged."""
    status = path.stat()
    checksum = path.stem.removeprefix(f"{key}-").partition("-")[0]
    if path.name == _name(key, checksum, status):
        return path
    if f"{zlib.crc32(path.read_bytes()):08x}" != checksum:
        return None
    # It was copied here, or the file system rounds times.
    return path.replace(path.with_name(_name(key, checksum, status)))


def _name(key: str, checksum: str, status: os.stat_result) -> str:
    return f"{key}-{checksum}-{status.st_size:x}-{status.st_mtime_ns:x}{_SUFFIX}"


def _compile(engine: Engine, path: Path, digest: str, folder: Path, key: str) -> Component:
    # A warning, because the program waits meanwhile, and only warnings are shown by default.
    _log.warning("compiling the sandbox for this machine: this takes some seconds, once")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        message = f"{path} is damaged: install it again with: pip install --force-reinstall {COMPONENT_WHEEL}"
        raise SandboxError(message)
    try:
        component = engine.compile(content)
    except EngineError as error:
        message = f"{path} cannot be compiled: {error}"
        raise SandboxError(message) from error
    try:
        _write(folder, key, component.serialize())
        _remove_others(folder, key)
    except OSError as error:  # such as a full disk
        _log.warning("the next process compiles it again, because it cannot be kept in %s: %s", folder, error)
    return component


def _write(folder: Path, key: str, code: bytes | bytearray) -> None:
    if not _is_private(folder):
        message = (
            "others may write to this folder or to one above it (chmod go-w), or it belongs to another user; "
            "XDG_CACHE_HOME chooses another"
        )
        raise PermissionError(message)
    descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(code)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(folder / _name(key, f"{zlib.crc32(code):08x}", Path(name).stat()))
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _remove_others(folder: Path, key: str) -> None:
    """Remove the files of other versions, except those used last."""
    others = [path for path in folder.glob(f"*{_SUFFIX}") if not path.name.startswith(key)]
    used = {path: path.lstat().st_atime_ns for path in others}
    for path in sorted(others, key=used.__getitem__, reverse=True)[_MAX_OTHERS:]:
        with contextlib.suppress(OSError):  # in use, or removed by another process
            path.unlink()


@contextlib.contextmanager
def _lock(folder: Path) -> Generator[None]:
    """Let one process at a time compile, where files can be locked; elsewhere several may, which is only slower."""
    try:
        import fcntl
    except ImportError:
        with contextlib.suppress(OSError):
            _make(folder)
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # without a lock, as on a file system that has none
            _make(folder)
            # In a folder of others, the lock might be a link to any file.
            if _is_private(folder):
                lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                fcntl.flock(stack.enter_context(os.fdopen(lock, "r+b")), fcntl.LOCK_EX)
                for unfinished in folder.glob(f"{_UNFINISHED}*"):
                    unfinished.unlink()
        yield


def _make(folder: Path) -> None:
    """Make the folder and each missing one above, such as `.cache`, whatever the process's mask, for its owner only."""
    for place in (*reversed(folder.parents), folder):
        if place == folder or not place.is_dir():
            place.mkdir(mode=_OWNER_ONLY, exist_ok=True)


def _is_made_private(folder: Path) -> bool:
    """Create a folder if it is missing, and return whether it is private."""
    try:
        _make(folder)
        return _is_private(folder)
    except OSError:  # such as a read-only file system
        return False


def _is_private(folder: Path) -> bool:
    """Return whether a folder belongs to this user, and no one else can write to it or put another in its place."""
    status = folder.lstat()
    if not (stat.S_ISDIR(status.st_mode) and _belongs_to_user(status)):
        return False
    if not hasattr(os, "getuid"):
        return True
    for status in (place.lstat() for place in _places_before(folder.absolute())):
        is_open = status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX
        if status.st_uid not in {0, os.getuid()} or (is_open and not stat.S_ISLNK(status.st_mode)):
            return False
    return True


def _places_before(path: Path) -> Iterator[Path]:
    """Yield each folder and each link on the way to a path, as the kernel finds it."""
    current, parts, links = Path(path.anchor), list(path.parts[-2:0:-1]), 0
    yield current
    while parts:
        segment = parts.pop()
        if segment == "..":
            current = current.parent
            continue
        yield (place := current / segment)
        if not place.is_symlink():
            current = place
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = place.readlink()
        if target.is_absolute():
            current = Path(target.anchor)
        parts += [segment for segment in target.parts[::-1] if segment != target.anchor]


def _belongs_to_user(status: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):  # Windows, where a user's own folder is private
        return True
    return status.st_uid == os.getuid() and not status.st_mode & _OTHERS_WRITE
