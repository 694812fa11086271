"""What a question comes to: the messages, and the conversation that continues."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar

if TYPE_CHECKING:
    from ez_ptc.messages import Message

__all__ = ["outcome"]

C = TypeVar("C")


class _Outcome(tuple[object, ...]):
    """The pair as a tuple; a wrong attribute is answered with what to write."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError."""
        message = f"a conversation returns two values, which have no attribute {name!r}"
        if hasattr(self[1], name):
            message += f": write messages, conversation = ..., then conversation.{name}"
        raise AttributeError(message, name=name, obj=self)


def outcome(messages: list[Message], continuation: C) -> tuple[list[Message], C]:
    """Return both as a tuple."""
    return _Outcome((messages, continuation))  # pyright: ignore[reportReturnType] - to type checkers it is a plain pair
