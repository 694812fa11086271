"""Recorded streams whose servers drop ids and indexes, cut, merge and repeat pieces, or repeat names.

Each call of the recording is read once, with its arguments, or the answer is refused with the reason.
"""

import copy
import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import pytest

from ez_ptc.errors import ProviderError
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import TextMessage
from tests.formats.all_formats.provider_bodies import FORMATS
from tests.formats.openai_made import ToolShape
from tests.recordings.cassettes import Interaction, interactions
from tests.recordings.openai_traffic import chat, events, responses

Json: TypeAlias = dict[str, Any]
Events: TypeAlias = list[Json]
Calls: TypeAlias = list[tuple[str, Any]]
Mutation: TypeAlias = Callable[[Events], Events]

ANTHROPIC_PACKAGES: Final = ("langchain_anthropic-1.7.10", "opentelemetry_instrumentation_anthropic-0.62.4")
GEMINI_PACKAGES: Final = ("openinference_instrumentation_google_genai-1.4.14",)
ID_KEYS: Final = frozenset({"id", "call_id", "item_id", "tool_call_id", "tool_use_id"})
INDEX_KEYS: Final = frozenset({"index", "output_index"})


def anthropic() -> list[Interaction]:
    return [exchange for exchange in interactions(*ANTHROPIC_PACKAGES) if not exchange.uri.endswith("/v1/complete")]


def gemini() -> list[Interaction]:
    return [exchange for exchange in interactions(*GEMINI_PACKAGES) if "streamGenerateContent" in exchange.uri]


RECORDED: Final = {"anthropic": anthropic, "openai-chat": chat, "openai-responses": responses, "gemini": gemini}
MIN_STREAMS: Final = {"anthropic": 5, "openai-chat": 5, "openai-responses": 5, "gemini": 3}
MIN_REFUSALS: Final = {"anthropic": 21, "openai-chat": 0, "openai-responses": 27, "gemini": 0}
every_protocol = pytest.mark.parametrize("name", RECORDED)


@cache
def streams(name: str) -> list[tuple[str, Events, Calls]]:
    """Return the recorded streams that have calls, each with its calls."""
    recorded = [exchange for exchange in RECORDED[name]() if exchange.is_stream and exchange.status == 200]
    read_streams: list[tuple[str, Events, Calls]] = []
    for exchange in recorded:
        pieces_of_answer = events(exchange)
        if calls := read(name, pieces_of_answer, names=()):
            read_streams.append((str(exchange), pieces_of_answer, calls))
    assert len(read_streams) >= MIN_STREAMS[name]
    return read_streams


def read(name: str, answer_events: Events, names: tuple[str, ...]) -> Calls:
    """Return the calls of a stream, as a conversation with tools of these names reads them."""
    tools = tuple(ToolShape(tool, "Act.", {"type": "object", "properties": {}}) for tool in names)
    stream = FORMATS[name].stream(Prompt(model="m", entries=(TextMessage("Go."),), tools=tools))
    for event in answer_events:
        stream.feed(copy.deepcopy(event))
    calls = stream.answer().calls
    assert len({call.id for call in calls}) == len(calls)
    return [
        (call.name, json.loads(call.arguments or "{}") if isinstance(call.arguments, str) else call.arguments)
        for call in calls
    ]


def without(keys: frozenset[str]) -> Mutation:
    """Return a mutation that drops these keys wherever they stand."""

    def drop(fields: Json) -> Json:
        return {key: value for key, value in fields.items() if key not in keys}

    return lambda answer_events: json.loads(json.dumps(answer_events), object_hook=drop)


def unified(keys: frozenset[str], replacement: str | int) -> Mutation:
    """Return a mutation that gives all values of these keys, where they have its type, one value."""

    def unify(fields: Json) -> Json:
        return {
            key: replacement if key in keys and isinstance(value, type(replacement)) else value
            for key, value in fields.items()
        }

    return lambda answer_events: json.loads(json.dumps(answer_events), object_hook=unify)


def chat_calls(event: Json) -> list[Json]:
    """Return the pieces of calls in an event of Chat Completions."""
    choices: list[Json] = event.get("choices") or []
    calls: list[Json] = []
    for choice in choices:
        delta: Json = choice.get("delta") or {}
        calls += delta.get("tool_calls") or []
    return calls


def argument_pieces(event: Json) -> list[tuple[Json, str]]:
    """Return the objects of an event that have a piece of arguments, each with its key."""
    if event.get("type") == "response.function_call_arguments.delta":
        return [(event, "delta")]
    if "partial_json" in str(event.get("delta")):
        return [(event["delta"], "partial_json")]
    functions: list[Json] = [call.get("function") or {} for call in chat_calls(event)]
    return [(function, "arguments") for function in functions if function.get("arguments")]


def split(answer_events: Events) -> Events:
    """Send each character of arguments in an event of its own."""
    changed: Events = []
    for event in answer_events:
        pieces = argument_pieces(event)
        if len(pieces) != 1:
            changed.append(event)
            continue
        [(holder, key)] = pieces
        for position, character in enumerate(holder[key]):
            part = copy.deepcopy(event)
            [(part_holder, _)] = argument_pieces(part)
            part_holder[key] = character
            if position and key == "arguments":
                part_holder.pop("name", None)
            changed.append(part)
    return changed


