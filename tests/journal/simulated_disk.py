"""A disk that remembers each write, can lose what was not synced, and can be full: under SQLite, by apsw."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import apsw

__all__ = ["Disk"]

_SECTOR: Final = 512


@dataclass(frozen=True)
class _Operation:
    """A write of data, a truncation to `offset` bytes (`data` is None), or a sync (`offset` is -1)."""

    file: str
    offset: int
    data: bytes | None = None


class _Rows:
    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def fetchall(self) -> list[Any]:
        return self._rows

    def __iter__(self) -> Any:  # noqa: ANN401 - rows of any types
        return iter(self._rows)


class _Connection:
    """What the store uses of a connection of sqlite3."""

    def __init__(self, path: Path, disk: str) -> None:
        self._connection: Any = apsw.Connection(str(path), vfs=disk)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> _Rows:
        try:
            return _Rows(list(self._connection.execute(statement, tuple(values))))
        except apsw.Error as error:
            is_full = isinstance(error, apsw.FullError)
            raised = sqlite3.OperationalError("database or disk is full" if is_full else str(error))
            raised.sqlite_errorcode = getattr(error, "extendedresult", apsw.SQLITE_IOERR)
            if is_full:
                raised.sqlite_errorcode = apsw.SQLITE_FULL
            raise raised from error

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    def close(self) -> None:
        try:
            self._connection.close()
        except apsw.Error as error:
            raise sqlite3.OperationalError(str(error)) from error


class _File(apsw.VFSFile):
    def __init__(self, name: Any, flags: Any, disk: Disk) -> None:  # noqa: ANN401 - as apsw passes them
        super().__init__("", name, flags)
        self._name = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "").name
        self._disk = disk

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802, ANN401 - SQLite's name; any buffer
        self._disk.require_space(max(0, offset + len(data) - self.xFileSize()))
        super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType] - apsw does not say what a buffer is
        self._disk.log.append(_Operation(self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        if self._disk.room is not None:
            self._disk.room += max(0, self.xFileSize() - newsize)
        super().xTruncate(newsize)
        self._disk.log.append(_Operation(self._name, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        super().xSync(flags)
        self._disk.log.append(_Operation(self._name, -1))


@dataclass
class Disk:
    """A simulated disk; `connect` takes the place of the store's."""

    name: str
    log: list[_Operation] = field(default_factory=list[_Operation])
    writes: int = 0
    full_from: int | None = None
    room: int | None = None
    """How many bytes all files together may still grow by."""
    _vfs: Any = None

    def __post_init__(self) -> None:
        disk = self

        class _Disk(apsw.VFS):
            def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802, ANN401 - SQLite's name; as apsw passes them
                return _File(name, flags, disk)

            def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
                super().xDelete(filename, syncdir)
                disk.log.append(_Operation(Path(filename).name, 0))
                if syncdir:
                    disk.log.append(_Operation(Path(filename).name, -1))

            def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:  # noqa: ANN401 - as apsw passes them
                """Print nothing of what is raised on purpose."""
                return True

        self._vfs = _Disk(self.name, "")

    def connect(self, path: Path) -> sqlite3.Connection:
        """Return a connection whose file is on this disk."""
        return cast("sqlite3.Connection", _Connection(path, self.name))

    def close(self) -> None:
        """Remove the disk from SQLite."""
        self._vfs.unregister()

    def require_space(self, growth: int) -> None:
        """Count a write, of so many bytes beyond the end of a file. Raises apsw.FullError if the disk is full."""
        self.writes += 1
        if self.full_from is not None and self.writes >= self.full_from:
            raise apsw.FullError
        if self.room is not None:
            if growth > self.room:
                raise apsw.FullError
            self.room -= growth

    def image(self, moment: int, chance: random.Random) -> dict[str, bytes]:
        """Return what could be on the disk if the power had failed after `moment` operations.

        What was synced is there; of each later write nothing, all, or some sectors.
        """
        files: dict[str, bytearray] = {}
        unsynced: dict[str, list[_Operation]] = {}
        for operation in self.log[:moment]:
            if operation.offset >= 0:
                unsynced.setdefault(operation.file, []).append(operation)
            else:
                for written in unsynced.pop(operation.file, ()):
                    _apply(files, written)
        for operations in unsynced.values():
            for operation in operations:
                for survivor in _survivors(operation, chance):
                    _apply(files, survivor)
        return {name: bytes(data) for name, data in files.items()}


def _survivors(operation: _Operation, chance: random.Random) -> list[_Operation]:
    fate = chance.choice(["lost", "whole", "torn"])
    if fate == "lost":
        return []
    if fate == "whole" or operation.data is None:
        return [operation]
    sectors = range(0, len(operation.data), _SECTOR)
    return [
        _Operation(operation.file, operation.offset + start, operation.data[start : start + _SECTOR])
        for start in sectors
        if chance.random() < 0.5
    ]


def _apply(files: dict[str, bytearray], operation: _Operation) -> None:
    content = files.setdefault(operation.file, bytearray())
    if operation.data is None:
        del content[operation.offset :]
        return
    content.extend(bytes(max(0, operation.offset - len(content))))
    content[operation.offset : operation.offset + len(operation.data)] = operation.data
