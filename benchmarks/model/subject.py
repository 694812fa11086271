"""What a subject of this benchmark does: it says what the model reads, and runs what the model writes.

Standard library only: each subject runs in an environment of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Outcome", "Subject"]


@dataclass(slots=True)
class Outcome:
    """How an answer's program ended: what it printed, whether it ran to its end, and what the model is told.

    `is_search` says that the program only looked for tools, so the model goes on.
    """

    printed: str
    success: bool
    told: str
    is_search: bool = False


class Subject(Protocol):
    """Some tools, as a way of programmatic tool calling shows them and runs them."""

    @property
    def system(self) -> str:
        """The system prompt."""
        ...

    @property
    def tools(self) -> list[dict[str, Any]]:
        """Definitions of tools, as Chat Completions takes them; none where programs come as text."""
        ...

    @property
    def stop(self) -> list[str]:
        """Texts at which an answer ends."""
        ...

    def question(self, text: str) -> str:
        """Return a task as the user's message."""
        ...

    def run(self, answer: str) -> Outcome:
        """Run the program in a model's answer, or tell that there is none."""
        ...

    def begin(self) -> None:
        """Forget what earlier programs left behind."""
        ...


Start = Callable[[Sequence[Callable[..., object]]], Subject]
