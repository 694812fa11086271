"""Messages of exceptions and of groups of them, as models and logs read them."""

from __future__ import annotations

import builtins

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.messages import ToolCall
from ez_ptc.results.robust_repr import message_of

MADE = {
    "UnicodeDecodeError": ("utf-8", b"\xff", 0, 1, "invalid start byte"),
    "UnicodeEncodeError": ("ascii", "\xe9", 0, 1, "ordinal not in range(128)"),
    "UnicodeTranslateError": ("\xe9", 0, 1, "no such character"),
    "ExceptionGroup": ("2 of 3 failed", [ValueError("no such city"), KeyError("k")]),
}
CLASSES = [name for name, cls in vars(builtins).items() if isinstance(cls, type) and issubclass(cls, Exception)]
ALIASES = {"EnvironmentError", "IOError"}


@ez_tool
def fail(name: str) -> str:
    """Fail with an exception of that class."""
    raise getattr(builtins, name)(*MADE.get(name, ("no luck",)))


def test_group_has_the_messages_of_its_members() -> None:
    inner = ExceptionGroup("inner", [OSError("refused"), ValueError()])
    group = BaseExceptionGroup("unhandled errors in a TaskGroup", [KeyError("k"), inner, KeyboardInterrupt()])
    assert message_of(group) == (
        "unhandled errors in a TaskGroup (3 sub-exceptions): KeyError: 'k'; OSError: refused; ValueError: ; "
        "KeyboardInterrupt: "
    )
    many = ExceptionGroup("many", [ValueError(str(number)) for number in range(9)])
    assert message_of(many).endswith("; ValueError: 4; …")
    assert fail.run(ToolCall("1", "fail", {"name": "ExceptionGroup"})).error == (
        "2 of 3 failed (2 sub-exceptions): ValueError: no such city; KeyError: 'k'"
    )


def test_every_built_in_exception_of_a_tool_can_be_caught() -> None:
    program = f"""
for name in {[name for name in CLASSES if name not in ALIASES]!r}:
    try:
        fail(name)
    except ToolError as error:
        if not isinstance(error, getattr(__import__("builtins"), name)) or type(error).__name__ != name:
            print(name, type(error))
"""
    with Toolkit([fail]) as toolkit:
        result = toolkit.execute(program)
        assert (result.output, result.error) == ("", None)
        assert "can't decode byte 0xff" in (toolkit.execute("fail('UnicodeDecodeError')").error or "")
        caught = "try:\n    fail('ExceptionGroup')\nexcept* ToolError as group:\n    print(len(group.exceptions))"
        assert toolkit.execute(caught).output == "1\n"


@pytest.mark.parametrize("answer", [5, None])
def test_message_that_is_no_text_is_the_class(answer: object) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            return answer  # pyright: ignore[reportReturnType] - as foreign code may

    assert message_of(OddError()) == "OddError"
