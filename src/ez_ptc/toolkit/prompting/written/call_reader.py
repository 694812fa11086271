"""Reading the calls that stand in an answer's text in the notation of a model's own template.

Models are trained on `<tool_call>{"name": …}` (Hermes, Qwen), `[TOOL_CALLS]` (Mistral), `<function=…>` (Llama, Qwen
Coder), `<|python_tag|>` (Llama), `<invoke name=…>` (Claude, MiniMax), `<arg_key>` (GLM) and the tokens of DeepSeek and
Kimi. The time is linear in the answer's length: an unreadable call ends the reading.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.arguments.json_text import read_arguments, read_value

__all__ = [
    "CALL_ARGUMENTS",
    "NAME",
    "CallReader",
    "UnreadableCallError",
    "WrittenCall",
    "arguments_of",
    "calls_in",
    "refuse_words_below",
]

# Vendors write a namespace before the names of tags: `minimax:tool_call`, `\uff5cDSML\uff5cinvoke`.
_SPACE: Final = r"(?:\w{1,20}:|\uff5c\w{1,20}\uff5c)?"
_OPENING: Final = (
    rf"<\|?{_SPACE}(?:tool|function)_?calls?\|?>|functools(?=\[\{{)|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?_(?:section_)?begin\|>"
    rf"|<\uff5ctool▁calls?▁begin\uff5c>|<start_function_call>|(?=<{_SPACE}(?:function=|invoke[ ]name=))"
)
_OPEN: Final = re.compile(rf"\s*+(?:{_OPENING})\s*+")
# What a model writes below a response, or a turn of another, rests on what it invented or repeats.
_RESPONSE: Final = (
    r"<\|?(?:tool|function)_(?:calls?_)?(?:response|result|output)s?\|?>|\[TOOL_RESULTS\]|<start_function_response>"
    r"|<\uff5ctool▁outputs?▁begin\uff5c>|<\|(?:im_start|start_header_id)\|>(?!assistant)|<start_of_turn>(?!model)"
)
# At the start of a line and outside of blocks, also indented ones: elsewhere, an answer only speaks of it.
_MARK: Final = re.compile(
    rf"^[ ]{{0,3}}(?:{_OPENING})\s*+|^[ \t]*+(?P<response>{_RESPONSE})"
    r"|^[ \t>*+.)\d-]*+(?P<fence>`{3,}+(?=[^`\n]*+$)|~{3,}+)|(?<![`~])(?P<inner>`{3,}+)(?=\w*+[ \t]*+$)",
    re.MULTILINE,
)
_STOP: Final = re.compile(rf"\s*+(?:{_RESPONSE})")
NAME: Final = r"[\w.:/-]{1,200}"
_JSON: Final = r"(?:`{3,}(?:json)?\s*+)?(?=[\[{\"'])"
_NAMED: Final = re.compile(
    rf"(?:function<\uff5ctool▁sep\uff5c>)?(?P<name>{NAME})\s*+(?:\[CALL_ID\][\w-]*+)?"
    rf"(?:\[ARGS\]|<\|tool_call_argument_begin\|>)?\s*+(?:`{{3,}}(?:json)?\s*+)?(?={{)"
)
_VALUE: Final = re.compile(_JSON)
_TAG: Final = re.compile(rf"<{_SPACE}(?:function=|invoke name=)[\"']?(?P<name>{NAME})[\"']?>\s*+")
_PARAMETER: Final = re.compile(
    rf"<{_SPACE}parameter(?:=|[ ]name=)[\"']?(?P<name>{NAME})[\"']?[^<>\n]{{0,40}}>\n?(?P<value>.*?)"
    rf"\n?</{_SPACE}parameter>\s*+(?=<{_SPACE}parameter|</function>|</{_SPACE}invoke>)",
    re.DOTALL,
)
_TAG_END: Final = re.compile(rf"</{_SPACE}(?:function|invoke)>|(?=</tool_call>)")
# As GLM writes a call: its name, and pairs of tags.
_KEYED: Final = re.compile(rf"(?P<name>{NAME})\s*+(?=<arg_key>)")
_PAIR: Final = re.compile(
    rf"<arg_key>\s*+(?P<name>{NAME})\s*+</arg_key>\s*+<arg_value>\n?(?P<value>.*?)\n?</arg_value>\s*+"
    r"(?=<arg_key>|</tool_call>)",
    re.DOTALL,
)
# Other notations, of which a call is recognized but not read.
_OTHER: Final = re.compile(rf"call:{NAME}\{{|<invoke|<function=")
_END: Final = re.compile(
    rf"(?:[\s,;]|`{{3,}}|\Z|</?\|?{_SPACE}(?:tool|function)_?calls?\|?>|</{_SPACE}(?:function|invoke)>|\[/TOOL_CALLS\]|</s>"
    r"|<\|(?:e\w{1,3}_id|im_end|end|call|tool_calls?_(?:section_)?end)\|>|<\uff5ctool▁calls?▁end\uff5c>|<end_function_call>)*"
)
_REST: Final = re.compile(r"(?:[\s}\]]|`{3,}+|</s>|<[|\uff5c][\w▁]{1,20}[|\uff5c]>|<end_of_turn>|<eos>)*+")
_OBSERVED: Final = re.compile(r"\s*+(?:`{3,}+\s*+)?\**Observation\**:(?!(?s:.*)(?:Action Input|Final Answer)\b)")
# A call in a notation of its own, such as Python's.
_UNREAD: Final = re.compile(r"\s*+[^\s<][^<]*+</(?:tool|function)_?calls?>")
CALL_ARGUMENTS: Final = ("arguments", "parameters", "args", "input", "action_input")
_TYPES: Final = frozenset({"function", "function_call", "tool_call", "tool_use"})


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call in an answer's text: the name as written, and the arguments."""

    name: str
    arguments: dict[str, object]


