"""Mappings whose page tables forks receive."""

import ctypes
from pathlib import Path

from ez_ptc.sandbox.worker.lifecycle.startup import share_page_tables

MAPS = Path("/proc/self/maps")


def _own_kilobytes(address: int) -> int:
    """Return how much of the mapping around an address is this process's own, in kB."""
    is_inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        name, *rest = line.split()
        if not name.endswith(":"):
            start, end = (int(part, 16) for part in name.split("-"))
            is_inside = start <= address < end
        elif is_inside and name == "Anonymous:":
            return int(rest[0])
    raise LookupError(address)


def _code_mappings() -> list[str]:
    return [line for line in MAPS.read_text(encoding="utf-8").splitlines() if " r-xp " in line]


def test_code_is_written_over_and_stays_read_only() -> None:
    function = ctypes.cast(ctypes.pythonapi.PyErr_Occurred, ctypes.c_void_p).value
    assert function is not None
    before = _code_mappings()
    share_page_tables()
    assert _own_kilobytes(function) > 0
    assert _code_mappings() == before
