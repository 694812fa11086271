"""What an event or a result may say: anything else is a problem with a name, before anyone reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

import pytest

from ez_ptc.journal.chain import Event
from ez_ptc.journal.recorded.event_fields import EVENT_FIELDS, RESULT_FIELDS, find_event_problem, find_result_problem

_REPORT: Final = {"tool": "load", "line": 1, "done": 1, "total": None, "message": None}
_START: Final[dict[str, Any]] = {"program": "", "imports": [], "tools": {}, "limits": {}, "clock_ns": None}
_RESULT: Final[dict[str, Any]] = {"output": "", "success": True, "status": "done", "images": []}


def _progress(path: str = "1.2", **changes: object) -> Event:
    return Event("progress", "", {"calls": {path: {**_REPORT, **changes}}})


def test_events_of_the_library_have_no_problem() -> None:
    for event in (Event("start", "", _START, b"print(1)"), Event("claim", "", {}), _progress(), _progress(done=0.5)):
        assert find_event_problem(event) is None
    assert find_event_problem(Event("decision", "1.2", {"decision": "did_not_happen"})) is None
    assert find_result_problem(_RESULT) is None


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (_progress(done=True), "done is wrong: .*valid number"),
        (_progress(total=False), "total.* is wrong"),
        (_progress(done=-1), "done is wrong"),
        (_progress(done=float("nan")), "done is wrong"),
        (_progress(path="1.x"), "its field calls.1.x.* is wrong"),
        (_progress(path="1\n"), "its field calls.1\n.* is wrong"),
        (_progress(line="1"), "line is wrong"),
        (Event("start", "", {**_START, "clock_ns": "5"}), "its field clock_ns is wrong"),
        (Event("start", "", {**_START, "clock_ns": 5.0}), "its field clock_ns is wrong"),
        (Event("start", "", {**_START, "scheduled": 1}), "its field scheduled is wrong"),
        (Event("start", "", {**_START, "schedule": [["1", "5"]]}), "its field schedule.0.1 is wrong"),
        (Event("start", "", {**_START, "continues": {"run": "a", "reread": "yes"}}), "continues.reread is wrong"),
        (Event("result", "1", {"tool": "t", "kind": "v", "error": None, "duration_ms": "1"}), "duration_ms is wrong"),
        (Event("claim", "1", {}), "its path is wrong"),
        (Event("progress", "1", {"calls": {}}), "its path is wrong"),
        (Event("decision", "", {"decision": "did_not_happen"}), "its path is wrong"),
        (Event("decision", "1.", {"decision": "did_not_happen"}), "its path is wrong"),
        (Event("decision", "1\n", {"decision": "did_not_happen"}), "its path is wrong"),
        (Event("claim", "", {}, None, -1.0), "its time is wrong"),
        (Event("claim", "", {}, None, float("nan")), "its time is wrong"),
        (Event("start", "", _START, b"\xff"), "its program is not UTF-8"),
        (Event(cast("Any", "later"), "", {}), "its kind is unknown"),
    ],
)
def test_foreign_event_is_a_problem_with_its_place(event: Event, problem: str) -> None:
    assert re.search(problem, find_event_problem(event) or "")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"later": 1}, "its field later is wrong"),
        ({"success": "x"}, "its field success is wrong"),
        ({"success": 1}, "its field success is wrong"),
        ({"is_denied": "true"}, "its field is_denied is wrong"),
        ({"output": b"x"}, "its field output is wrong"),
        ({"images": ["x"]}, "its field images.0 is wrong"),
        ({"truncated": {"output": "1"}}, "its field truncated.output is wrong"),
        ({"status": "running"}, "its field status is wrong"),
    ],
)
def test_foreign_result_is_a_problem_with_its_place(changes: dict[str, Any], problem: str) -> None:
    assert re.search(problem, find_result_problem({**_RESULT, **changes}) or "")


_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    1,
    -1,
    1 << 70,
    0.5,
    float("nan"),
    "x",
    b"x",
    [],
    [1],
    {},
    {"x": 1},
    ["x", "x"],
    ("x", 1),
)
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "bytes": (bytes,),
    "list": (list,),
    "dict": (dict,),
    "typed-dict": (dict,),
    "tuple": (list, tuple),
}


_SAMPLES: Final = {"str": "x", "int": 1, "float": 1.0, "bool": True, "bytes": b"x", "any": None}


def _inside(schema: Any) -> dict[str | int, Any]:  # noqa: ANN401 - of any schema
    """Return the schemas of the values in a container, by key or index."""
    match schema["type"]:
        case "typed-dict":
            return {name: field["schema"] for name, field in schema["fields"].items()}
        case "dict":
            return {"1": schema["values_schema"]}
        case "list":
            return {0: schema["items_schema"]}
        case "tuple":
            return dict(enumerate(cast("list[Any]", schema["items_schema"])))
        case "nullable":
            return _inside(schema["schema"])
        case _:
            return {}


def _sample(schema: Any) -> Any:  # noqa: ANN401 - of any schema
    """Return a value that a schema accepts."""
    match schema["type"]:
        case "nullable":
            return _sample(schema["schema"])
        case "union":
            return _sample(schema["choices"][0])
        case "literal":
            return schema["expected"][0]
        case "list" | "tuple":
            return [*map(_sample, _inside(schema).values())]
        case "dict" | "typed-dict":
            return {name: _sample(item) for name, item in _inside(schema).items()}
        case simple:
            return _SAMPLES[simple]


def _changed(schema: Any, sample: Any) -> Iterator[tuple[str, Any, Any, object]]:  # noqa: ANN401 - of any schema
    """Yield a sample with another value in one place, for each place and value, and the schema of that place."""
    for value in _VALUES:
        yield "", value, schema, value
    for key, item in _inside(schema).items():
        for place, changed, replaced, value in _changed(item, sample[key]):
            whole = sample.copy()
            whole[key] = changed
            yield f".{key}{place}", whole, replaced, value


def _is_type(schema: Any, value: object) -> bool:  # noqa: ANN401 - of any schema
    """Return whether a value has a type that a schema takes, to the letter."""
    match schema["type"]:
        case "nullable":
            return value is None or _is_type(schema["schema"], value)
        case "union":
            return any(_is_type(choice, value) for choice in schema["choices"])
        case "literal":
            return value in schema["expected"]
        case "any":
            return True
        case name:
            return type(value) in _TYPES[name]


@pytest.mark.parametrize("kind", [*EVENT_FIELDS, "the result"])
def test_no_value_inside_an_object_is_converted(kind: str) -> None:
    schema = cast("dict[str, Any]", EVENT_FIELDS.get(cast("Any", kind), RESULT_FIELDS))
    accepted = 0
    for choice in schema.get("choices", {"": schema}):
        chosen = schema["choices"][choice] if choice else schema
        chosen = {**chosen, "fields": {name: field for name, field in chosen["fields"].items() if name != "decision"}}
        for place, data, replaced, value in _changed(chosen, _sample(chosen)):
            if not place:  # the data of a row are an object, or are refused before
                continue
            fields = {**data, "decision": choice} if choice else data
            path = "1" if kind in {"pending", "intent", "decision", "result"} else ""
            if kind == "the result":
                problem = find_result_problem(fields)
            else:
                problem = find_event_problem(Event(cast("Any", kind), path, fields))
            accepted += problem is None
            assert problem or _is_type(replaced, value), (place, value)
    assert accepted
