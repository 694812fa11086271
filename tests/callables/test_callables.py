"""Every callable of the corpus: its schema, what reaches it, and what never does."""

import json
import re
from collections.abc import Iterator
from types import EllipsisType
from typing import cast

import jsonschema_rs
import pytest

from ez_ptc.schema.definitions import inline_definitions
from tests.callables import (
    choices,
    containers,
    defaults,
    documented,
    foreign,
    generic,
    kinds,
    models,
    names,
    plain,
    postponed,
    records,
    scalars,
    typed_dicts,
)
from tests.callables.cases import Case, alike, called, described, refusal, without_null, without_omitted

MODULES = (
    plain,
    scalars,
    containers,
    choices,
    typed_dicts,
    records,
    models,
    foreign,
    generic,
    kinds,
    names,
    defaults,
    postponed,
    documented,
)
ALL = {
    f"{module.__name__.rpartition('.')[2]} {number}: {case.id}": case
    for module in MODULES
    for number, case in enumerate(module.CASES)
}
NAMED = re.compile(r"'(?P<path>[^']+)'|\"(?P<quoted>[^\"]+)\"")


@pytest.fixture(params=ALL.values(), ids=list(ALL), name="case")
def _case(request: pytest.FixtureRequest) -> Case:
    case = request.param
    assert isinstance(case, Case)
    return case


@pytest.mark.sampled(every=6, first=2)
def test_schema_matches_the_types(case: Case) -> None:
    parameters = described(case.function).parameters
    plain_schema = inline_definitions(parameters)

    jsonschema_rs.Draft202012Validator(parameters)
    assert plain_schema["type"] == "object"
    properties = {name: without_null(schema) for name, schema in case.properties.items()}
    assert _matches(plain_schema["properties"], properties), plain_schema["properties"]
    assert list(plain_schema["properties"]) == list(case.properties)
    required = list(case.properties) if case.required is None else list(case.required)
    assert plain_schema.get("required", []) == required
    assert "title" not in set(_keywords(parameters))
    assert json.loads(json.dumps(parameters, allow_nan=False)) == parameters


@pytest.mark.sampled(every=6, first=4)
def test_valid_values_arrive_as_annotated_types(case: Case) -> None:
    schema = described(case.function)
    validator = jsonschema_rs.Draft202012Validator(schema.parameters)
    for arguments, result in [*case.valid, *case.lenient]:
        assert alike(called(case.function, schema, json.dumps(arguments)), result), arguments
        assert alike(called(case.function, schema, arguments), result), arguments
    for arguments, result in case.objects:
        assert alike(called(case.function, schema, arguments), result), arguments
    for arguments, _ in case.valid:
        validator.validate(without_omitted(schema.parameters, arguments))


@pytest.mark.sampled(every=6)
def test_invalid_values_are_refused_with_field_names(case: Case) -> None:
    schema = described(case.function)
    for arguments, *fields in case.invalid:
        for sent in (arguments, json.dumps(arguments)):
            problems = refusal(schema, sent)
            assert len(problems) == len(fields), (arguments, problems)
            assert sorted(map(_named, problems)) == sorted(fields), (arguments, problems)
            assert all(_says_enough(each) for each in problems), problems


def test_the_corpus_is_large() -> None:
    assert len(ALL) == sum(len(module.CASES) for module in MODULES) >= 160


def _named(problem: str) -> str:
    found = NAMED.search(problem)
    assert found is not None, problem
    return found["path"] or found["quoted"]


def _says_enough(problem: str) -> bool:
    return "got " in problem or "missing" in problem or "unknown" in problem


def _matches(value: object, pattern: object) -> bool:
    if isinstance(pattern, EllipsisType):
        return True
    if isinstance(pattern, dict) and isinstance(value, dict):
        wanted, given = cast("dict[str, object]", pattern), cast("dict[str, object]", value)
        return given.keys() == wanted.keys() and all(_matches(given[key], each) for key, each in wanted.items())
    if isinstance(pattern, list) and isinstance(value, list):
        items, others = cast("list[object]", pattern), cast("list[object]", value)
        return len(items) == len(others) and all(map(_matches, others, items))
    return value == pattern and isinstance(value, bool) is isinstance(pattern, bool)


def _keywords(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, inner in cast("dict[str, dict[str, object]]", schema).items():
            if key in ("properties", "$defs"):
                for each in inner.values():
                    yield from _keywords(each)
            elif key not in ("default", "enum", "const", "examples"):
                yield key
                yield from _keywords(inner)
    elif isinstance(schema, list):
        for each in cast("list[object]", schema):
            yield from _keywords(each)
