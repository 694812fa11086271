"""A tool that returns anything, and what a program, a conversation and a client get of it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from typing import Any, NamedTuple

import attrs
import msgspec
from pydantic import BaseModel, ConfigDict, Field, computed_field, field_serializer

from ez_ptc import ScriptedProvider, ToolCall, Toolkit, ez_tool, llm
from ez_ptc.formats.content import as_json
from ez_ptc.formats.openai_chat import tools as openai
from ez_ptc.messages import ToolResultMessage

TO_GIVE: list[object] = [None]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 10_001


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: Any
    y: Any = 0.5


@dataclasses.dataclass
class Cup:
    content: Any
    colour: Colour = Colour.RED


@dataclasses.dataclass(frozen=True)
class Spot:
    x: int


class Tea(BaseModel):
    """A model with other names outside."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    real_name: Any = Field(alias="realName")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1


class Day(BaseModel):
    day: dt.date = dt.date(2026, 1, 2)

    @field_serializer("day")
    def written(self, day: dt.date) -> str:
        return f"{day:%d.%m.%Y}"

    @computed_field
    @property
    def year(self) -> int:
        return self.day.year


@attrs.define
class Leaf:
    size: Any
    _hidden: int = 1
    shown: int = attrs.field(alias="display", default=2)


class Pot(msgspec.Struct, rename="camel"):
    some_name: Any
    left_out: int | msgspec.UnsetType = msgspec.UNSET


class Row(msgspec.Struct, array_like=True, tag="row"):
    x: Any


class Hidden:
    def __str__(self) -> str:
        return "hidden"


class Broken:
    def __getattr__(self, name: str) -> object:
        raise KeyError(name)

    def __repr__(self) -> str:
        raise RuntimeError


@ez_tool
def give() -> object:
    """Return what is to be given."""
    return TO_GIVE[0]


def from_a_program(toolkit: Toolkit, value: object) -> object:
    """Return the JSON of what a program gets, once it has come back from there."""
    TO_GIVE[0] = value
    result = toolkit.execute("give()")
    assert result.success, result.error
    return as_json(result.return_value)


def from_a_conversation(value: object) -> object:
    """Return what a model reads in a conversation."""
    TO_GIVE[0] = value
    provider = ScriptedProvider(ToolCall("1", "give", {}), "Thanks.")
    messages, _ = llm().tool(give).provider(provider).converse("Give.")
    [message] = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert message.success, message.result
    return message.result


def from_a_single_call(value: object) -> object:
    """Return what a client of a provider's API sends of a call."""
    TO_GIVE[0] = value
    [sent] = openai.results([(ToolCall("1", "give", {}), give.execute())])
    return sent["content"]
