"""This library with workers that are restored to a snapshot instead of replaced."""

from benchmarks.peers.subject import Subject
from benchmarks.peers.subjects.ours import start_with

__all__ = ["start"]


def start() -> Subject:
    """Return a toolkit over the tools. Raises IsolationUnavailableError if workers cannot be restored here."""
    from ez_ptc import ProcessSandbox

    sandbox = ProcessSandbox(fresh="restored")
    sandbox.warm_up()
    return start_with(sandbox)
