"""What travels between a model and us."""

from dataclasses import dataclass, field

__all__ = ["ToolCall", "ToolResult"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that a model asks for.

    `arguments` are as the model sent them, not yet checked: a dict, or the JSON text where that is what came.
    `Tool.call` takes both.
    """

    id: str
    name: str
    arguments: dict[str, object] | str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How one call of a tool ended.

    A successful call has its `output`; a failed one has in `error` the text that a model may read, and in `exception`
    what was raised. `duration_ms` is the time from the call to its end, checks included.
    """

    success: bool
    output: object = None
    error: str | None = None
    exception: Exception | None = field(default=None, compare=False)
    duration_ms: float = field(default=0.0, compare=False)
