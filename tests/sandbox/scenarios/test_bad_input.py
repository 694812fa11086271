"""What a model or a tool does wrong is a result that a model can act on, and the next program runs."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator

import pytest
from pydantic import BaseModel

from ez_ptc import Tool, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from tests.sandbox.tools import TOOLS

Execute = Callable[..., ExecutionResult]


@dataclasses.dataclass
class HalfMade:
    name: str
    price: float = dataclasses.field(init=False)


class Moody:
    def __getattr__(self, name: str) -> object:
        raise KeyError(name)

    def __repr__(self) -> str:
        raise ValueError


class Loop(BaseModel):
    again: object = None


@ez_tool
def give(what: str) -> object:
    """Return something that is no data."""
    loop: list[object] = []
    loop.append(loop)
    model = Loop()
    model.again = model
    gifts: dict[str, object] = {
        "an object": object(),
        "a class": HalfMade,
        "a half-made record": HalfMade("tea"),
        "something moody": Moody(),
        "a loop": loop,
        "a model in a loop": model,
        "a function": print,
        "20 MB": "x" * 20_000_000,
    }
    return gifts[what]


@pytest.fixture(scope="module")
def released() -> Iterator[threading.Event]:
    """Set when the tests are over, so that the tools that hang go away."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture(scope="module")
def toolkit(sandbox: ProcessSandbox, released: threading.Event) -> Toolkit:
    @ez_tool
    def hang() -> None:
        """Never return."""
        released.wait()

    tools: list[Tool[..., object]] = [*TOOLS, give, hang]
    return Toolkit(tools, sandbox=sandbox)


@pytest.fixture
def refused(execute: Execute, toolkit: Toolkit) -> Callable[..., ExecutionResult]:
    """Run what must fail, and after it a program that must not."""

    def run(code: object, timeout: float = 20) -> ExecutionResult:
        result = execute(toolkit, code, timeout)
        assert (result.success, result.status, result.return_value) == (False, "failed", None)
        assert result.error
        assert result.error_output.endswith("\n")
        assert result.to_string() == result.error_output
        assert execute(toolkit, "add(20, 22)").return_value == 42
        return result

    return run


Refused = Callable[..., ExecutionResult]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = (1,", "'(' was never closed (line 1)"),
        ("total = 0\nfor i in range(3)\n    total += i", "expected ':' (line 2)"),
        ("x = 1\n  y = 2\nz = 3", "unexpected indent (line 2)"),
        ("x = 1\n\0y = 2", "null"),
        ("return 5", "a program has no return"),
        ("print('a'", "never closed"),
        ("x = 'abc", "unterminated string literal"),
        ("```python\nprint(1\n```", "invalid syntax (line 1)"),
        ("lookup 'tea'", "invalid syntax (line 1)"),
    ],
)
def test_a_syntax_error_names_the_line(refused: Refused, code: str, says: str) -> None:
    error = refused(code).error
    assert error is not None
    assert says in error
    assert error.startswith(("SyntaxError: ", "IndentationError: "))


@pytest.mark.parametrize("code", ["", "   \n\t\n", "# only a comment\n"])
def test_empty_program_gets_advice(refused: Refused, code: str) -> None:
    assert "the program is empty: write Python statements" in (refused(code).error or "")


@pytest.mark.parametrize("code", [None, b"print(1)", 5, ["print(1)"], {"code": "1"}])
def test_non_text_code_is_refused_by_type(refused: Refused, code: object) -> None:
    with pytest.raises(TypeError, match=rf"expected the program as text \(str\), got {type(code).__name__}|got None"):
        refused(code)


def test_code_with_half_a_character_is_refused(refused: Refused) -> None:
    assert "surrogate" in (refused("x = '\ud800'").error or "")


LONG: dict[str, tuple[str, str]] = {
    "10 MB of statements": ("x = 1\n" * 1_700_000, "MemoryError (the program may use 256 MiB)"),
    "20 MB": ("x = '" + "a" * 20_000_000 + "'", "the program has 20,000,006 characters; at most 16,777,216"),
    "deep parentheses": ("(" * 20_000 + "1" + ")" * 20_000, "too many nested parentheses"),
    "deep signs": ("-" * 200_000 + "1", "MemoryError|RecursionError|too many|too complex|recurs"),
    "a long chain of attributes": ("a" + ".a" * 100_000, "RecursionError|MemoryError|recurs"),
    "a long chain of calls": ("f" + "()" * 100_000, "RecursionError|MemoryError|recurs"),
    "a long sum": ("+".join(["1"] * 100_000), "RecursionError|MemoryError|recurs"),
    "a number of 5 million digits": ("x = " + "9" * 5_000_000, "for integer string conversion"),
}


