"""The exceptions programs see."""

__all__ = ["ToolError"]


class ToolError(Exception):
    """A tool failed. What programs catch is also an instance of the built-in exception the tool raised."""

    __module__ = "builtins"  # where programs find it

    def __str__(self) -> str:
        if self.args:
            return str(self.args[0])
        return ""
