"""Texts that models send for a value they leave out: nothing may mean everything, so none is read as nothing."""

from __future__ import annotations

from dataclasses import dataclass

from ez_ptc import ToolCall, Toolkit, ez_tool


@dataclass
class Scope:
    """What is deleted."""

    ids: list[int] | None = None
    day: int = 0


@ez_tool
def delete(ids: list[int] | None = None, *, limit: int = 100, scope: Scope | None = None) -> str:
    """Delete rows; without ids, all of them."""
    return f"{ids} {limit} {scope}"


def test_text_for_nothing_never_widens_a_call() -> None:
    with Toolkit([delete]) as toolkit:
        for text in ("", "null", "None"):
            for name in ("ids", "limit", "scope"):
                result = delete.run(ToolCall("1", "delete", {name: text}))
                assert str(result.error).startswith(f"delete: {name!r} must be ")
                assert f"got str {text!r}" in str(toolkit.execute(f"delete({name}={text!r})").error)
            for inner in ({"ids": text}, {"ids": [text]}, {"day": text}):
                assert not delete.run(ToolCall("1", "delete", {"scope": inner})).success
    assert delete.run(ToolCall("1", "delete", {"ids": None, "limit": None})).output == "None 100 None"
