"""The clock of a program whose runs are repeatable, on both ends."""

__all__ = ["EPOCH_NS", "STEP_NS"]

EPOCH_NS = 1_735_689_600 * 10**9
"""Where it starts, in nanoseconds since 1970: at 2025-01-01 00:00 UTC, an arbitrary choice."""
STEP_NS = 100_000
"""How far each reading advances it, in nanoseconds."""
