"""Finding calls without the marks of a template: JSON alone, a ReAct call, and a gpt-oss model's messages.

Without marks, a call is one only if nothing else stands in the answer: an answer may quote another's, or explain one.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ez_ptc.schema.arguments.json_text import read_container
from ez_ptc.toolkit.prompting.written.call_reader import (
    CALL_ARGUMENTS,
    NAME,
    CallReader,
    UnreadableCallError,
    WrittenCall,
    arguments_of,
    calls_in,
)
from ez_ptc.tools.tool import Tool

__all__ = ["INTERPRETERS", "bare_calls", "block_content", "is_within_message", "recipient_calls", "refuse_quoted_calls"]

_RECIPIENT: Final = re.compile(
    r"<\|channel\|>\s*+commentary\s++to=(?P<to>[^\s<]{1,200})[^<\n]*+(?:<\|constrain\|>[^<\n]*+)?<\|message\|>\s*+"
    r"|<\|start\|>assistant\s++to=(?P<first>[^\s<]{1,200})<\|channel\|>commentary[^<\n]*+"
    r"(?:<\|constrain\|>[^<\n]*+)?<\|message\|>\s*+"
)
_FINAL: Final = "<|channel|>final"
# The tokens of a gpt-oss model's messages come first, or end a message that the prompt began.
_MESSAGES: Final = re.compile(r"\s*+(?:<\|(?:channel|start)\|>|[^<`~]*+<\|end\|>)")
_MESSAGE_END: Final = re.compile(r"<\|(?:end|call|return)\|>\Z")
_BETWEEN: Final = 300
_ONLY_BLOCK: Final = re.compile(r"\s*+`{3,}+\w*+[ \t]*+\n(?P<content>(?>(?:[^`]++|`(?!``))*))`{3,}+\s*+")
# As models of the ReAct pattern write a call, whose "Action:" may have been removed with the reasoning above it.
_ACTION: Final = re.compile(
    rf"\s*+(?:\**Action\**:\**\s*+)?`?(?P<name>{NAME})`?[ \t]*+\n\s*+\**Action Input\**:\**\s*+"
    r"(?:`{3,}(?:json)?\s*+)?(?={)"
)
_HEADING: Final = re.compile(r"^[ ]{0,3}\**Action\**:", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t>*+.)\d-]*+(?:`{3}|~{3})", re.MULTILINE)
# What models call an interpreter for programs.
INTERPRETERS: Final = frozenset(
    {"code", "code_execution", "code_interpreter", "execute", "execute_code", "execute_ipython_cell", "execute_python"}
    | {"execute_tools", "ipython", "jupyter", "python", "python_interpreter", "python_repl", "run_code", "run_python"}
    | {"run_python_code", "tool_code"}
)


def block_content(text: str) -> str:
    """Return the content of an answer of nothing but a block, and another answer unchanged."""
    block = _ONLY_BLOCK.fullmatch(text)
    return block["content"] if block else text


def recipient_calls(answer: str) -> Iterator[WrittenCall]:
    """Yield the calls in the messages of a gpt-oss model to its functions."""
    if _FINAL in answer or not _MESSAGES.match(answer):
        return
    for message in _RECIPIENT.finditer(answer):
        if is_within_message(answer, message.start()):
            continue
        end = answer.find("<|", message.end())
        reader = CallReader(answer[message.end() : end if end >= 0 else len(answer)])
        yield WrittenCall(message["to"] or message["first"], arguments_of(reader.read_json()))


def is_within_message(answer: str, position: int) -> bool:
    """Return whether the text of a gpt-oss model's message goes on at a position."""
    before = answer[max(0, position - _BETWEEN) : position].rstrip().removesuffix("<|start|>assistant").rstrip()
    return bool(before or position > _BETWEEN) and not _MESSAGE_END.search(before)


def bare_calls(text: str, tools: Iterable[Tool[..., Any]]) -> list[WrittenCall]:
    """Return the calls of an answer of nothing but JSON, if it names granted tools only: others may be data."""
    names = {tool.name for tool in tools} | INTERPRETERS
    action = _ACTION.match(text)
    if action and action["name"] in names:  # an observation below is invented
        reader = CallReader(text[action.end() :])
        calls = [WrittenCall(action["name"], arguments_of(reader.read_json()))]
        reader.check_rest()
        return calls
    value = read_container(text) if text.lstrip()[:1] in {"[", "{"} else None
    if value is None or not any(f'"{key}"' in text for key in CALL_ARGUMENTS):
        return []
    try:
        calls = [*calls_in(value[0])]
    except UnreadableCallError:
        return []
    return calls if all(call.name in names for call in calls) else []


def refuse_quoted_calls(text: str, tools: Iterable[Tool[..., Any]]) -> None:
    """Raise UnreadableCallError for a ReAct call below words: an answer may quote it, and is not read as one."""
    *_, heading = [None, *_HEADING.finditer(text)]
    if heading is None or not text[: heading.start()].strip() or len(_FENCE.findall(text, 0, heading.start())) % 2:
        return
    for start in (heading.start(), heading.end()):
        try:
            calls = bare_calls(block_content(text[start:]), tools)
        except UnreadableCallError:  # it is no call, or words stand below it, too
            continue
        if calls:
            message = "words stand above it, so it may be a quotation"
            raise UnreadableCallError(message)
