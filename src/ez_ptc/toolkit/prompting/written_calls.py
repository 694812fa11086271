"""Programs of the calls that a model writes into its answer's text instead of a program.

Readable calls become a program of one line each. Others become a program that raises the reason: no call may be guessed
or lost.
"""

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ez_ptc.formats.naming.resolution import Spellings
from ez_ptc.sandbox.protocol.both_ends.predefined import RESULT_READERS
from ez_ptc.toolkit.prompting.written.call_reader import CallReader, UnreadableCallError, WrittenCall
from ez_ptc.toolkit.prompting.written.program_text import ProgramText
from ez_ptc.toolkit.prompting.written.unmarked_calls import (
    INTERPRETERS,
    bare_calls,
    block_content,
    recipient_calls,
    refuse_quoted_calls,
)
from ez_ptc.tools.definitions.names import unknown_tool_text
from ez_ptc.tools.tool import Tool

__all__ = ["program_of_calls", "program_of_method", "program_of_unreadable", "render_arguments", "write_program"]

# As Llama calls its built-in tools.
_METHOD: Final = re.compile(
    r"\s*+(?:<\|python_tag\|>)?\s*+(?P<name>\w{1,200})\.call(?P<arguments>\((?:[^<]|<(?!\|))*\))\s*+"
    r"(?:<\|\w{1,20}\|>\s*+)*+"
)
_ADVICE: Final = "Write one ```python block that calls the functions and prints what they return."
_KEYWORDS: Final = frozenset({*keyword.kwlist, "__debug__"})
_READERS: Final = RESULT_READERS - {"results"}


def program_of_calls(answer: str, text: str, tools: Iterable[Tool[..., Any]]) -> tuple[str | None, str]:
    """Return a program of the calls in an answer's text, or None without calls, and the text beside them.

    Args:
        answer: The whole answer.
        text: The answer without its reasoning.
        tools: The tools, with their names in programs.
    """
    content = block_content(text)
    reader = CallReader(content, answer)
    try:
        calls = [*reader.read()]
        if calls:
            reader.check_rest()
        if calls := calls or [*recipient_calls(answer)] or bare_calls(reader.text, tools):
            return write_program(calls, tools), text if content != text else reader.text_beside()
        refuse_quoted_calls(content, tools)
    except UnreadableCallError as error:
        return program_of_unreadable(error), text if content != text else reader.text_beside()
    return program_of_method(reader.text, tools), text


def program_of_unreadable(error: UnreadableCallError) -> str:
    """Return a program that raises why a call cannot be read."""
    message = f"expected a program, got a call that cannot be read: {error}. {_ADVICE}"
    return f"raise ValueError({message!r})"


def program_of_method(text: str, tools: Iterable[Tool[..., Any]]) -> str | None:
    """Return the program of an answer of nothing but a call as Llama writes it, or None."""
    method = _METHOD.fullmatch(text)
    for tool in tools if method else ():
        if method and method["name"] == tool.name:
            call = f"{'await ' * tool.is_async}{tool.name}{method['arguments']}"
            return ProgramText(f"print({call})", ("calls",))
    return None


def write_program(calls: Iterable[WrittenCall], tools: Iterable[Tool[..., Any]]) -> str:
    """Return the program of calls: the one that is an argument, or a line for each call."""
    by_name = {tool.name: tool for tool in tools}
    spellings = Spellings({name: name for name in (*by_name, *_READERS)})
    programs: list[str] = []
    lines: list[str] = []
    changes: set[tuple[str, str]] = set()
    for call in calls:
        name, code = spellings.find(call.name), call.arguments.get("code")
        is_program = call.name.removeprefix("functions.").lower() in INTERPRETERS
        if name is None and is_program and isinstance(code, str):
            programs.append(code)
            continue
        if name is None:
            raise UnreadableCallError(unknown_tool_text(call.name, [*by_name]))
        tool = by_name.get(name)
        line = f"print({'await ' * (tool is not None and tool.is_async)}{name}({render_arguments(call.arguments)}))"
        # As text, because 1 and true are equal.
        same = name, json.dumps(call.arguments, sort_keys=True)
        if same in changes:
            message = f"the same call of {name} stands there twice"
            raise UnreadableCallError(message)
        if tool is not None and not tool.read_only:
            changes.add(same)
        lines.append(line)
    if len(programs) + bool(lines) > 1:
        message = "a program stands beside other calls"
        raise UnreadableCallError(message)
    return programs[0] if programs else ProgramText("\n".join(lines), ("calls",))


def render_arguments(arguments: Mapping[str, object]) -> str:
    """Return arguments as Python has them between the parentheses of a call."""
    # Python reads other spellings of a name as its normal form.
    plain = [name for name in arguments if name.isascii() and name.isidentifier() and name not in _KEYWORDS]
    parts = [f"{name}={arguments[name]!r}" for name in plain]
    if others := {name: value for name, value in arguments.items() if name not in plain}:
        parts.append(f"**{others!r}")
    return ", ".join(parts)
