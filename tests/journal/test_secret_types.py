"""Arguments that pydantic's `Secret[...]` keeps secret, whatever is in it, are masks and digests in a journal too."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Secret

from ez_ptc import Toolkit, ez_tool


class _Birthday(Secret[dt.date]):
    pass


class _Account(BaseModel):
    pin: Secret[int]


_MASK = "*" * 10
_TYPES: dict[str, tuple[Any, str, Any, Any]] = {
    "text": (Secret[str], "'sesame' * 2", _MASK, "sesamesesame"),
    "number": (Secret[int], "73219876 + 1", _MASK, "73219877"),
    "list": (Secret[list[int]], "[73219876 + 1]", _MASK, "73219877"),
    "subclass": (_Birthday, "'19' + '87-03-02'", _MASK, "1987-03-02"),
    "optional": (Secret[int] | None, "73219876 + 1", _MASK, "73219877"),
    "items": (list[Secret[int]], "[73219876 + 1, 1]", [_MASK, _MASK], "73219877"),
    "field": (_Account, "{'pin': 73219876 + 1}", {"pin": _MASK}, "73219877"),
    "record": (Secret[_Account], "{'pin': 73219876 + 1}", _MASK, "73219877"),
}


@pytest.mark.parametrize("name", _TYPES)
def test_secret_of_any_type_is_masked_and_not_stored(name: str, tmp_path: Path) -> None:
    annotation, value, shown, secret = _TYPES[name]
    used: list[object] = []

    def unlock(code: object) -> str:
        """Unlock."""
        used.append(code)
        return "unlocked"

    unlock.__annotations__["code"] = annotation
    with Toolkit([ez_tool(unlock, requires_approval=True)], journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute(f"print(unlock({value}))")
        (pending,) = paused.pending
        assert pending.arguments == {"code": shown}
        assert toolkit.resume(paused.run_id or "", {pending.id: True}).output == "unlocked\n"
        assert len(used) == 1
        assert all(secret.encode() not in path.read_bytes() for path in tmp_path.iterdir())
