import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from functools import partial
from typing import Any, Literal, TypedDict

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field

from ez_ptc import llm
from ez_ptc.conversation.builder import LLMPromptBuilder
from ez_ptc.conversation.loop import structured_output
from ez_ptc.errors import ProviderError, RateLimitError, SchemaError, TurnLimitError
from ez_ptc.formats.ordering import check_order
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolCall, ToolCallMessage, ToolResultMessage, Usage
from ez_ptc.providers.scripted import Script, ScriptedProvider

SchemaProvider = partial(ScriptedProvider, output_schema=True)
"""One whose models can be held to a JSON Schema."""


class Colour(Enum):
    """What things look like."""

    RED = "red"
    BLUE = "blue"


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int = Field(ge=0)


@dataclass
class Team:
    """People who work together."""

    lead: Person
    members: list[Person]
    since: date | None = None


class Point(TypedDict):
    """A place."""

    x: float
    y: float


class Opaque:
    """What JSON has no form for."""


class Tree(BaseModel):
    """Something that contains itself."""

    value: int
    children: list["Tree"] = []


_ADA = {"name": "Ada", "age": 36}

_KINDS = pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (Person, _ADA, Person(name="Ada", age=36)),
        (Team, {"lead": _ADA, "members": []}, Team(Person(name="Ada", age=36), [])),
        (Point, {"x": 1, "y": 2.5}, {"x": 1.0, "y": 2.5}),
        (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(value=1, children=[Tree(value=2)])),
        (list[Person], {"answer": [_ADA]}, [Person(name="Ada", age=36)]),
        (dict[str, int], {"answer": {"a": 1}}, {"a": 1}),
        (Literal["yes", "no"], {"answer": "yes"}, "yes"),
        (Colour, {"answer": "blue"}, Colour.BLUE),
        (int, {"answer": 5}, 5),
        (int | None, {"answer": None}, None),
        (int | None, {"answer": 5}, 5),
        (Person | None, {"answer": None}, None),
        (Person | None, {"answer": _ADA}, Person(name="Ada", age=36)),
        (Tree | None, {"answer": None}, None),
        (Tree | None, {"answer": {"value": 1}}, Tree(value=1)),
        (Colour | int | None, {"answer": None}, None),
        (type(None), {"answer": None}, None),
        (date, {"answer": "2026-01-02"}, date(2026, 1, 2)),
        (tuple[int, str], {"answer": [1, "a"]}, (1, "a")),
    ],
)


async def ask_for_type(builder: LLMPromptBuilder, type_: object) -> tuple[Any, LLMPromptBuilder]:
    return await structured_output.ask_for_type(builder.entries, builder.settings, builder.continued, type_)


def _asked(provider: ScriptedProvider) -> LLMPromptBuilder:
    return llm().provider(provider).agent("Be exact.").request("Who?")


def _text(*values: object) -> list[Script]:
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def _give(value: object, name: str = "give_answer") -> ToolCall:
    return ToolCall("", name, {"answer": value})


@_KINDS
async def test_schema_provider_gets_output_schema(
    kind: object, given: dict[str, Any], value: object, anyio_backend: str
) -> None:
    provider = SchemaProvider(*_text(given))
    found, continuation = await ask_for_type(_asked(provider), kind)
    assert found == value
    assert type(found) is type(value)
    schema = provider.prompts[0].output_schema
    assert schema is not None
    assert (schema["type"], set(given) <= set(schema["properties"])) == ("object", True)
    assert jsonschema_rs.is_valid(schema, given)
    assert provider.prompts[0].tools == ()
    assert json.loads(continuation.text) == given
    assert continuation.settings.output_schema is None


@_KINDS
async def test_other_provider_gets_answer_tool(
    kind: object, given: dict[str, Any], value: object, anyio_backend: str
) -> None:
    inner = given.get("answer", given)
    provider = ScriptedProvider(_give(inner))
    asked = _asked(provider)
    found, continuation = await ask_for_type(asked, kind)
    assert found == value
    assert provider.prompts[0].output_schema is None
    assert [tool.name for tool in provider.prompts[0].tools] == ["give_answer"]
    assert provider.prompts[0].tool_choice == "auto"
    assert continuation.entries[:-1] == asked.entries
    assert continuation.settings == asked.settings
    last = continuation.entries[-1]
    assert isinstance(last, Answer)
    assert last.text == (inner if isinstance(inner, str) else json.dumps(inner, separators=(",", ":")))