class UnreadableCallError(Exception):
    """The text of a call is not readable; the message says why."""


class CallReader:
    """Reads the calls in an answer without reasoning."""

    def __init__(self, text: str, answer: str | None = None) -> None:
        """Read `text`, of which each call has to stand in the whole `answer` as it does here."""
        self.text = text
        self._position = 0
        self._answer = text if answer is None else answer
        self._answered = 0
        self._groups: list[tuple[int, int]] = []
        self._has_unread = False

    def text_beside(self) -> str:
        """Return the text without the calls that were read, and without anything below an unreadable one."""
        starts = [0, *(end for _, end in self._groups)]
        ends = [*(start for start, _ in self._groups), len(self.text)]
        return "".join(self.text[start:end] for start, end in zip(starts, ends, strict=True))

    def read(self) -> Iterator[WrittenCall]:
        """Yield the calls in their order. Raises UnreadableCallError for one that was cut off or is no JSON."""
        while mark := _MARK.search(self.text, self._position):
            self._position = mark.end()
            if mark["response"]:
                return
            if fence := mark["fence"] or mark["inner"]:
                pattern = rf"(?<!{fence[0]}){fence}{fence[0]}*+[ \t]*+$"
                end = re.compile(pattern, re.MULTILINE).search(self.text, mark.end())
                if end is None:
                    return
                self._position = end.end()
            else:
                self._groups.append((mark.start(), len(self.text)))
                yield from self.read_group()
                self._groups[-1] = mark.start(), self._position
                if _STOP.match(self.text, self._position):
                    return

    def check_call(self, start: int) -> None:
        """Raise UnreadableCallError if reasoning was removed from the call that begins at `start`."""
        call = self.text[start : self._position]
        offset = self._answer.find(call, self._answered)
        if offset < 0:
            message = "reasoning stands within it"
            raise UnreadableCallError(message)
        self._answered = offset + len(call)

    def check_rest(self) -> None:
        """Raise UnreadableCallError for a call that was passed over, and for words below the last call."""
        if self._has_unread:
            message = "a call in another notation stands beside it"
            raise UnreadableCallError(message)
        end = self._groups[-1][1] if self._groups else self._position
        if self._groups or not _OBSERVED.match(self.text, end):
            refuse_words_below(self.text, end)

    def read_group(self) -> Iterator[WrittenCall]:
        """Yield the calls after a mark."""
        is_first = True
        while True:
            while nested := _OPEN.match(self.text, self._position):
                if nested.end() == self._position:
                    break
                self._position = nested.end()
            start = self._position
            if tag := _TAG.match(self.text, start) or _KEYED.match(self.text, start):
                self._position = tag.end()
                calls = [WrittenCall(tag["name"], self.read_parameters())]
            elif named := _NAMED.match(self.text, start):
                self._position = named.end()
                calls = [WrittenCall(named["name"], arguments_of(self.read_json()))]
            elif value := _VALUE.match(self.text, start):
                self._position = value.end()
                calls = [*calls_in(self.read_json())]
            elif is_first and _OTHER.match(self.text, start):
                message = "its notation is unknown here"
                raise UnreadableCallError(message)
            else:
                self._has_unread |= is_first and _UNREAD.match(self.text, start) is not None
                return
            self.check_call(start)
            yield from calls
            is_first = False
            end = _END.match(self.text, self._position)
            self._position = end.end() if end else self._position

    def read_parameters(self) -> dict[str, object]:
        """Return the arguments within a tag: JSON, or the texts of parameters."""
        if value := _VALUE.match(self.text, self._position):
            self._position = value.end()
            return arguments_of(self.read_json())
        arguments: dict[str, object] = {}
        while parameter := _PARAMETER.match(self.text, self._position) or _PAIR.match(self.text, self._position):
            if parameter["name"] in arguments:
                message = f"its parameter {parameter['name']} comes twice"
                raise UnreadableCallError(message)
            arguments[parameter["name"]] = parameter["value"]
            self._position = parameter.end()
        if not _TAG_END.match(self.text, self._position):
            message = "it has no end"
            raise UnreadableCallError(message)
        return arguments

    def read_json(self) -> object:
        """Return the JSON value at the position, and go on to its end. A value in other spellings ends at a tag."""
        try:
            _, end = json.JSONDecoder(strict=False).raw_decode(self.text, self._position)
        except (ValueError, RecursionError):
            tag = re.compile(r"</|<\||\[/|`{3}|\Z").search(self.text, self._position)
            end = tag.start() if tag else len(self.text)
        try:
            value, _ = read_value(self.text[self._position : end].strip())
        except json.JSONDecodeError:
            message = "its JSON is cut off, or not valid"
            raise UnreadableCallError(message) from None
        except ValueError as error:
            message = f"its arguments are not usable JSON: {error}"
            raise UnreadableCallError(message) from None
        if not isinstance(value, dict | list):
            message = "expected a JSON object, got text"
            raise UnreadableCallError(message)
        self._position = end
        return cast("object", value)


