"""Read-only tools: those declared, and a guess from the names of the others.

The guess determines the wording of an answer and the tools in the worked example, whose form models copy. It never
permits a suggested program.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.tools.tool import Tool

__all__ = ["demonstrable", "seems_to_read"]

_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_READING: Final = frozenset(
    {"calculate", "compute", "count", "describe", "estimate", "fetch", "find", "get", "has", "is", "list", "locate"}
    | {"lookup", "read", "search"}
)
# The result of these must be known: `show` may also send a message, and `track` may record something.
_SHOWING: Final = frozenset({"look", "query", "show", "track", "view"})
_SHOWN: Final = frozenset(
    {
        "alert",
        "banner",
        "click",
        "dialog",
        "event",
        "expense",
        "message",
        "notification",
        "popup",
        "time",
        "usage",
        "vote",
    }
)
_EFFECTS: Final = """
    accept ack acknowledge activate add adjust alter and append apply approve archive assign attach away ban block
    book broadcast buy cancel change charge claim clear close commit confirm consume create deactivate decrement
    deduct delete deploy deposit dequeue destroy disable discard dispatch drop edit empty enable enqueue ensure
    erase exec execute expire fill finish fire fix flush forget grant hide increment init insert install invite
    invoke kick kill launch lock login logout make mark merge modify move mute new next notify or overwrite patch
    pause pay ping pop prune publish purge push put reboot redeem refresh refund register reject remove rename renew
    reopen repair replace reply reserve reset resolve restart restore resume retry revert revoke rewrite rid
    rollback rotate sale save sell send set share shutdown sign spend start stop submit subscribe suspend swap sync
    take terminate then touch transfer trigger truncate unblock uninstall unlock unsubscribe update upgrade upload
    upsert use vote wipe withdraw write
"""
_CHANGING: Final = frozenset(_EFFECTS.split())


def demonstrable(tools: Sequence[Tool[..., Any]]) -> list[Tool[..., Any]]:
    """Return the tools an example may call: those declared read-only, then those that seem to be."""
    return sorted(filter(seems_to_read, tools), key=lambda tool: tool.read_only is None)


def seems_to_read(tool: Tool[..., Any]) -> bool:
    """Return whether a tool is declared read-only or, without a declaration, seems so by its name."""
    if tool.read_only is not None:
        return tool.read_only
    if tool.name.islower():
        words = tool.name.split("_")
    else:
        words = [word.lower() for word in _WORD.findall(tool.name)]
    verb, *nouns = words or [""]
    if not _CHANGING.isdisjoint(nouns):
        return False
    if verb in _SHOWING:
        return tool.return_schema is not None and _SHOWN.isdisjoint(word.removesuffix("s") for word in nouns)
    return verb in _READING
