"""A conversation saved after a failed program: its next program continues it, if the journal has its calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from ez_ptc import (
    Context,
    History,
    Message,
    ScriptedProvider,
    TextMessage,
    ToolCall,
    Toolkit,
    ToolResultMessage,
    ez_tool,
    llm,
)

Mode = Literal["tool", "prompt"]
FAILING = "charge(1)\n1 / 0"
CORRECTED = "print(charge(1))"


class Desk:
    def __init__(self) -> None:
        self.charged: list[str] = []

    def toolkit(self, **options: Any) -> Toolkit:
        @ez_tool
        def charge(order: int, user: Context[str]) -> str:
            """Charge an order."""
            self.charged.append(f"{user} {order}")
            return f"charge {len(self.charged)} of {user}"

        return Toolkit([charge], **options)


def answers(mode: Mode, *programs: str) -> list[ToolCall | str]:
    if mode == "prompt":
        return [f"```python\n{program}\n```" for program in programs]
    return [ToolCall(f"c{number}", "execute_tools", {"code": program}) for number, program in enumerate(programs)]


def ask(
    toolkit: Toolkit, mode: Mode, entries: tuple[Any, ...], *programs: str, user: str = "ada"
) -> tuple[list[str], tuple[Any, ...]]:
    """Ask a question in a loaded conversation; return the reports of its programs, and the entries."""
    model = ScriptedProvider(*answers(mode, *programs), "Done.")
    builder = llm().toolkit(toolkit, mode=mode).tool_context(user).provider(model).continued(*entries)
    messages, conversation = builder.converse("Charge.")
    return [_text(message) for message in messages if message.program is not None], conversation.entries


def _text(message: Message) -> str:
    if isinstance(message, ToolResultMessage):
        return str(message.result)
    assert isinstance(message, TextMessage)
    return message.text


def save_and_load(path: Path, entries: tuple[Any, ...]) -> tuple[Any, ...]:
    with History(path / "history.db") as history:
        return history.load(history.save(entries))


@pytest.mark.parametrize("mode", ["tool", "prompt"])
def test_loaded_conversation_continues_with_the_journal(mode: Mode, tmp_path: Path) -> None:
    desk = Desk()
    with desk.toolkit(journal=tmp_path / "runs.db") as toolkit:
        _, entries = ask(toolkit, mode, (), FAILING)
    with desk.toolkit(journal=tmp_path / "runs.db") as toolkit:
        reports, _ = ask(toolkit, mode, save_and_load(tmp_path, entries), CORRECTED, CORRECTED)
    assert reports[-2:] == ["charge 1 of ada\n", "charge 2 of ada\n"]


@pytest.mark.parametrize("mode", ["tool", "prompt"])
@pytest.mark.parametrize("lost", ["no journal", "another journal", "another user"])
def test_lost_record_is_said_and_the_calls_run(mode: Mode, lost: str, tmp_path: Path) -> None:
    desk = Desk()
    before: dict[str, Any] = {} if lost == "no journal" else {"journal": tmp_path / "runs.db"}
    after = {"journal": tmp_path / "other.db"} if lost == "another journal" else before
    with desk.toolkit(**before) as toolkit:
        _, entries = ask(toolkit, mode, (), FAILING)
    user = "bob" if lost == "another user" else "ada"
    with desk.toolkit(**after) as toolkit:
        reports, _ = ask(toolkit, mode, save_and_load(tmp_path, entries), CORRECTED, user=user)
    assert reports[-1].startswith(f"charge 2 of {user}\n[This program made all of its calls:")


def test_loaded_conversation_starts_anew_after_a_success(tmp_path: Path) -> None:
    desk = Desk()
    with desk.toolkit(journal=tmp_path / "runs.db") as toolkit:
        _, entries = ask(toolkit, "tool", (), FAILING, CORRECTED)
        assert len(desk.charged) == 1
        reports, _ = ask(toolkit, "tool", save_and_load(tmp_path, entries), CORRECTED)
    assert reports[-1] == "charge 2 of ada\n"


def test_file_without_the_ends_of_programs_is_loaded(tmp_path: Path) -> None:
    desk = Desk()
    with desk.toolkit(journal=tmp_path / "runs.db") as toolkit:
        _, entries = ask(toolkit, "tool", (), CORRECTED)
        loaded = save_and_load(tmp_path, tuple(entries[:1]))
        reports, _ = ask(toolkit, "tool", loaded, CORRECTED)
    assert reports == ["charge 2 of ada\n"]
