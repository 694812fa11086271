"""Reading calls in an answer's text, in the notation of a model's own template, instead of a program.

Models are trained on `<tool_call>{"name": …}` (Hermes, Qwen), `[TOOL_CALLS]` (Mistral), `<function=…>` (Llama, Qwen
Coder), `<|python_tag|>` (Llama), `<invoke name=…>` (Claude) and the tokens of DeepSeek, Kimi and gpt-oss. Readable
calls become a program of one line each. Others become a program that raises the reason, because no call may be guessed,
or lost without a word. The time is linear in the answer's length: the first unreadable call ends the reading.
"""

import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from ez_ptc.errors import ArgumentsError
from ez_ptc.formats.naming.resolution import Spellings
from ez_ptc.sandbox.worker.running.predefined import RESULT_READERS
from ez_ptc.schema.arguments.json_text import read_arguments, read_container
from ez_ptc.tools.definitions.names import unknown_tool_text
from ez_ptc.tools.tool import Tool

__all__ = [
    "CallReader",
    "UnreadableCallError",
    "WrittenCall",
    "arguments_of",
    "bare_calls",
    "calls_in",
    "program_of_calls",
    "recipient_calls",
    "render_arguments",
    "write_program",
]

_OPENING: Final = (
    r"<\|?(?:tool|function)_?calls?\|?>|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?_(?:section_)?begin\|>"
    r"|<\uff5ctool▁calls?▁begin\uff5c>|<start_function_call>|(?=<(?:function=|invoke[ ]name=))"
)
_OPEN: Final = re.compile(rf"\s*+(?:{_OPENING})\s*+")
# At the start of a line and outside of blocks: elsewhere, an answer only speaks of it. What a model writes below a
# response that it invented rests on that.
_MARK: Final = re.compile(
    rf"^[ \t]*+(?:(?:{_OPENING})\s*+|(?P<fence>`{{3,}}+|~{{3,}}+)|(?P<response><tool_response>|\[TOOL_RESULTS\]))",
    re.MULTILINE,
)
_NAME: Final = r"[\w.:/-]{1,200}"
_JSON: Final = r"(?:`{3,}(?:json)?\s*+)?(?=[\[{\"'])"
_NAMED: Final = re.compile(
    rf"(?:function<\uff5ctool▁sep\uff5c>)?(?P<name>{_NAME})\s*+(?:\[CALL_ID\][\w-]*+)?"
    rf"(?:\[ARGS\]|<\|tool_call_argument_begin\|>)?\s*+(?:`{{3,}}(?:json)?\s*+)?(?={{)"
)
_VALUE: Final = re.compile(_JSON)
_TAG: Final = re.compile(rf"<(?:function=|invoke name=)[\"']?(?P<name>{_NAME})[\"']?>\s*+")
_PARAMETER: Final = re.compile(
    rf"<parameter(?:=|[ ]name=)[\"']?(?P<name>{_NAME})[\"']?[^<>\n]{{0,40}}>\n?(?P<value>.*?)"
    r"\n?</parameter>\s*+(?=<parameter|</function>|</invoke>)",
    re.DOTALL,
)
_TAG_END: Final = re.compile(r"</(?:function|invoke)>")
# Other notations, of which a call is recognized but not read.
_OTHER: Final = re.compile(rf"{_NAME}\s*+<arg_key>|call:{_NAME}\{{|<invoke|<function=")
_END: Final = re.compile(
    r"(?:[\s,;]|`{3,}|\Z|</?\|?(?:tool|function)_?calls?\|?>|</(?:function|invoke)>|\[/TOOL_CALLS\]|</s>"
    r"|<\|(?:e\w{1,3}_id|im_end|end|call|tool_calls?_(?:section_)?end)\|>|<\uff5ctool▁calls?▁end\uff5c>|<end_function_call>)*"
)
_RECIPIENT: Final = re.compile(
    r"<\|channel\|>\s*+commentary\s++to=(?P<to>[^\s<]{1,200})[^<\n]*+(?:<\|constrain\|>[^<\n]*+)?<\|message\|>\s*+"
    r"|<\|start\|>assistant\s++to=(?P<first>[^\s<]{1,200})<\|channel\|>commentary[^<\n]*+"
    r"(?:<\|constrain\|>[^<\n]*+)?<\|message\|>\s*+"
)
_FINAL: Final = "<|channel|>final"
_ONLY_BLOCK: Final = re.compile(r"\s*+`{3,}+\w*+[ \t]*+\n(?P<content>(?>(?:[^`]++|`(?!``))*))`{3,}+\s*+")
_BARE: Final = re.compile(r"\s*+[\[{]")
# As Llama calls its built-in tools.
_METHOD: Final = re.compile(
    r"\s*+(?:<\|python_tag\|>)?\s*+(?P<name>\w{1,200})\.call(?P<arguments>\((?:[^<]|<(?!\|))*\))\s*+"
    r"(?:<\|\w{1,20}\|>\s*+)*+"
)
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")
_ADVICE: Final = "Write one ```python block that calls the functions and prints what they return."
# What models call an interpreter for programs.
_INTERPRETERS: Final = frozenset({"code_interpreter", "execute_tools", "ipython", "python"})
_KEYWORDS: Final = frozenset({*keyword.kwlist, "__debug__"})
_READERS: Final = RESULT_READERS - {"results"}


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call in an answer's text: the name as written, and the arguments."""

    name: str
    arguments: dict[str, object]


