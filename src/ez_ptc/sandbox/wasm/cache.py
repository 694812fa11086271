"""The compiled component: machine code in a private folder of the user's cache.

Code loaded from there runs in this process. So the folder and the file must belong to this user, and no one else may
write to them; otherwise the component is compiled again, in memory. A file gets its name once it is whole. The name has
a hash of everything its contents depend on, and a checksum of the contents.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import sys
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from ez_ptc.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Generator

    from wasmtime import Engine
    from wasmtime.component import Component

__all__ = ["cache_folder", "load_component"]

_log = logging.getLogger("ez_ptc.sandbox")
_OWNER_ONLY = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_KEY_LENGTH = 32
_UNFINISHED = "compiling-"


def cache_folder() -> Path:
    """Return this user's folder for compiled components; it may not exist."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        chosen = os.environ.get("XDG_CACHE_HOME", "")
        base = Path(chosen) if Path(chosen).is_absolute() else Path.home() / ".cache"
    return base / "ez-ptc" / "wasm"


def load_component(engine: Engine, path: Path, digest: str, settings: str, folder: Path) -> Component:
    """Return the component in the file `path`, compiled for this machine; the first time takes some seconds.

    `digest` is its SHA-256 in hexadecimal, and `settings` the configuration of the engine.

    Raises:
        SandboxError: The file is damaged, or is no component for this engine.
    """
    import platform
    from importlib.metadata import version

    target = f"{digest} {version('wasmtime')} {sys.platform} {platform.machine()} {settings}"
    key = hashlib.sha256(target.encode()).hexdigest()[:_KEY_LENGTH]
    component = _load(engine, folder, key)
    if component is not None:
        return component
    with _lock(folder):
        # Another process may have compiled it meanwhile.
        return _load(engine, folder, key) or _compile(engine, path, digest, folder, key)


def _load(engine: Engine, folder: Path, key: str) -> Component | None:
    """Return the component from a private and undamaged file, or None without such a file."""
    from wasmtime import WasmtimeError
    from wasmtime.component import Component

    # What is damaged, or made by another CPU or engine, is compiled again.
    with contextlib.suppress(OSError, WasmtimeError):
        if _is_private(folder):
            for path in folder.glob(f"{key}-*.cwasm"):
                # The checksum is against damage only, since those who may write the file may run anything.
                if _belongs_to_user(path.lstat()) and path.stem == f"{key}-{zlib.crc32(path.read_bytes()):08x}":
                    return Component.deserialize_file(engine, os.fspath(path))
                path.unlink()
    return None


def _compile(engine: Engine, path: Path, digest: str, folder: Path, key: str) -> Component:
    from wasmtime import WasmtimeError
    from wasmtime.component import Component

    # A warning, because the program waits meanwhile, and only warnings are shown by default.
    _log.warning("compiling the sandbox for this machine: this takes some seconds, once")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        message = f"{path} is damaged: install it again with: pip install --force-reinstall ez-ptc-wasm"
        raise SandboxError(message)
    try:
        component = Component(engine, content)
    except WasmtimeError as error:
        message = f"{path} cannot be compiled: {error}"
        raise SandboxError(message) from error
    try:
        _write(folder, key, component.serialize())
    except OSError as error:  # such as a full disk
        _log.warning("the next process compiles it again, because it cannot be kept in %s: %s", folder, error)
    return component


def _write(folder: Path, key: str, code: bytes | bytearray) -> None:
    if not _is_private(folder):
        message = "others may write to this folder, or it belongs to another user"
        raise PermissionError(message)
    descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(code)
        Path(name).replace(folder / f"{key}-{zlib.crc32(code):08x}.cwasm")
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


@contextlib.contextmanager
def _lock(folder: Path) -> Generator[None]:
    """Let one process at a time compile, where files can be locked; elsewhere several may, which is only slower."""
    try:
        import fcntl
    except ImportError:
        with contextlib.suppress(OSError):
            folder.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # without a lock, as on a file system that has none
            folder.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
            fcntl.flock(stack.enter_context((folder / "lock").open("wb")), fcntl.LOCK_EX)
            for unfinished in folder.glob(f"{_UNFINISHED}*"):
                unfinished.unlink()
        yield


def _is_private(folder: Path) -> bool:
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and _belongs_to_user(status)


def _belongs_to_user(status: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):  # Windows, where a user's own folder is private
        return True
    return status.st_uid == os.getuid() and not status.st_mode & _OTHERS_WRITE
