"""What newcomers get wrong is refused where they write it, with what to write instead."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

import pytest

from ez_ptc import LLMPromptBuilder, Price, ScriptedProvider, TextMessage, Toolkit, ez_tool, llm
from ez_ptc.errors import ProviderError


@ez_tool
def find(what: str) -> str:
    """Find something."""
    return what


async def listen(record: dict[str, Any]) -> None:
    """Listen in the wrong way."""


class Listener:
    async def __call__(self, record: dict[str, Any]) -> None:
        """Listen in the wrong way."""


ANY = cast("Any", llm())


@pytest.mark.parametrize(
    ("slip", "complaint"),
    [
        (lambda: ANY.request(["Hi"]), r"expected str, got list: .* \.request\(\.\.\.\)\.assistant\(\.\.\.\)"),
        (lambda: ANY.provider(ScriptedProvider("x")).prompt({"role": "user"}), "expected str, got dict"),
        (lambda: ANY.tools("find"), "expected a function, got str: .* without calling them"),
        (lambda: ANY.tools(["find"]), "expected a function, got str"),
        (lambda: ANY.tools([find, None]), "expected a function, got NoneType"),
        (lambda: ANY.tool(find("tea")), "expected a function, got str"),
        (lambda: ez_tool(cast("Any", "find")), "got str 'find': pass the function, not its name"),
        (lambda: ANY.toolkit([find]), r"expected a Toolkit, got list: write \.toolkit\(Toolkit\(\[find, book\]\)\)"),
        (lambda: ANY.toolkit(find), "expected a Toolkit, got Tool"),
        (lambda: ANY.approve(True), r"expected approve to be a function of the call, or None; got bool True"),
        (lambda: ANY.on_tool_call("log"), r"\.on_tool_call\(\) expected a function, got str"),
        (lambda: ANY.on_tool_call(listen), "expected a plain function, got an async one"),
        (lambda: ANY.on_tool_call(Listener()), "expected a plain function, got an async one"),
        (lambda: ANY.limits(turn=3), "unexpected keyword argument 'turn'"),
        (lambda: ANY.limits(turns="3"), "the limit `turns` must be a number, got '3'"),
        (lambda: ANY.limits(turns=1.5), "the limit `turns` must be an int, got 1.5"),
        (lambda: ANY.limits(calls=0.5), r"`calls` must be an int, got 0\.5: write \.limits\(calls=50\)"),
        (lambda: ANY.call_limit(2.0), r"the limit `calls` must be an int, got 2\.0"),
        (lambda: ANY.limits(calls=Decimal(1)), "the limit `calls` must be an int, got '1'"),
        (lambda: ANY.limits(tokens=1e6), r"the limit `tokens` must be an int, got 1000000\.0"),
        (lambda: ANY.limits(calls=True), "the limit `calls` must be a number, got True"),
        (lambda: ANY.call_limit(None), "the limit `calls` must be a number, got None"),
        (lambda: ANY.prices({"m": ("2", "10")}), r"expected a Price for 'm', got tuple: write Price\.of"),
        (lambda: ANY.options(temprature=0), "unknown option 'temprature'; did you mean 'temperature'"),
        (lambda: ANY.provider(ScriptedProvider("x")).prompt("Hi", max_token=5), "did you mean 'max_tokens'"),
        (lambda: ANY.provider(ScriptedProvider).prompt("Hi"), "got the class ScriptedProvider"),
        (lambda: ANY.continued([TextMessage("Hi")]), r"expected messages and answers, got list .*\(\*entries\)"),
        (lambda: ANY.continued(TextMessage("Hi"), ()), r"expected messages and answers, got tuple .*\(\*entries\)"),
        (lambda: ANY.continued(llm().request("Hi")), r"got LLMPromptBuilder.*: pass its entries"),
        (lambda: ANY.continued({"role": "user", "content": "Hi"}), r"got dict of 2 .*: make one, as in TextMessage"),
        (lambda: ANY.continued("Hi"), r"got str 'Hi': make one, .* or write \.request\('Hi'\)"),
        (lambda: ANY.continued(None), r"expected messages and answers, got None: make one"),
    ],
)
def test_mistake_raises_type_error_with_suggestion(slip: Callable[[], object], complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        slip()


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        ({"calls": 0}, "the limit `calls` must be positive, got 0"),
        ({"turns": -1}, "the limit `turns` must be positive, got -1"),
        ({"cost": float("nan")}, "the limit `cost` must be finite, got nan"),
        ({"cost": float("inf")}, "the limit `cost` must be finite, got inf"),
        ({"cost": Decimal("sNaN")}, "the limit `cost` must be finite, got 'sNaN'"),
        ({"cost": Decimal("-0.1")}, r"the limit `cost` must be positive, got '-0\.1': write \.limits\(cost=0\.50\)"),
    ],
)
def test_non_positive_limit_is_refused(limits: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ANY.limits(**limits)


def test_unknown_mode_is_refused() -> None:
    with Toolkit([find]) as toolkit, pytest.raises(ValueError, match="mode 'code'; expected 'tool' or 'prompt'"):
        ANY.toolkit(toolkit, mode="code")


@pytest.mark.parametrize("field", ["top_p", "max_completion_tokens", "toolConfig", "tools", "stream_options", "store"])
def test_provider_field_is_accepted_as_option(field: str) -> None:
    assert llm().options(**{field: 1}).settings.options == {field: 1}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tool_choice": {"type": "tool", "name": "find"}}, "'required' or the name of a tool, got dict"),
        ({"tool_choice": ["find"]}, "or the name of a tool, got list"),
        ({"tool_choice": None}, "or the name of a tool, got None"),
        ({"max_tokens": "5"}, "max_tokens: expected a number of tokens, got str '5'"),
        ({"max_tokens": True}, "a number of tokens, got bool True"),
        ({"temperature": "hot"}, "temperature: expected a number, got str 'hot'"),
        ({"strict": "yes"}, "strict: expected True or False, got str 'yes'"),
        ({"native_only": 1}, "native_only: expected True or False, got int 1"),
    ],
)
def test_option_of_wrong_type_names_what_was_expected(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ProviderError, match=re.escape(expected)):
        llm().options(**options)
    with pytest.raises(ProviderError, match=re.escape(expected)):
        ANY.converse("Find it.", **options)


def test_valid_arguments_are_accepted() -> None:
    with Toolkit([find]) as toolkit:
        builder = llm().toolkit(toolkit, mode="prompt").approve(lambda call: True).on_tool_call(print)
    builder = builder.limits(turns=3, cost=0.5).prices({"m": Price.of("1", "1", "1")}).tools(find, [len])
    assert isinstance(builder, LLMPromptBuilder)
    assert [tool.name for tool in builder.settings.tools] == ["find", "len"]
