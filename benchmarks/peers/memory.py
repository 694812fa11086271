"""Memory and CPU time of the processes below one process, as the kernel counts them."""

import os
import statistics
from pathlib import Path
from typing import Final

__all__ = ["cpu_seconds", "of_the_lot", "of_workers", "private_of"]

_PROC: Final = Path("/proc")


def of_workers(pid: int) -> float | None:
    """Return the median private memory, in bytes, of the processes below ``pid`` that have no child of their own.

    None where there is none, or where the kernel does not tell (another user's processes).
    """
    children = _children()
    leaves = [process for process in _below(pid, children) if process not in children]
    found = [_rollup(process, "Private_Clean", "Private_Dirty") for process in leaves]
    sizes = [size for size in found if size is not None]
    return statistics.median(sizes) if sizes else None


def of_the_lot(pid: int) -> float | None:
    """Return the memory, in bytes, of all processes below ``pid``; what several share is counted once (PSS)."""
    found = [_rollup(process, "Pss") for process in _below(pid, _children())]
    sizes = [size for size in found if size is not None]
    return sum(sizes) if sizes else None


def private_of(pid: int) -> float:
    """Return the private memory, in bytes, of ``pid`` and of all processes below it."""
    found = (_rollup(process, "Private_Clean", "Private_Dirty") for process in [pid, *_below(pid, _children())])
    return sum(size for size in found if size is not None)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of ``pid`` and of all processes below it, those that have ended included."""
    ticks = 0
    for process in [pid, *_below(pid, _children())]:
        try:
            fields = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # Its own, in and outside of the kernel, and that of its children that it has waited for.
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                # The name of the program stands in brackets and may contain anything; the parent is two fields on.
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            found.setdefault(parent, []).append(int(folder.name))
    return found


def _below(pid: int, children: dict[int, list[int]]) -> list[int]:
    found: list[int] = []
    for child in children.get(pid, []):
        found += [child, *_below(child, children)]
    return found


def _rollup(pid: int, *fields: str) -> int | None:
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    sizes = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return sum(int(sizes[field].split()[0]) << 10 for field in fields)
