"""Typed answers in the forms that models write: read where they are certain, and asked for again elsewhere."""

import json
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import partial
from typing import Any, Literal, TypedDict

import pytest

from ez_ptc import llm
from ez_ptc.conversation.loop import structured_output
from ez_ptc.errors import ProviderError
from ez_ptc.messages import Answer, MessageRole, TextMessage
from ez_ptc.providers.scripted import Script, ScriptedProvider

SchemaProvider = partial(ScriptedProvider, output_schema=True)


class Colour(Enum):
    """What things look like."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Person:
    """Somebody."""

    name: str
    age: int


async def ask(kind: object, *script: Script) -> Any:  # noqa: ANN401 - of the type that was asked for
    builder = llm().provider(SchemaProvider(*script)).request("Who?")
    value, _ = await structured_output.ask_for_type(builder.entries, builder.settings, builder.continued, kind)
    return value


FIELDS = {"name": "Ada", "age": 36}
ADA = json.dumps(FIELDS)


class Filter(TypedDict, total=False):
    """Anything may be left out."""

    name: str


@pytest.mark.parametrize("kind", [Person | None, Filter | None, int | None, Any, list[int] | None])
@pytest.mark.parametrize("text", ["null", " null\n", "```json\nnull\n```", '{"answer": null}'])
async def test_null_is_none_where_it_is_allowed(kind: object, text: str, anyio_backend: str) -> None:
    assert await ask(kind, text) in (None, {"answer": None} if kind is Any else None)


@pytest.mark.parametrize("kind", [Person, Filter, int])
async def test_null_is_no_other_value(kind: object, anyio_backend: str) -> None:
    with pytest.raises(ProviderError, match="'answer' must be"):
        await ask(kind, "null", "null")


@pytest.mark.parametrize(
    "text",
    [
        f"<think>\nPerhaps {ADA.replace('36', '63')}\n</think>\n{ADA}",
        f"<think>\n```json\n{ADA.replace('36', '63')}\n```\n</think>\n```json\n{ADA}\n```",
        f"Here it is:\n{ADA}",
        f"Here it is:\n\n```json\n{ADA}\n```\nIs there anything else?",
        f"```\n{ADA}\n```",
        json.dumps({"answer": FIELDS}),
        json.dumps({"response": ADA}),
        f"\ufeff{ADA}",
    ],
)
async def test_answer_is_found_where_it_is_certain(text: str, anyio_backend: str) -> None:
    assert await ask(Person, text) == Person(name="Ada", age=36)


@pytest.mark.parametrize(
    "text",
    [
        f"Such as {ADA} or another.",
        f"```json\n{ADA}\n```\nor\n```json\n{ADA.replace('36', '63')}\n```",
        f"<think>\n{ADA}",
        json.dumps({"person": FIELDS}),
        json.dumps([FIELDS]),
        ADA[:-1],
    ],
)
async def test_answer_that_is_not_certain_is_asked_for_again(text: str, anyio_backend: str) -> None:
    assert await ask(Person, text, json.dumps({"name": "Bob", "age": 1})) == Person(name="Bob", age=1)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int, "5", 5),
        (int, "<think>Four? No.</think>\n5", 5),
        (list[int], "[1, 2]", [1, 2]),
        (list[int], '{"result": [1, 2]}', [1, 2]),
        (list[int], "The numbers:\n```json\n[1, 2]\n```", [1, 2]),
        (dict[str, int], '{"answer": 5}', {"answer": 5}),
        (dict[str, int], '{"a": 5}', {"a": 5}),
        (Literal["yes", "no"], "yes", "yes"),
        (Colour, '"blue"', Colour.BLUE),
        (date, "2026-01-02", date(2026, 1, 2)),
        (str, "It rains.", "It rains."),
        (str, '"It rains."', "It rains."),
    ],
)
async def test_value_without_its_object_is_read(kind: object, text: str, value: object, anyio_backend: str) -> None:
    assert await ask(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "right"),
    [
        (str, '{"answer": "It ra', "dry"),
        (str, '{"answer": 5}', "dry"),
        (int, "It is 5.", 7),
        (Literal["yes", "no"], "yes or no", "no"),
    ],
)
async def test_text_that_is_no_value_is_asked_for_again(
    kind: object, text: str, right: object, anyio_backend: str
) -> None:
    assert await ask(kind, text, json.dumps({"answer": right})) == right


async def test_text_that_was_cut_off_is_no_value(anyio_backend: str) -> None:
    cut = Answer(messages=(TextMessage("It ra", role=MessageRole.ASSISTANT),), stop_reason="length")
    with pytest.raises(ProviderError, match="did not give the answer"):
        await ask(str, cut, cut)
