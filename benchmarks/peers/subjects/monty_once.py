"""pydantic-monty with a process for each program, as this library has: the closest isolation that it offers."""

from benchmarks.peers.subject import Subject
from benchmarks.peers.subjects.monty import MontySubject

__all__ = ["start"]


def start() -> Subject:
    """Return a pool whose processes serve one program each."""
    return MontySubject(sessions_per_process=1)
