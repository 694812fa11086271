"""Names programs can use without an import, in addition to Python's built-ins; the host reads them too."""

__all__ = ["MODULES", "PROVIDED", "RESULT_READERS"]

MODULES = ("json", "math", "re", "asyncio")
PROVIDED = frozenset({*MODULES, "ToolError", "parallel"})
RESULT_READERS = frozenset({"read_result", "results", "search_result"})
"""Further names, once a result too long for the model is kept."""
