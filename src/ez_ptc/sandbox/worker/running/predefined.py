"""Names programs can use without an import, in addition to Python's built-ins; the host reads them too."""

__all__ = ["MODULES", "PROVIDED"]

MODULES = ("json", "math", "re", "asyncio")
PROVIDED = frozenset({*MODULES, "ToolError", "parallel"})