async def test_model_without_tools_writes_json(anyio_backend: str) -> None:
    provider = ScriptedProvider('```json\n{"name": "Ada", "age": 36}\n```', tools=False)
    found, _ = await ask_for_type(_asked(provider), Person)
    assert found == Person(name="Ada", age=36)
    told = provider.prompts[0].entries[-1]
    assert isinstance(told, TextMessage)
    assert '"age": {"type": "integer", "minimum": 0}' in told.text


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"name": "Ada", "age": "old"}, "age"),
        ({"name": "Ada", "age": -1}, "greater than or equal to 0"),
        ({"name": "Ada"}, "age"),
        ({}, "name"),
        ("Ada, 36", "not"),
        ("", "no text"),
        ("[1]", "an object"),
    ],
)
async def test_invalid_answer_is_asked_for_again(wrong: object, problem: str, anyio_backend: str) -> None:
    provider = SchemaProvider(*_text(wrong, _ADA))
    found, continuation = await ask_for_type(_asked(provider), Person)
    assert found == Person(name="Ada", age=36)
    told = provider.prompts[1].entries[-1]
    assert isinstance(told, TextMessage)
    assert problem in told.text
    assert len(continuation.entries) == 5


async def test_invalid_answer_call_gets_its_problems(anyio_backend: str) -> None:
    provider = ScriptedProvider(_give({"name": "Ada", "age": []}), _give(_ADA))
    found, continuation = await ask_for_type(_asked(provider), Person)
    assert found == Person(name="Ada", age=36)
    result = provider.prompts[1].entries[-1]
    assert isinstance(result, ToolResultMessage)
    assert "answer.age" in result.result
    assert len(continuation.entries) == 3


async def test_tokens_of_all_attempts_count(anyio_backend: str) -> None:
    def call(value: object) -> Answer:
        message = ToolCallMessage("give_answer", "1", {"answer": value})
        return Answer(messages=(message,), usage=Usage(input_tokens=10, output_tokens=1), stop_reason="tool_calls")

    _, continuation = await ask_for_type(_asked(ScriptedProvider(call("no"), call(5))), int)
    assert continuation.usage == Usage(input_tokens=20, output_tokens=2)


@pytest.mark.parametrize("answers", [["I think so.", _give(_ADA)], [_give({}), _give(_ADA)]])
async def test_continuation_has_no_answer_tool(answers: list[Script], anyio_backend: str) -> None:
    provider = ScriptedProvider(*answers, "You are welcome.")
    _, continuation = await ask_for_type(_asked(provider), Person)
    assert await continuation.aprompt("Thanks!") == "You are welcome."
    said = provider.prompts[-1]
    assert said.tools == ()
    assert not any(isinstance(each, ToolResultMessage) for each in said.entries)


def look_up(name: str) -> int:
    """Find how old somebody is."""
    return {"Ada": 36}[name]


@pytest.mark.parametrize("has_schema", [False, True])
async def test_tools_run_before_typed_answer(has_schema: bool, anyio_backend: str) -> None:
    last: Script = json.dumps(_ADA) if has_schema else [_give(_ADA), ToolCall("", "look_up", {"name": "Ada"})]
    script: list[Script] = [ToolCall("", "look_up", {"name": "Ada"}), last, "You are welcome."]
    provider = ScriptedProvider(*script, output_schema=has_schema)
    found, continuation = await ask_for_type(_asked(provider).tool(look_up), Person)
    assert found == Person(name="Ada", age=36)
    assert any(isinstance(each, ToolResultMessage) and each.result == 36 for each in continuation.entries)
    assert await continuation.aprompt("Thanks!") == "You are welcome."
    assert [tool.name for tool in provider.prompts[-1].tools] == ["look_up"]


