"""The names and the repeatable clock that programs start with, in addition to Python's built-ins, on both ends."""

__all__ = ["EPOCH_NS", "MODULES", "PROVIDED", "RESULT_READERS", "STEP_NS"]

MODULES = ("json", "math", "re", "asyncio")
PROVIDED = frozenset({*MODULES, "ToolError", "parallel"})
RESULT_READERS = frozenset({"read_result", "results", "search_result"})
"""Further names, once a result too long for the model is kept."""

EPOCH_NS = 1_735_689_600 * 10**9
"""Where the clock starts, in nanoseconds since 1970: at 2025-01-01 00:00 UTC, an arbitrary choice."""
STEP_NS = 100_000
"""How far each reading advances the clock, in nanoseconds."""
