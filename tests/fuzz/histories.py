"""What the readers of saved conversations promise of any bytes: entries, or a clean refusal."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from ez_ptc import HistoryError
from ez_ptc.conversation.saving.history import History
from ez_ptc.conversation.saving.serialization import entry_from_json, entry_to_json, from_json, to_json
from ez_ptc.messages import Answer, Entry, TextMessage, ToolCallMessage, ToolResultMessage

__all__ = ["ENTRIES", "survive"]

ENTRIES: tuple[Entry, ...] = (
    TextMessage("What does a lamp cost?"),
    Answer(messages=(ToolCallMessage("price_of", "c1", {"product": "lamp"}),)),
    ToolResultMessage("c1", 39.5, tool_name="price_of"),
    TextMessage("A lamp costs 39.50 euros."),
)


def survive(data: bytes) -> list[str]:
    """Return what becomes of bytes; raise for anything but a clean refusal.

    After a first byte that says so, the others are the text of a conversation, one of an entry, or changes of a file:
    three bytes each, of which two say where.
    """
    if not data:
        return []
    way, rest = data[0] % 3, data[1:]
    try:
        if way == 2:
            return _from_file(rest)
        text = rest.decode(errors="surrogateescape")
        if way == 1:
            entry = entry_from_json(text)
            assert entry_from_json(entry_to_json(entry)) == entry
            return ["an entry"]
        entries = from_json(text)
        assert from_json(to_json(entries)) == entries
    except (HistoryError, OSError):
        return ["refused"]
    return [f"{len(entries)} entries"]


@cache
def _file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with History(Path(folder) / "history.db") as history:
            history.save(ENTRIES, id="shop")
        return (Path(folder) / "history.db").read_bytes()


def _from_file(changes: bytes) -> list[str]:
    content = bytearray(_file())
    for start in range(0, len(changes) - 2, 3):
        place, value = int.from_bytes(changes[start : start + 2], "big"), changes[start + 2]
        content[place % len(content)] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        path.touch(0o600)
        path.write_bytes(content)
        with History(path) as history:
            found = history.list(), history.search("lamp"), history.load("shop")
    return [f"{len(found[2])} entries"]