@pytest.mark.parametrize(("code", "says"), LONG.values(), ids=LONG.keys())
@pytest.mark.sampled(every=0)
def test_too_long_or_deep_code_is_ordinary_error(toolkit: Toolkit, code: str, says: str) -> None:
    result = toolkit.execute(code, 30)
    assert not result.success
    assert any(words in (result.error or "") for words in says.split("|")), result.error
    assert len(result.error_output) < 1_100_000
    assert len(result.to_string()) <= 30_000
    assert toolkit.execute("1 + 1").return_value == 2


@pytest.mark.security
def test_10_mb_of_text_in_program_is_accepted(toolkit: Toolkit) -> None:
    assert toolkit.execute("x = '" + "a" * 10_000_000 + "'\nlen(x)").return_value == 10_000_000


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("value", "ValueError: the value is wrong"),
        ("key", "KeyError: 'tea'"),
        ("tool", "ToolError: the shop is closed"),
        ("own", "_ShopClosedError: until Monday"),
        ("mute", "RuntimeError"),
    ],
)
def test_a_tool_that_raises_raises_in_the_program(refused: Refused, how: str, says: str) -> None:
    result = refused(f"x = 1\nfail({how!r})")
    assert (result.error or "").startswith(says)
    assert "line 2, in <module>" in result.error_output
    assert "tools.py" not in result.error_output
    assert result.tool_calls[0]["error"]


def test_tool_raising_stop_iteration_is_ordinary_failure(refused: Refused) -> None:
    assert "StopIteration: 5" in (refused("stop()").error or "")


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("value", "ValueError"),
        ("key", "KeyError"),
        ("key", "LookupError"),
        ("own", "LookupError"),
        ("tool", "ToolError"),
    ],
)
def test_a_tools_failure_is_caught_by_its_class(execute: Execute, toolkit: Toolkit, how: str, kind: str) -> None:
    result = execute(toolkit, f"try:\n    fail({how!r})\nexcept {kind} as error:\n    found = str(error)\nfound")
    assert (result.success, isinstance(result.return_value, str)) == (True, True)


def test_a_tool_that_hangs_ends_with_the_programs_time(refused: Refused) -> None:
    result = refused("print('before')\ntry:\n    hang()\nfinally:\n    print('after')", 0.3)
    assert result.error == "TimeoutError: the program timed out after 0.3 s"
    assert result.output == "before\nafter\n"
    assert result.tool_calls[0]["error"] == "the call was still running when the program ended"


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("a loop", "refers to itself"),
        ("a model in a loop", "refers to itself"),
        ("20 MB", "at most 16,777,216 can reach the program"),
    ],
)
def test_unpassable_result_error_says_the_tool_ran(refused: Refused, what: str, says: str) -> None:
    result = refused(f"give({what!r})")
    assert says in (result.error or "")
    assert "'give' has run, but what it returned cannot be passed on" in (result.error or "")
    assert "do not call it again" in (result.error or "")
    assert "has run" in str(result.tool_calls[0]["error"])


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("an object", "<object object>"),
        ("a class", "<class '"),
        ("a half-made record", "HalfMade"),
        ("something moody", "Moody"),
        ("a function", "<built-in function print>"),
    ],
)
def test_an_object_of_an_unknown_class_is_its_text(toolkit: Toolkit, what: str, text: str) -> None:
    result = toolkit.execute(f"give({what!r})")
    assert text in result.return_value
    assert " at 0x" not in result.return_value


def test_arguments_that_do_not_fit_name_each_field(refused: Refused) -> None:
    error = refused("add('x', c=1)").error or ""
    assert error.startswith("TypeError: add: ")
    for word in ("'a'", "'b'", "'c'"):
        assert word in error


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("print", "an argument of echo: a builtin_function_or_method cannot cross"),
        ("(x for x in [1])", "an argument of echo: a generator (make it a list: list(...)) cannot cross"),
        ("object()", "an argument of echo: an object cannot cross"),
        ("loop", "an argument of echo: the value refers to itself"),
        ("wide", "an argument of echo: the value is too large"),
        ("'x' * 20_000_000", "at most 16,777,216"),
    ],
)
def test_unpassable_argument_raises_at_its_call(toolkit: Toolkit, argument: str, says: str) -> None:
    start = "loop = []\nloop.append(loop)\nwide = [1]\nfor i in range(30): wide = [wide, wide]\n"
    code = (
        f"{start}try:\n    echo({argument})\nexcept (TypeError, ValueError) as error:\n    print('caught')\n    raise"
    )
    result = toolkit.execute(code)
    assert says in (result.error or "")
    assert (result.output, result.tool_calls) == ("caught\n", [])
