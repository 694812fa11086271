"""The conversion of functions to tools, held to each table and each printed schema of its document."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, NotRequired, Optional, TypedDict, Union

import pytest
from pydantic import BaseModel

from ez_ptc import function_to_tool, type_to_json_schema
from tests.seeds.documents import Seed, read

BARE_LIST: Any = list
BARE_DICT: Any = dict
PLACEHOLDERS = {
    "T": "boolean",
    "V": "number",
    "X": "integer",
    "Y": "string",
    "T1": "integer",
    "T2": "string",
    "T3": "boolean",
    "type1": "string",
    "type2": "integer",
}


class Texts(Enum):
    FIRST = "value1"
    SECOND = "value2"


class Numbers(Enum):
    ONE = 1
    TWO = 2
    THREE = 3


class TypedFields(TypedDict):
    field1: str
    field2: NotRequired[int]


@dataclass
class DataFields:
    field1: str
    field2: int = 0


class ModelFields(BaseModel):
    field1: str
    field2: int = 0


TYPES: dict[str, list[Any]] = {
    "list[T] or Sequence[T]": [list[bool], Sequence[bool]],
    "set[T] or frozenset[T]": [set[bool], frozenset[bool]],
    "list without type args": [BARE_LIST],
    "tuple[T1, T2, T3] - fixed length": [tuple[int, str, bool]],
    "tuple[T, ...] - variable length homogeneous": [tuple[bool, ...]],
    "dict[K, V] or Mapping[K, V]": [dict[str, float], Mapping[str, float]],
    "dict without type args": [BARE_DICT],
    'Literal["a", "b", "c"]': [Literal["a", "b", "c"]],
    "Literal[1, 2, 3]": [Literal[1, 2, 3]],
    "Mixed types - no type field": [Literal["a", 1, True]],
    "enum with string values": [Texts],
    "enum with integer values": [Numbers],
    "Union[X, Y] or X | Y": [Union[int, str], int | str],  # noqa: UP007 - both spellings are tested
    "Optional[T] (Union[T, None]) - unwrap to just T": [
        Optional[bool],  # noqa: UP045 - every spelling is tested
        Union[bool, None],  # noqa: UP007 - every spelling is tested
        bool | None,
    ],
}
STRUCTURES: dict[str, Any] = {
    "TypedDict / Typed Objects": TypedFields,
    "Dataclasses / Structured Classes": DataFields,
    "Model Classes (e.g., Pydantic)": ModelFields,
}


@pytest.fixture(scope="module")
def conversion(shared_folder: Path) -> Seed:
    return read(shared_folder, "003")


def filled(text: str) -> dict[str, Any]:
    """Return a printed schema with the schemas that it leaves open filled in."""
    text = re.sub(r"<schema\((\w+)\)>", lambda found: json.dumps({"type": PLACEHOLDERS[found[1]]}), text)
    schema: dict[str, Any] = json.loads(re.sub('"(fields_without_defaults|required_fields)"', '"field1"', text))
    return schema


def printed_schemas(seed: Seed) -> dict[str, Any]:
    """Return every printed schema that has a comment above it, by that comment."""
    blocks = [code for blocks in seed.blocks.values() for language, code in blocks if language == "json"]
    commented = [part for code in blocks for part in re.split(r"^// ", code, flags=re.MULTILINE)[1:]]
    return {part.partition("\n")[0]: filled(part.partition("\n")[2]) for part in commented}


def test_every_printed_schema_has_a_type_here(conversion: Seed) -> None:
    assert set(printed_schemas(conversion)) == set(TYPES)
    assert len([each for each in conversion.sections if each in STRUCTURES]) == len(STRUCTURES)


@pytest.mark.parametrize("comment", TYPES)
def test_type_has_the_printed_schema(conversion: Seed, comment: str) -> None:
    expected = printed_schemas(conversion)[comment]

    for each in TYPES[comment]:
        assert json.dumps(type_to_json_schema(each)) == json.dumps(expected)


@pytest.mark.parametrize("heading", STRUCTURES)
def test_structure_has_the_printed_schema(conversion: Seed, heading: str) -> None:
    ((language, printed),) = conversion.blocks[heading]

    assert language == "json"
    assert json.dumps(type_to_json_schema(STRUCTURES[heading])) == json.dumps(filled(printed))


def example(conversion: Seed) -> Callable[..., object]:
    namespace: dict[str, Any] = {"Literal": Literal}
    exec(compile(conversion.python("Input Function (Python)"), "<seed>", "exec", dont_inherit=True), namespace)
    function: Callable[..., object] = namespace["get_weather"]
    return function


def test_example_gives_exactly_the_printed_schema(conversion: Seed) -> None:
    ((_, printed),) = conversion.blocks["Output Tool Definition"]

    assert json.dumps(function_to_tool(example(conversion))) == json.dumps(json.loads(printed))


def test_a_definition_has_the_structure_that_is_printed(conversion: Seed) -> None:
    ((_, printed),) = conversion.blocks["OpenAI Tool Format"]
    structure = json.loads(printed)
    tool = function_to_tool(example(conversion))

    assert list(tool) == list(structure)
    assert list(tool["function"]) == list(structure["function"])
    assert list(tool["function"]["parameters"]) == list(structure["function"]["parameters"])
    rows = {row[0].strip("`"): row[1] for row in conversion.rows("Function Properties")}
    assert set(rows) == {"type", *(f"function.{name}" for name in tool["function"])}
    assert tool["type"] == "function"
