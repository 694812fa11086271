"""What programs find beside the built-ins of Python, without an import; the host reads the names here, too."""

__all__ = ["MODULES", "PROVIDED"]

MODULES = ("json", "math", "re", "asyncio")
PROVIDED = frozenset({*MODULES, "ToolError", "parallel"})