class UnreadableCallError(Exception):
    """The text of a call is not readable; the message says why."""


class CallReader:
    """Reads the calls in an answer without reasoning."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def read(self) -> Iterator[WrittenCall]:
        """Yield the calls in their order. Raises UnreadableCallError for one that was cut off or is no JSON."""
        while mark := _MARK.search(self._text, self._position):
            self._position = mark.end()
            if mark["response"]:
                return
            if fence := mark["fence"]:
                end = re.compile(rf"^[ \t]*+{fence}", re.MULTILINE).search(self._text, self._position)
                if end is None:
                    return
                self._position = end.end()
            else:
                yield from self.read_group()

    def read_group(self) -> Iterator[WrittenCall]:
        """Yield the calls after a mark."""
        is_first = True
        while True:
            while nested := _OPEN.match(self._text, self._position):
                if nested.end() == self._position:
                    break
                self._position = nested.end()
            start = self._position
            if tag := _TAG.match(self._text, start):
                self._position = tag.end()
                yield WrittenCall(tag["name"], self.read_parameters())
            elif named := _NAMED.match(self._text, start):
                self._position = named.end()
                yield WrittenCall(named["name"], arguments_of(self.read_json()))
            elif value := _VALUE.match(self._text, start):
                self._position = value.end()
                yield from calls_in(self.read_json())
            elif is_first and _OTHER.match(self._text, start):
                message = "its notation is unknown here"
                raise UnreadableCallError(message)
            else:
                return
            is_first = False
            end = _END.match(self._text, self._position)
            self._position = end.end() if end else self._position

    def read_parameters(self) -> dict[str, object]:
        """Return the arguments within a tag: JSON, or the texts of parameters."""
        if value := _VALUE.match(self._text, self._position):
            self._position = value.end()
            return arguments_of(self.read_json())
        arguments: dict[str, object] = {}
        while parameter := _PARAMETER.match(self._text, self._position):
            arguments[parameter["name"]] = parameter["value"]
            self._position = parameter.end()
        if not _TAG_END.match(self._text, self._position):
            message = "it has no end"
            raise UnreadableCallError(message)
        return arguments

    def read_json(self) -> object:
        """Return the JSON value at the position, and go on to its end. A value in other spellings ends at a tag."""
        try:
            _, end = json.JSONDecoder(strict=False).raw_decode(self._text, self._position)
        except (ValueError, RecursionError):
            tag = re.compile(r"</|<\||\[/|`{3}|\Z").search(self._text, self._position)
            end = tag.start() if tag else len(self._text)
        found = read_container(self._text[self._position : end].strip())
        if found is None:
            message = "its JSON is cut off, or not valid"
            raise UnreadableCallError(message)
        self._position = end
        return found[0]


def calls_in(value: object) -> Iterator[WrittenCall]:
    """Yield the calls in a JSON value: an object with a name and arguments, or a list of these."""
    if isinstance(value, list):
        for element in cast("list[object]", value):
            yield from calls_in(element)
        return
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if isinstance(fields.get("tool_calls"), list):
        yield from calls_in(fields["tool_calls"])
        return
    function = fields.get("function")
    if isinstance(function, dict):
        yield from calls_in(cast("object", function))
        return
    name = fields.get("name", function)
    keys = [key for key in _ARGUMENTS if key in fields]
    if not isinstance(name, str) or len(keys) > 1 or fields.keys() - {"name", "function", "type", "id", "index", *keys}:
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


def program_of_calls(answer: str, text: str, tools: Iterable[Tool[..., Any]]) -> str | None:
    """Return a program of the calls in an answer's text, or None if there are none.

    Args:
        answer: The whole answer.
        text: The answer without its reasoning.
        tools: The tools, with their names in programs.
    """
    if block := _ONLY_BLOCK.fullmatch(text):
        text = block["content"]
    try:
        if calls := [*CallReader(text).read()] or [*recipient_calls(answer)]:
            return write_program(calls, tools)
        if calls := bare_calls(text, tools):
            return write_program(calls, tools)
    except UnreadableCallError as error:
        message = f"expected a program, got a call that cannot be read: {error}. {_ADVICE}"
        return f"raise ValueError({message!r})"
    method = _METHOD.fullmatch(text)
    for tool in tools if method else ():
        if method and method["name"] == tool.name:
            return f"print({'await ' * tool.is_async}{tool.name}{method['arguments']})"
    return None


def recipient_calls(answer: str) -> Iterator[WrittenCall]:
    """Yield the calls in the messages of a gpt-oss model to its functions."""
    if _FINAL in answer:
        return
    for message in _RECIPIENT.finditer(answer):
        end = answer.find("<|", message.end())
        reader = CallReader(answer[message.end() : end if end >= 0 else len(answer)])
        yield WrittenCall(message["to"] or message["first"], arguments_of(reader.read_json()))


def bare_calls(text: str, tools: Iterable[Tool[..., Any]]) -> list[WrittenCall]:
    """Return the calls of an answer of nothing but JSON, if it names granted tools only: others may be data."""
    value = read_container(text) if _BARE.match(text) else None
    if value is None or not any(f'"{key}"' in text for key in _ARGUMENTS):
        return []
    try:
        calls = [*calls_in(value[0])]
    except UnreadableCallError:
        return []
    names = {tool.name for tool in tools} | _INTERPRETERS
    return calls if all(call.name in names for call in calls) else []


def write_program(calls: Iterable[WrittenCall], tools: Iterable[Tool[..., Any]]) -> str:
    """Return the program of calls: the first one that is an argument, or a line for each call."""
    by_name = {tool.name: tool for tool in tools}
    spellings = Spellings({name: name for name in (*by_name, *_READERS)})
    programs: list[str] = []
    lines: list[str] = []
    changes: set[str] = set()
    for call in calls:
        name, code = spellings.find(call.name), call.arguments.get("code")
        if name is None and isinstance(code, str):
            programs.append(code)
            continue
        if name is None:
            raise UnreadableCallError(unknown_tool_text(call.name, [*by_name]))
        tool = by_name.get(name)
        line = f"print({'await ' * (tool is not None and tool.is_async)}{name}({render_arguments(call.arguments)}))"
        if line in changes:
            message = f"the same call of {name} stands there twice"
            raise UnreadableCallError(message)
        if tool is not None and not tool.read_only:
            changes.add(line)
        lines.append(line)
    if programs and lines:
        message = "a program stands beside other calls"
        raise UnreadableCallError(message)
    return programs[0] if programs else "\n".join(lines)


def render_arguments(arguments: Mapping[str, object]) -> str:
    """Return arguments as Python has them between the parentheses of a call."""
    # Python reads other spellings of a name as its normal form.
    plain = [name for name in arguments if name.isascii() and name.isidentifier() and name not in _KEYWORDS]
    parts = [f"{name}={arguments[name]!r}" for name in plain]
    if others := {name: value for name, value in arguments.items() if name not in plain}:
        parts.append(f"**{others!r}")
    return ", ".join(parts)
