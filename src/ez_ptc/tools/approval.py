"""A person's yes to a call, before it has any effect."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ez_ptc.errors import ToolError
from ez_ptc.messages import ToolCall

__all__ = ["Approve", "decided", "question", "someone_to_ask"]

Approve = Callable[[ToolCall], Any]
"""Asks a person about a call whose arguments have been checked.

True runs it, a dict runs it with these arguments instead, text refuses it and is the reason; anything else refuses it.
It may be asynchronous where the call is awaited.
"""


def someone_to_ask(tool: str, approve: Approve | None) -> Approve:
    """Return who is to be asked. Raises ToolError where there is nobody: the call must not run then."""
    if approve is None:
        message = (
            f"{tool} needs a person's approval, and nobody can be asked: the program that runs it gives no approve="
        )
        raise ToolError(message)
    return approve


def question(tool: str, names: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]) -> ToolCall:
    """Return the call that a person is asked about, with all its arguments by name."""
    return ToolCall(id="", name=tool, arguments={**dict(zip(names, args, strict=False)), **kwargs})


def decided(tool: str, answer: object) -> dict[str, object] | None:
    """Return the arguments to run the call with instead, or None to run it as it is.

    Raises ToolError, whose message a model may read, for anything but a yes.
    """
    if answer is True:
        return None
    if isinstance(answer, dict):
        return cast("dict[str, object]", answer)
    reason = f": {answer}" if isinstance(answer, str) and answer.strip() else ""
    message = f"{tool} was not approved{reason}"
    raise ToolError(message)