async def test_users_tool_keeps_its_name(anyio_backend: str) -> None:
    def give_answer(answer: int) -> int:
        """Do something else."""
        return answer + 1

    provider = ScriptedProvider(_give(1), _give(7, "give_the_final_answer"))
    found, _ = await ask_for_type(_asked(provider).tool(give_answer), int)
    assert found == 7
    assert isinstance(provider.prompts[1].entries[-1], ToolResultMessage)


async def test_first_correct_answer_of_turn_counts(anyio_backend: str) -> None:
    provider = ScriptedProvider([_give("no"), _give(1), _give(2)])
    assert (await ask_for_type(_asked(provider), int))[0] == 1


async def test_reused_id_is_not_an_earlier_answer(anyio_backend: str) -> None:
    answers = [ToolCall("call_0", "give_answer", {"answer": "no"}), ToolCall("call_1", "give_answer", {"answer": 1})]
    provider = ScriptedProvider(ToolCall("call_0", "look_up", {"name": "Ada"}), answers)
    assert (await ask_for_type(_asked(provider).tool(look_up), int))[0] == 1


_WITHOUT_TOOLS = partial(ScriptedProvider, tools=False)


@pytest.mark.parametrize(
    ("kind", "answers", "problem", "said"),
    [
        (SchemaProvider, ["No idea.", "Still none."], "send one JSON object", "Still none."),
        (SchemaProvider, _text(_ADA | {"age": -1}, _ADA | {"age": -2}), "greater than or equal to 0", '"age": -2'),
        (ScriptedProvider, ["No idea.", "Still none."], "did not call", "Still none."),
        (ScriptedProvider, [_give({}), _give({"name": 5})], "answer.name", '{"name":5}'),
        (_WITHOUT_TOOLS, ["No idea.", "x" * 1000], "send one JSON object", "xxx…"),
    ],
)
async def test_missing_answer_error_quotes_model(
    kind: Callable[..., ScriptedProvider], answers: list[Script], problem: str, said: str, anyio_backend: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await ask_for_type(_asked(kind(*answers)), Person)
    assert problem in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("kind", [ScriptedProvider, SchemaProvider])
async def test_refusal_is_not_retried(kind: type[ScriptedProvider], anyio_backend: str) -> None:
    refusal = Answer(messages=(TextMessage("I will not.", role=MessageRole.ASSISTANT),), stop_reason="refusal")
    provider = kind(refusal, _give(_ADA))
    with pytest.raises(ProviderError, match=r"'refusal'; its last text was 'I will not\."):
        await ask_for_type(_asked(provider), Person)
    assert len(provider.prompts) == 1


async def test_undescribable_type_fails_before_request(anyio_backend: str) -> None:
    provider = ScriptedProvider()
    with pytest.raises(SchemaError, match="'answer' cannot be of type"):
        await ask_for_type(_asked(provider), complex | Opaque)
    assert provider.prompts == []


async def test_provider_error_propagates_from_typed_prompt(anyio_backend: str) -> None:
    for kind in (ScriptedProvider, SchemaProvider):
        with pytest.raises(RateLimitError, match="slow down"):
            await ask_for_type(_asked(kind(RateLimitError("slow down"))), int)


async def test_inexpressible_schema_falls_back_to_tool(anyio_backend: str) -> None:
    cannot = SchemaError("no free keys")
    provider = SchemaProvider(cannot, _give({"a": 1}))
    found, continuation = await ask_for_type(_asked(provider), dict[str, int])
    assert (found, continuation.text) == ({"a": 1}, '{"a":1}')
    assert [prompt.output_schema is None for prompt in provider.prompts] == [False, True]
    with pytest.raises(SchemaError, match="no free keys"):
        await ask_for_type(_asked(SchemaProvider(cannot, cannot)), dict[str, int])


async def test_no_second_question_after_tool_ran(anyio_backend: str) -> None:
    provider = SchemaProvider(ToolCall("", "look_up", {"name": "Ada"}), SchemaError("no free keys"), _give(_ADA))
    with pytest.raises(SchemaError, match="no free keys"):
        await ask_for_type(_asked(provider).tool(look_up), Person)
    assert len(provider.prompts) == 2


async def test_all_fallbacks_decide_form_of_question(anyio_backend: str) -> None:
    first, second = SchemaProvider(RateLimitError("slow down")), ScriptedProvider(_give(5))
    assert (await ask_for_type(_asked(first).fallback(second), int))[0] == 5
    assert first.prompts[0].output_schema is None


# Limits ---------------------------------------------------------------------------------------------------------------


def _spent(*calls: ToolCall) -> Answer:
    messages = tuple(ToolCallMessage(each.name, each.id, each.arguments) for each in calls)
    return Answer(messages=messages, usage=Usage(900, 200), stop_reason="tool_calls")


_LOOK = ToolCall("1", "look_up", {"name": "Ada"})
_ANSWER = ToolCall("2", "give_answer", {"answer": 5})


@pytest.mark.parametrize(
    ("limits", "script"),
    [
        ({"calls": 1}, [_LOOK, _ANSWER]),
        ({"calls": 1}, [_LOOK, _give("no"), _ANSWER]),
        ({"calls": 1}, [_LOOK, [_LOOK, _ANSWER]]),
        ({"calls": 1}, [[_LOOK, replace(_LOOK, id="3"), _ANSWER]]),
        ({"turns": 1}, [_ANSWER]),
        ({"turns": 2}, [_LOOK, [_ANSWER, replace(_LOOK, id="3")]]),
        ({"tokens": 1000}, [_spent(_ANSWER)]),
        ({"tokens": 1000}, [_spent(_LOOK, _ANSWER)]),
        ({"cost": 0.01}, [_spent(_ANSWER)]),
    ],
)
async def test_giving_answer_exceeds_no_limit(limits: dict[str, Any], script: list[Script], anyio_backend: str) -> None:
    looked: list[str] = []

    def look_up(name: str) -> int:
        """Find how old somebody is."""
        looked.append(name)
        return 36

    found, continuation = await ask_for_type(_asked(ScriptedProvider(*script)).tool(look_up).limits(**limits), int)
    assert found == 5
    assert len(looked) <= limits.get("calls", 2)
    assert continuation.text == "5"
    check_order(continuation.entries)


@pytest.mark.parametrize(
    ("limits", "script"),
    [
        ({"turns": 1}, [_give("no")]),
        ({"turns": 1}, ["No idea."]),
        ({"turns": 2}, ["No idea.", _give("no")]),
        ({"calls": 1}, [[_LOOK, replace(_LOOK, id="3"), replace(_ANSWER, arguments={})]]),
        ({"tokens": 1000}, [_spent(replace(_ANSWER, arguments={}))]),
        ({"tokens": 1000}, [Answer(messages=(), usage=Usage(900, 200))]),
    ],
)
async def test_correction_respects_limits(limits: dict[str, Any], script: list[Script], anyio_backend: str) -> None:
    with pytest.raises(TurnLimitError):
        await ask_for_type(_asked(ScriptedProvider(*script)).tool(look_up).limits(**limits), int)


async def test_correction_asks_same_provider(anyio_backend: str) -> None:
    first = SchemaProvider(RateLimitError("slow down"), "5")
    second = SchemaProvider('{"answer": "no"}', '{"answer": 7}')
    assert (await ask_for_type(_asked(first).fallback(second), int))[0] == 7
    assert [len(each.prompts) for each in (first, second)] == [1, 2]


async def test_answer_tool_call_is_not_reported(anyio_backend: str) -> None:
    told: list[dict[str, Any]] = []
    asked = _asked(ScriptedProvider(_LOOK, _give("no"), _ANSWER)).tool(look_up).on_tool_call(told.append)
    await ask_for_type(asked, int)
    assert [record["name"] for record in told] == ["look_up"]


async def test_answer_beside_other_calls_stays_as_text(anyio_backend: str) -> None:
    script = [["Let me see.", _LOOK, _give("no")], ["Now:", _ANSWER]]
    _, continuation = await ask_for_type(_asked(ScriptedProvider(*script)).tool(look_up), int)
    said = [type(each).__name__ if isinstance(each, ToolCallMessage) else str(each) for each in continuation.messages]
    assert said[2:4] == ["Let me see.", "ToolCallMessage"]
    assert [said[5], *said[7:]] == ["no", "Now:", "5"]
    assert said[6].startswith("That is not the answer that was asked for: 'answer' must be int, got str 'no'. Answer")
    assert "give_answer" not in str(continuation.entries)
