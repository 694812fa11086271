"""What a question comes to: the messages, and the conversation that continues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ez_ptc.view.objects.viewable import Viewable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.messages import Message
    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["outcome"]

C = TypeVar("C")


class _Outcome(Viewable, tuple[object, ...]):
    """The pair as a tuple; a wrong attribute is answered with what to write."""

    __slots__ = ()

    def _view_parts(self) -> Iterable[ViewPart]:
        """Return the parts of the conversation, which has the messages."""
        conversation: Any = self[1]
        parts: Iterable[ViewPart] = conversation._view_parts()  # noqa: SLF001 - both are shown in one way
        return parts

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError."""
        message = f"a conversation returns two values, which have no attribute {name!r}"
        if hasattr(self[1], name):
            message += f": write messages, conversation = ..., then conversation.{name}"
        raise AttributeError(message, name=name, obj=self)


def outcome(messages: list[Message], continuation: C) -> tuple[list[Message], C]:
    """Return both as a tuple."""
    return _Outcome((messages, continuation))  # pyright: ignore[reportReturnType] - to type checkers it is a plain pair
