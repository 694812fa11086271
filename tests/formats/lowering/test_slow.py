"""A description that takes long is made once."""

from typing import Any

import pytest

from ez_ptc.formats.catalog import FORMATS, describe_all, names_for
from ez_ptc.formats.lowering import slow
from ez_ptc.tools.tool import Tool
from ez_ptc.tools.transforms import renamed


def give_back(**arguments: object) -> dict[str, object]:
    return arguments


@pytest.fixture
def tool() -> Tool[..., Any]:
    schema = {"type": "object", "properties": {"a-b": {"type": "string"}}}
    return Tool.from_schema("find", "Find.", schema, give_back)


@pytest.mark.parametrize("name", FORMATS)
def test_slow_description_is_made_once(tool: Tool[..., Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(1_000))
    monkeypatch.setattr(slow, "thread_time", lambda: next(times))  # each takes a second
    first, _ = tool.to_format(name), names_for([tool], name)
    used = next(times)
    [again] = describe_all([tool], name)
    names = names_for([tool], name)

    assert next(times) == used + 1
    assert first == again
    assert first is not again
    assert names.to_parameters("find", names.to_sent("find", {"a-b": "x"})) == {"a-b": "x"}
    assert tool.to_format(name, strict=name == "mistral") is not first


def test_quick_description_takes_no_memory(tool: Tool[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "thread_time", lambda: 0.0)
    tool.to_format("openai")
    assert vars(tool)["slow_descriptions"] == {}


def test_changed_copy_has_a_description_of_its_own(tool: Tool[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(1_000))
    monkeypatch.setattr(slow, "thread_time", lambda: next(times))
    tool.to_format("anthropic")
    [other] = renamed([tool], {"find": "look"})
    assert other.to_format("anthropic")["name"] == "look"
