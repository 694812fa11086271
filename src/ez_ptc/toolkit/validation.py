"""Validation of what users pass to a toolkit; each error says what was expected, what came, and what to write."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Final, cast

from ez_ptc._wrong_calls import other_parameters
from ez_ptc.sandbox.protocol.execution import Limits
from ez_ptc.schema.safe_repr import safe_name, safe_repr_with_type
from ez_ptc.tools.approvals.approval import check_approver

__all__ = ["check_listener", "check_program", "check_settings", "program_problem"]

_MAX_NAMED: Final = 5
# Attributes of things that hold a program, such as paths, files, calls, messages and results, and its text in them.
_PROGRAMS_IN: Final = {
    "read_text": "its content, path.read_text()",
    "read": "its content, file.read()",
    "arguments": "call.arguments['code']",
    "text": "its .text",
    "return_value": "a program, not the result of one",
    "co_code": "its source, not compiled code",
    "_fields": "its source, as ast.unparse() returns it",
}


def program_problem(code: object) -> str | None:
    """Return why something is no program, or None for text."""
    if isinstance(code, str):
        return None
    text = safe_repr_with_type(code)
    advice = ""
    for attribute, written in _PROGRAMS_IN.items():
        if hasattr(code, attribute):
            advice = f": pass {written}"
    if callable(code):
        advice = ": pass its source, as inspect.getsource() returns it, with a call of it"
    elif code is None:
        advice = ": extract_code() returns None for an answer without a program, so check that first"
    elif isinstance(code, bytes | bytearray):
        advice = ": write code.decode()"
    elif isinstance(code, list | tuple):
        advice = ": join its lines, '\\n'.join(lines)"
    elif isinstance(code, Mapping) and "code" in code:
        advice = ": pass arguments['code']"
    return f"expected the program as text (str), got {text}{advice}"


def check_program(code: object) -> None:
    """Raise TypeError unless a program is text."""
    problem = program_problem(code)
    if problem is not None:
        raise TypeError(problem)


def check_settings(limits: object, approve: object, on_tool_call: object) -> None:
    """Raise TypeError if one of these settings of a toolkit is of a wrong type."""
    _check_limits(limits)
    check_approver(approve)
    check_listener(on_tool_call)


def _check_limits(limits: object) -> None:
    if isinstance(limits, Limits):
        return
    example, text = "calls=100", safe_repr_with_type(limits)
    if isinstance(limits, Mapping):
        names = [*map(safe_name, cast("Mapping[object, object]", limits))]
        example = ", ".join(f"{name}=..." for name in names[:_MAX_NAMED]) or example
    message = f"expected limits to be a Limits, got {text}: write limits=Limits({example})"
    raise TypeError(message)


def check_listener(listen: object) -> None:
    """Raise TypeError for a listener that cannot be called, or that would have to be awaited."""
    if listen is None:
        return
    got = safe_repr_with_type(listen)
    if callable(listen):
        other = other_parameters(listen, 1)
        if other is None and not inspect.iscoroutinefunction(listen):
            return
        got = other or "an async function"
    message = f"expected on_tool_call to be a plain function of a call's record, or None; got {got}"
    raise TypeError(message)
