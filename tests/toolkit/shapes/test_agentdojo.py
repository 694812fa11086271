"""Shapes learned from AgentDojo's results equal what its functions declare, as they are shown after five results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from benchmarks.model.tasks import FOREIGN_TASKS
from benchmarks.model.worlds import world
from benchmarks.model.worlds.agentdojo import TOOL_NAMES
from ez_ptc import Toolkit, ez_tool
from ez_ptc.schema.stubs import type_text

pytestmark = pytest.mark.security

# What the tasks do not call.
FURTHER = {
    "banking": (
        "get_iban(), get_user_info(), get_most_recent_transactions(), get_scheduled_transactions(), "
        "update_user_info(street='1 Main Street')"
    ),
    "slack": (
        "[(read_channel_messages(c), get_users_in_channel(c)) for c in get_channels()], read_inbox('Alice'), "
        "invite_user_to_slack('Zoe', 'zoe@shop.example'), remove_user_from_slack('Zoe')"
    ),
    "travel": (
        "get_all_hotels_in_city('Paris'), get_flight_information('Paris', 'London'), "
        "get_hotels_prices(['Le Marais Boutique']), get_rating_reviews_for_hotels(['Le Marais Boutique']), "
        "get_all_restaurants_in_city('Paris'), get_dietary_restrictions_for_all_restaurants(['Chez L\\'Ami Jean']), "
        "get_all_car_rental_companies_in_city('Paris'), get_car_types_available(['Green Motors Paris'])"
    ),
}


def without_return_type(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, declaring only its parameters."""

    def tool(*args: object, **kwargs: object) -> object:
        return function(*args, **kwargs)

    named: Any = tool
    named.__name__ = named.__qualname__ = function.__name__
    named.__doc__ = function.__doc__
    named.__signature__ = inspect.signature(function).replace(return_annotation=inspect.Signature.empty)
    named.__annotations__ = {name: text for name, text in function.__annotations__.items() if name != "return"}
    return named


def observed_fields(schema: Mapping[str, Any], *path: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the type of each part without parts: fields of records, and items of lists and maps."""
    if schema.get("properties"):
        for name, part in schema["properties"].items():
            yield from observed_fields(part, *path, name)
    elif schema.get("items"):
        yield from observed_fields(schema["items"], *path, "[]")
    elif schema.get("additionalProperties"):
        yield from observed_fields(schema["additionalProperties"], *path, "{}")
    else:
        yield path, type_text(schema)


def declared_type(schema: Mapping[str, Any], root: Mapping[str, Any], path: tuple[str, ...]) -> str | None:
    """Return the declared type of an observed field, or None if there is no such field."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if not path:
        return type_text({**schema, "$defs": root.get("$defs", {})})
    part = schema.get("items")
    if path[0] != "[]":
        part = schema.get("properties", {}).get(path[0], schema.get("additionalProperties"))
    return declared_type(part, root, path[1:]) if part else None


def test_learned_shapes_equal_the_declared_ones() -> None:
    pytest.importorskip("agentdojo", reason="the group `model` is not installed")
    equal, other = list[str](), list[str]()
    for suite in TOOL_NAMES:
        environment = world(suite)
        functions = environment.TOOLS
        with Toolkit([ez_tool(without_return_type(function)) for function in functions], shapes=True) as toolkit:
            programs = [FURTHER[suite], *(task.program for task in FOREIGN_TASKS if task.world == suite)]
            for program in programs * 5:
                environment.begin()
                failed = toolkit.execute(program).error
                assert failed is None, failed
            observer: Any = vars(toolkit)["observed_shapes"]
        for function in functions:
            observed = observer.known(function.__name__)
            if observed is None:
                continue
            annotation: Any = function.__annotations__.get("return")
            declared = TypeAdapter[Any](annotation).json_schema()
            shown = dict(observed_fields(observed.shape.shown().to_schema()))
            for path, _ in observed_fields(observed.shape.to_schema()):
                text = declared_type(declared, declared, path)
                found = equal if text is not None and shown.get(path) == text else other
                found.append(f"{function.__name__}{path}: {shown.get(path)}, declared {text}")
    assert len(equal) > 45
    assert len(equal) >= 0.9 * (len(equal) + len(other)), other