def merge(answer_events: Events) -> Events:
    """Send adjacent pieces of one call as one."""
    changed: Events = []
    for event in copy.deepcopy(answer_events):
        pieces = argument_pieces(event)
        previous: list[tuple[Json, str]] = argument_pieces(changed[-1]) if changed else []
        if len(pieces) == len(previous) == 1 and is_same_call(event, changed[-1]) and not pieces[0][0].get("name"):
            previous[0][0][previous[0][1]] += pieces[0][0][pieces[0][1]]
        else:
            changed.append(event)
    return changed


def is_same_call(event: Json, other: Json) -> bool:
    places = [
        [each.get("index"), each.get("output_index"), *(call.get("index") for call in chat_calls(each))]
        for each in (event, other)
    ]
    return places[0] == places[1]


def repeat_names(answer_events: Events) -> Events:
    """Send a call's name with each of its pieces, as some servers do."""
    changed = copy.deepcopy(answer_events)
    names: dict[object, str] = {}
    for event in changed:
        for call in chat_calls(event):
            function: Json = call.get("function") or {}
            if name := function.get("name") or names.get(call.get("index")):
                names[call.get("index")] = function["name"] = name
    return changed


def repeat_events(answer_events: Events) -> Events:
    """Send each event but pieces of texts twice."""
    return [copy.deepcopy(event) for event in answer_events for _ in range(1 if has_piece(event) else 2)]


def has_piece(event: Json) -> bool:
    """Return whether nothing shows that an event came twice or was lost: it has pieces, or calls without ids."""
    return bool(event.get("choices") or event.get("candidates")) or "delta" in str(event.get("type", ""))


def gather(answer_events: Events) -> Events:
    """Send all pieces of the calls of a chat in the event of the first, as servers do that parse whole answers."""
    changed: Events = []
    gathered: list[Json] | None = None
    for event in copy.deepcopy(answer_events):
        pieces = chat_calls(event)
        if pieces and gathered is not None:
            gathered += pieces
            event["choices"][0]["delta"].pop("tool_calls")
        elif pieces:
            gathered = event["choices"][0]["delta"]["tool_calls"]
        changed.append(event)
    return changed


MUTATIONS: Final[dict[str, Mutation]] = {
    "no ids": without(ID_KEYS),
    "empty ids": unified(ID_KEYS, ""),
    "one id": unified(ID_KEYS, "call_0"),
    "no indexes": without(INDEX_KEYS),
    "index 0": unified(INDEX_KEYS, 0),
    "neither": without(ID_KEYS | INDEX_KEYS),
    "split": split,
    "merged": merge,
    "gathered": gather,
    "gathered with neither": lambda answer_events: without(ID_KEYS | INDEX_KEYS)(gather(answer_events)),
    "names repeated": repeat_names,
    "names repeated, split": lambda answer_events: repeat_names(split(answer_events)),
    "split without ids": lambda answer_events: without(ID_KEYS)(split(answer_events)),
    "split without indexes": lambda answer_events: without(INDEX_KEYS)(split(answer_events)),
    "split with neither": lambda answer_events: without(ID_KEYS | INDEX_KEYS)(split(answer_events)),
    "repeated events": repeat_events,
    "repeated events without ids": lambda answer_events: without(ID_KEYS)(repeat_events(answer_events)),
}


# Each event of such a stream begins the call again, and nothing says whether it is another call.
REFUSED: Final = {("anthropic", "repeated events without ids")}
REASON: Final = re.compile(r"(invalid stream from \w+: |.* stream ended before the answer was complete; ).*ask again")


def refused_or_read(name: str, answer_events: Events, calls: Calls) -> bool:
    """Return whether a changed stream is refused with a reason; otherwise it has exactly these calls."""
    try:
        assert read(name, answer_events, tuple({call for call, _ in calls})) == calls
    except ProviderError as refusal:
        return REASON.fullmatch(str(refusal)) is not None or pytest.fail(f"no reason: {refusal}")
    return False


@pytest.mark.parametrize("mutation", MUTATIONS)
@every_protocol
def test_mutated_recording_has_the_calls_of_the_recording(name: str, mutation: str) -> None:
    refusals = Counter(
        refused_or_read(name, MUTATIONS[mutation](answer_events), calls) for _, answer_events, calls in streams(name)
    )
    assert refusals == {(name, mutation) in REFUSED: len(streams(name))}


@every_protocol
def test_recording_without_one_event_loses_no_call_unseen(name: str) -> None:
    refusals = Counter(
        refused_or_read(name, [*answer_events[:position], *answer_events[position + 1 :]], calls)
        for _, answer_events, calls in streams(name)
        for position, event in enumerate(answer_events)
        if not has_piece(event)
    )
    assert refusals[True] >= MIN_REFUSALS[name]
