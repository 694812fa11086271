"""What programs are told not to have: the list that the documentation shows."""

from ez_ptc.sandbox.check.absences import ABSENT

__all__ = ["is_absent"]

_NAMES = frozenset(" ".join(ABSENT.values()).split())


def is_absent(name: str) -> bool:
    """Return whether a module's absence is documented."""
    return name in _NAMES
