"""What every format's module promises: nothing that its provider would refuse is ever sent."""

import copy
import itertools
import json
from typing import Any, cast

import pytest
from pydantic import TypeAdapter

from ez_ptc.errors import SchemaError
from ez_ptc.formats.catalog import describe_all
from tests.formats.refusals import refusals
from tests.formats.shapes import EVERY, FREE, TYPED, Described

FORMATS = ("openai-chat", "openai-responses", "anthropic", "gemini", "mistral", "mcp")
STRICT = ("openai-chat", "openai-responses", "anthropic", "mistral")
NOT_STRICT = {("anthropic", "recursive")}  # it takes nothing that contains itself, which another test sees refused


@pytest.fixture(scope="module")
def sdk_types() -> dict[str, Any]:
    """What each SDK takes as a tool, as a function that raises for anything else."""
    from anthropic.types import ToolParam
    from google.genai.types import FunctionDeclaration
    from mistralai.client.models import Tool
    from openai.types.chat import ChatCompletionToolParam
    from openai.types.responses import FunctionToolParam

    return {
        "openai-chat": TypeAdapter(ChatCompletionToolParam).validate_python,
        "openai-responses": TypeAdapter(FunctionToolParam).validate_python,
        "anthropic": TypeAdapter(ToolParam).validate_python,
        "gemini": FunctionDeclaration.model_validate,
        "mistral": Tool.model_validate,
        "mcp": TypeAdapter(dict[str, Any]).validate_python,
    }


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("shape", EVERY)
def test_sent_schema_is_accepted_by_the_provider(format_name: str, shape: str, sdk_types: dict[str, Any]) -> None:
    [described] = describe_all([Described("brew", EVERY[shape])], format_name)

    assert refusals(format_name, described) == []
    sdk_types[format_name](described)


@pytest.mark.parametrize(("format_name", "shape"), sorted(set(itertools.product(STRICT, TYPED)) - NOT_STRICT))
def test_strict_schema_is_accepted_by_strict_mode(format_name: str, shape: str, sdk_types: dict[str, Any]) -> None:
    [described] = describe_all([Described("brew", TYPED[shape])], format_name, strict=True)

    assert refusals(format_name, described, strict=True) == []
    sdk_types[format_name](described)


@pytest.mark.parametrize("format_name", STRICT)
@pytest.mark.parametrize("shape", FREE)
def test_schema_unsupported_by_strict_mode_is_refused_by_name(format_name: str, shape: str) -> None:
    with pytest.raises(SchemaError, match=r"^brew: .*strict=False") as refused:
        describe_all([Described("brew", FREE[shape])], format_name, strict=True)

    assert "parameter 'a" in str(refused.value) or shape in ("itself", "any arguments")


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("shape", EVERY)
@pytest.mark.sampled(every=4)
def test_a_tool_is_not_changed_by_being_described(format_name: str, shape: str, strict: bool) -> None:
    tool = Described("brew", copy.deepcopy(EVERY[shape]), return_schema={"type": "object", "properties": {}})
    try:
        [described] = describe_all([tool], format_name, strict=strict)
    except SchemaError:
        described = {}
    _spoil(described)

    assert tool.parameters == EVERY[shape]
    assert tool.return_schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("shape", EVERY)
@pytest.mark.sampled(every=4)
def test_being_described_twice_gives_the_same(format_name: str, shape: str) -> None:
    tool = Described("brew", EVERY[shape])

    assert json.dumps(describe_all([tool], format_name)) == json.dumps(describe_all([tool], format_name))


@pytest.mark.parametrize("format_name", FORMATS)
def test_tool_from_function_can_be_described(format_name: str, sdk_types: dict[str, Any]) -> None:
    from ez_ptc import ez_tool

    @ez_tool
    def brew(cups: int, kinds: list[str], milk: bool = False, note: str | None = None) -> dict[str, int]:
        """Brew tea."""
        return {"cups": cups}

    [described] = describe_all([brew], format_name)

    assert refusals(format_name, described) == []
    assert "brew" in json.dumps(described)
    assert "Brew tea." in json.dumps(described)
    sdk_types[format_name](described)


def _spoil(part: object) -> None:
    if isinstance(part, dict):
        fields = cast("dict[str, object]", part)
        for each in list(fields.values()):
            _spoil(each)
        fields["spoilt"] = True
    elif isinstance(part, list):
        items = cast("list[object]", part)
        for each in items:
            _spoil(each)
        items.append("spoilt")
