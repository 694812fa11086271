"""The states of runs, which the command line names before it imports a journal."""

from typing import Literal

__all__ = ["RunState"]

RunState = Literal["running", "resumable", "paused", "outcome_unknown", "done", "failed"]
"""What a run is doing: "running" has a live owner; "resumable" lost its process, and can go on."""
