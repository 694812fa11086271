"""What is wrong with a secret argument is said without it: the sentence is recorded and shown."""

import datetime as dt
from enum import Enum
from typing import Annotated, Any, Literal, NoReturn
from uuid import UUID

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainSerializer, Secret, SecretBytes, SecretStr

from ez_ptc import ArgumentsError, Sensitive, Tool, ez_tool

_SECRET = "hunter2-sesame"


class _Pin(BaseModel):
    pin: Annotated[int, Sensitive]
    name: str = ""


class _Closed(BaseModel, extra="forbid"):
    pin: SecretStr


class _Color(Enum):
    RED = "red"
    SESAME = "green"


def _complain(value: object) -> NoReturn:
    message = f"bad {value}"
    raise ValueError(message)


def _break(value: object) -> NoReturn:
    raise KeyError(value)


_CASES: dict[str, tuple[Any, Any, str]] = {
    "number": (Annotated[int, Sensitive], _SECRET, "'code' must be int, got a secret value"),
    "date": (Secret[dt.date], _SECRET, "'code' must be Secret[date], got a secret value"),
    "id": (Secret[UUID], _SECRET, "'code' must be Secret[UUID], got a secret value"),
    "list for text": (SecretStr, [_SECRET], "'code' must be SecretStr, got a secret value"),
    "dict for text": (SecretStr, {_SECRET: 1}, "'code' must be SecretStr, got a secret value"),
    "bytes": (SecretBytes, [_SECRET], "'code' must be SecretBytes, got a secret value"),
    "literal": (Annotated[Literal["a", "b"], Sensitive], _SECRET, "'code' must be 'a' or 'b', got a secret value"),
    "member": (Annotated[_Color, Sensitive], _SECRET, "'code' must be 'red' or 'green', got a secret value"),
    "long": (
        Annotated[str, Sensitive, Field(max_length=3)],
        _SECRET,
        "'code': String should have at most 3 characters, got a secret value",
    ),
    "great": (Annotated[int, Sensitive, Field(le=3)], 7219, "'code' should be less than or equal to 3, got a secret"),
    "union": (Annotated[int | list[int], Sensitive], _SECRET, "'code' must be int | list[int], got a secret value"),
    "items": (list[Annotated[int, Sensitive]], [1, _SECRET], "'code[1]' must be int, got a secret value"),
    "values": (dict[str, Annotated[int, Sensitive]], {_SECRET: _SECRET}, "'code' does not fit its type"),
    "field": (_Pin, {"pin": _SECRET}, "'code.pin' must be int, got a secret value"),
    "field beside one": (_Pin, {"pin": 1, "name": [_SECRET]}, "'code.name' must be str, got a secret value"),
    "missing field": (_Pin, {_SECRET: _SECRET}, "'code.pin' is missing"),
    "text for a record": (_Pin, _SECRET, "'code' must be _Pin (a dict), got a secret value"),
    "unknown key": (_Closed, {"pin": "1", _SECRET: 1}, "'code' does not fit its type, got a secret value"),
    "own validator": (Annotated[str, Sensitive, AfterValidator(_complain)], _SECRET, "'code' does not fit its type"),
    "earlier validator": (Annotated[SecretStr, BeforeValidator(_complain)], _SECRET, "'code' does not fit its type"),
    "broken validator": (Annotated[str, Sensitive, AfterValidator(_break)], _SECRET, "got a secret value (KeyError)"),
    "own serializer": (
        Annotated[Secret[int], PlainSerializer(str)],
        _SECRET,
        "'code' must be Secret[int], got a secre",
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_secret_is_not_in_the_complaint_about_it(name: str) -> None:
    annotation, value, sentence = _CASES[name]

    def unlock(code: object) -> str:
        """Unlock."""
        return str(code)

    unlock.__annotations__["code"] = annotation
    with pytest.raises(ArgumentsError) as raised:
        ez_tool(unlock).call({"code": value})
    assert sentence in str(raised.value)
    texts = str((raised.value, raised.value.problems, raised.value.__cause__))
    assert not any(secret in texts for secret in (_SECRET, "hunter2", "7219"))


def test_name_of_a_secret_member_is_not_said() -> None:
    @ez_tool
    def paint(color: Annotated[_Color, Sensitive]) -> str:
        """Paint."""
        return color.value

    bound = paint.definition.binder.bind((), {"color": "SESAME"})
    assert bound.kwargs == {"color": _Color.SESAME}
    assert bound.repairs == ("'color' came as the name of a member, not as its value",)


class _Parts(BaseModel):
    notes: list[str] = []


@pytest.mark.parametrize(
    ("annotation", "value", "place"),
    [
        (Annotated[dict[str, _Parts], Sensitive], {_SECRET: {"notes": None}}, "a value in 'code'"),
        (Secret[dict[str, list[int]]], {_SECRET: "[1]"}, "a value in 'code'"),
        (Annotated[list[_Parts], Sensitive], [{"notes": None}], "'code[0].notes'"),
    ],
)
def test_keys_of_a_secret_are_not_in_the_note_about_a_repair(annotation: object, value: object, place: str) -> None:
    def unlock(code: object) -> str:
        """Unlock."""
        return str(code)

    unlock.__annotations__["code"] = annotation
    (repair,) = ez_tool(unlock).definition.binder.bind((), {"code": value}).repairs
    assert repair.startswith(f"{place} came as ")


def test_keys_of_a_json_schemas_secret_are_not_in_the_note_about_a_repair() -> None:
    code = {"type": "object", "writeOnly": True, "additionalProperties": {"type": "array"}}
    opener = Tool.from_schema("open_door", "Open.", {"type": "object", "properties": {"code": code}}, dict[str, Any])
    (repair,) = opener.definition.binder.bind((), {"code": {_SECRET: "[1]"}}).repairs
    assert repair.startswith("a value in 'code' was ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"token": _SECRET}, "'token' does not fit its schema (maxLength), got a secret value"),
        ({"token": [_SECRET]}, "'token' must be str, got a secret value"),
        ({"card": {"pin": _SECRET, "it": 1}}, "'card' does not fit its schema (type), got a secret value"),
        ({"card": {_SECRET: _SECRET}}, "'card' does not fit its schema (minProperties), got a secret value"),
        ({"n": 1, "m": _SECRET}, "'the arguments'"),
    ],
)
def test_secret_of_a_json_schema_is_not_in_the_complaint_about_it(arguments: dict[str, Any], sentence: str) -> None:
    card = {"type": "object", "properties": {"pin": {"type": "integer", "format": "password"}}, "minProperties": 2}
    properties = {"token": {"type": "string", "writeOnly": True, "maxLength": 3}, "card": card, "n": {}, "m": {}}
    schema = {"type": "object", "properties": properties, "maxProperties": 1}
    opener = Tool.from_schema("open_door", "Open.", schema, dict[str, Any])
    with pytest.raises(ArgumentsError) as raised:
        opener.call(arguments)
    assert sentence in str(raised.value)
    assert _SECRET not in str((raised.value, raised.value.problems))
