"""The exceptions that programs see."""

__all__ = ["ToolError"]


class ToolError(Exception):
    """A tool failed. What a program catches is also an instance of the built-in exception that the tool raised."""

    __module__ = "builtins"  # where programs find it

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