def refuse_words_below(text: str, end: int) -> None:
    """Raise UnreadableCallError for words below a call that ends there: an answer that goes on may only quote it."""
    if _STOP.match(text, end):
        return
    rest = _REST.match(text, end)
    if rest and rest.end() < len(text) and not _STOP.match(text, rest.end()):
        message = "words stand below it, so it may be a quotation"
        raise UnreadableCallError(message)


def calls_in(value: object) -> Iterator[WrittenCall]:
    """Yield the calls in a JSON value: an object with a name and arguments, or a list of these."""
    if isinstance(value, list):
        for element in cast("list[object]", value):
            yield from calls_in(element)
        return
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    keys = [key for key in CALL_ARGUMENTS if key in fields]
    function = fields.get("function")
    if isinstance(fields.get("tool_calls"), list) and not fields.keys() & {"name", "function", *keys}:
        yield from calls_in(fields["tool_calls"])
        return
    if isinstance(function, dict) and not fields.keys() - {"function", "type", "id", "index"}:
        yield from calls_in(cast("object", function))
        return
    label = next((label for label in ("name", "function", "action") if label in fields), "name")
    name = fields.get(label)
    others = fields.keys() - {label, "type", "id", "index", *keys}
    if not isinstance(name, str) or len(keys) > 1 or others or fields.get("type", "function") not in _TYPES:
        message = 'expected a JSON object with "name" and "arguments"'
        raise UnreadableCallError(message)
    yield WrittenCall(name, arguments_of(fields[keys[0]] if keys else None))


def arguments_of(value: object) -> dict[str, object]:
    """Return a call's arguments, which may be JSON text."""
    if isinstance(value, str):
        try:
            return read_arguments("call", value)[0]
        except ArgumentsError as error:
            raise UnreadableCallError(str(error)) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        message = "expected an object as its arguments"
        raise UnreadableCallError(message)
    return cast("dict[str, object]", value)
