"""Arguments that pydantic's `Secret[...]` keeps secret, whatever is in it, are masks and digests in a journal too."""

import datetime as dt
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, PlainSerializer, PlainValidator, Secret, SecretStr, WithJsonSchema

from ez_ptc import Journal, Sensitive, Toolkit, ez_tool


class _Birthday(Secret[dt.date]):
    pass


class _Account(BaseModel):
    pin: Secret[int]


class _OwnSerializer(BaseModel):
    pin: Annotated[Secret[str], PlainSerializer(lambda pin: pin.get_secret_value(), return_type=str)]
    name: str = "Ada"


_MASK = "*" * 10
_TYPES: dict[str, tuple[Any, str, Any, Any]] = {
    "text": (Secret[str], "'sesame' * 2", _MASK, "sesamesesame"),
    "number": (Secret[int], "73219876 + 1", _MASK, "73219877"),
    "list": (Secret[list[int]], "[73219876 + 1]", _MASK, "73219877"),
    "subclass": (_Birthday, "'19' + '87-03-02'", _MASK, "1987-03-02"),
    "optional": (Secret[int] | None, "73219876 + 1", _MASK, "73219877"),
    "items": (list[Secret[int]], "[73219876 + 1, 1]", [_MASK, _MASK], "73219877"),
    "field": (_Account, "{'pin': 73219876 + 1}", {"pin": _MASK}, "73219877"),
    "own serializer": (_OwnSerializer, "{'pin': 'sesame' * 2}", {"pin": _MASK, "name": "Ada"}, "sesamesesame"),
    "own validator": (
        list[Annotated[str, Sensitive, PlainValidator(str), PlainSerializer(str)]],
        "['sesame' * 2]",
        [_MASK],
        "sesamesesame",
    ),
    "own schema": (Annotated[SecretStr, WithJsonSchema({})], "'sesame' * 2", _MASK, "sesamesesame"),
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
        assert _is_nowhere(secret, tmp_path)


def _is_nowhere(secret: str, folder: Path) -> bool:
    return all(secret.encode() not in path.read_bytes() for path in folder.iterdir())


def test_refused_secret_is_not_stored(tmp_path: Path) -> None:
    @ez_tool
    def unlock(code: Annotated[int, Sensitive]) -> str:
        """Unlock."""
        return str(code)

    with Journal(tmp_path / "runs.db") as journal, Toolkit([unlock], journal=journal) as toolkit:
        refused = toolkit.execute("unlock('sesame' * 2)")
        assert "unlock: 'code' must be int, got a secret value" in (refused.error or "")
        assert "sesamesesame" not in journal.run(refused.run_id or "").to_html()
        assert _is_nowhere("sesamesesame", tmp_path)


class _Client:
    def __str__(self) -> str:
        return "sesamesesame"


class _Settings(BaseModel):
    pin: Annotated[str, Sensitive] = "sesamesesame"


_DEFAULTS: dict[str, tuple[Any, Any]] = {
    "text": (Annotated[str, Sensitive], "sesamesesame"),
    "items": (list[Annotated[str, Sensitive]], ["sesamesesame"]),
    "wrong type": (SecretStr, "sesamesesame"),
    "record": (_Settings, _Settings()),
    "object": (Annotated[_Client, Sensitive], _Client()),
}


@pytest.mark.parametrize("name", _DEFAULTS)
def test_default_of_a_secret_is_not_described_and_not_stored(name: str, tmp_path: Path) -> None:
    annotation, default = _DEFAULTS[name]
    used: list[object] = []

    def unlock(door: int, code: object = default) -> str:
        """Unlock."""
        used.append(code)
        return f"unlocked {door}"

    unlock.__annotations__["code"] = annotation
    tool = ez_tool(unlock, requires_approval=True)
    assert "sesamesesame" not in f"{tool.parameters} {tool.definition.signature}"
    with Journal(tmp_path / "runs.db") as journal, Toolkit([tool], journal=journal) as toolkit:
        assert "sesamesesame" not in toolkit.prompt()
        paused = toolkit.execute("print(unlock(1))")
        assert "sesamesesame" not in f"{paused.pending} {journal.run(paused.run_id or '').to_html()}"
        assert toolkit.resume(paused.run_id or "", {paused.pending[0].id: True}).output == "unlocked 1\n"
        assert used == [default]
        assert _is_nowhere("sesamesesame", tmp_path)
