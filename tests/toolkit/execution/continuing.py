"""Tools for programs that correct a failed one."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from ez_ptc import ExecutionResult, PendingCall, Tool, Toolkit, ez_tool

__all__ = ["FAILED", "Desk", "texts"]

FAILED = "orders = find('lamp')\nrefund(1)\nrefund(1)\nrefund(2)\n1 / 0"


@dataclass
class Desk:
    """Tools that note what they do."""

    done: list[Any] = field(default_factory=list[Any])
    asked: list[PendingCall] = field(default_factory=list[PendingCall])
    may_end: threading.Event = field(default_factory=threading.Event)
    verdict: object = True

    def approve(self, call: PendingCall) -> object:
        self.asked.append(call)
        return self.verdict

    def tools(self) -> list[Tool[..., Any]]:
        return [
            *[self._tool(name) for name in ("refund", "note")],
            self._tool("find", read_only=True),
            self._tool("pay", requires_approval=True),
            self._tool("charge", idempotent=True),
        ]

    def _tool(self, name: str, **options: Any) -> Tool[..., Any]:
        def function(value: Any) -> str:  # noqa: ANN401 - of any type
            """Do it."""
            self.done.append((name, value))
            if value == "hang":
                self.may_end.wait(60)
            if value == "bad":
                message = "no such value"
                raise ValueError(message)
            return f"{name} {len(self.done)}"

        return ez_tool(name=name, **options)(function)

    def toolkit(self, **options: Any) -> Toolkit:
        return Toolkit(self.tools(), **options)


def texts(result: ExecutionResult) -> list[str]:
    assert result.success, result.error
    return result.output.split("\n")[:-1]
