"""Kept results in the journal: the parts of a run's recorded result, under the names of the run and the part."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from ez_ptc.toolkit.execution.results.scopes import ValueKeeper

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.journal.journal import Journal
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.toolkit.execution.callers import Caller

__all__ = ["find_part", "handle_of_run", "name_parts", "parts_of_program", "recall", "recall_in_session", "split_name"]

_RUN_ID: Final = re.compile(r"[0-9a-f]{32}")
_NAME: Final = re.compile(r"(r_[0-9a-f]{32}|r[1-9][0-9]{0,9})([a-z]?)")
_PARTS: Final[Mapping[str, str]] = {"": "output", "v": "return_value", "e": "error_output", "d": "described"}


def handle_of_run(run_id: str) -> str | None:
    """Return the handle of a run's output; None for an id of the caller's choice, because it is not random."""
    return f"r_{run_id}" if _RUN_ID.fullmatch(run_id) else None


def split_name(name: str) -> tuple[str, str] | None:
    """Return the name of a program's output, and the letter for another part of its result; None for another name."""
    match = _NAME.fullmatch(name)
    return None if match is None or match[2] not in _PARTS else (match[1], match[2])


def name_parts(result: ExecutionResult, name: str) -> None:
    """Give the parts of a result their names, for `find_part`."""
    if isinstance(result.keeper, ValueKeeper):
        result.keeper.parts.extend((getattr(result, field), name + letter) for letter, field in _PARTS.items())


def find_part(result: ExecutionResult | None, letter: str) -> tuple[object, str] | None:
    """Return a part of a recorded result, and its source; None if it is empty."""
    field = _PARTS[letter]
    value = cast("object", getattr(result, field, None))
    if value is None or value == "":
        return None
    return value, f"an earlier program ({field})"


def parts_of_program(result: ExecutionResult | None, position: int) -> list[str]:
    """Return the short names of the parts of a session's program, but for empty ones."""
    return [f"r{position}{letter}" for letter in _PARTS if find_part(result, letter) is not None]


def recall(journal: Journal, caller: Caller, name: str) -> tuple[object, str] | None:
    """Return the part of a caller's own ended run with a handle, and its source; None for any other handle."""
    split = split_name(name)
    known = None if split is None else journal.known_run(split[0].removeprefix("r_"))
    # A context without an identity is equal to others in a record, and so opens nothing.
    if split is None or known is None or not (caller.principal or caller.is_comparable):
        return None
    run, record = known
    recorded = record.start.data.get("caller")
    if recorded is None or not caller.is_owner(run.id, recorded):
        return None
    return find_part(run.result, split[1])


def recall_in_session(journal: Journal, session: str, name: str) -> tuple[object, str] | None:
    """Return the part of a session's ended program with a short name, and its source; None for any other name."""
    split = split_name(name)
    rows = journal.session_rows(session)
    if split is None or not split[0][1:].isdigit() or not 0 < int(split[0][1:]) <= len(rows):
        return None
    return find_part(journal.run(rows[int(split[0][1:]) - 1][0].id).result, split[1])
