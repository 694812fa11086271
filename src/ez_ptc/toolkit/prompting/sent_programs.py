"""Programs that a model sends to `execute_tools` in another form than `{"code": …}`, if nothing else can be meant."""

import re
from collections.abc import Mapping
from typing import Final, cast

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.arguments.json_text import MAX_CHARACTERS, parse_value, read_arguments
from ez_ptc.toolkit.prompting.program_extraction import does_something, extract_code

__all__ = ["find_sent_program"]

# The names under which models send a program, and what they say beside one.
_NAMES: Final = ("code", "program", "python", "python_code", "script", "source", "input")
_BESIDE: Final = frozenset({"analysis", "explanation", "lang", "language", "plan", "reasoning", "thought", "thoughts"})
# An object whose text has quotes or line ends that are not escaped, or Python's or JavaScript's quotes.
_UNESCAPED: Final = re.compile(
    r"\s*+\{\s*+[\"']?code[\"']?\s*+:\s*+(?P<quote>\"{3}|'{3}|`{1,3}|\"|')(?P<code>.*)(?P=quote)\s*+(?:,\s*+)?\}\s*+",
    re.DOTALL,
)


def find_sent_program(arguments: object) -> str | None:
    """Return the program in arguments that are not those of `execute_tools`, or None if none is certain."""
    if isinstance(arguments, str):
        try:
            arguments = read_arguments("execute_tools", arguments)[0]
        except ArgumentsError:
            return _program_in(arguments)
    if not isinstance(arguments, Mapping):
        return None  # no call has such arguments
    fields = cast("Mapping[str, object]", arguments)
    names = [name for name in _NAMES if name in fields]
    if len(names) != 1 or not fields.keys() <= {names[0], *_BESIDE} or "after" in fields:
        return None
    program: object = fields[names[0]]
    if isinstance(program, Mapping) and len(cast("Mapping[str, object]", program)) == 1:
        program = cast("Mapping[str, object]", program).get("code")
    if isinstance(program, list) and all(isinstance(line, str) for line in cast("list[object]", program)):
        program = "\n".join(cast("list[str]", program))
    if not isinstance(program, str):
        return None
    return program if names[0] == "code" or does_something(program) else None


def _program_in(text: str) -> str | None:
    if len(text) > MAX_CHARACTERS:
        return None
    value = parse_value(text)
    if isinstance(value, str):
        text = value
    packed = _UNESCAPED.fullmatch(text)
    if packed is None:
        return None if text.lstrip()[:1] in {"{", "["} else extract_code(text)
    code = packed["code"]
    spellings = (code, code.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"'))
    return next(filter(does_something, spellings), None)
