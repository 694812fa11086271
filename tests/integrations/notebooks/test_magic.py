"""`%%ez_ptc` without IPython: a shell with what the magic uses. `tests/examples` runs it in a kernel."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ez_ptc
from ez_ptc import ExecutionResult, Toolkit, ez_tool
from ez_ptc.integrations.notebooks.magic import CellOptions, run_cell


class _Shell:
    """As IPython in a terminal."""

    def __init__(self, **namespace: object) -> None:
        self.user_ns = namespace
        self.registered: dict[str, tuple[str, Callable[[str, str], ExecutionResult]]] = {}

    def register_magic_function(
        self, function: Callable[[str, str], ExecutionResult], magic_kind: str, magic_name: str
    ) -> None:
        self.registered[magic_name] = (magic_kind, function)


@ez_tool(read_only=True)
def price_of(product: str) -> float:
    """Look up a price."""
    return 39.5


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([price_of]) as made:
        yield made


def test_cell_runs_as_a_program_and_shows_its_calls(toolkit: Toolkit, capsys: pytest.CaptureFixture[str]) -> None:
    shell = _Shell(shop=toolkit)
    loader: Any = ez_ptc.load_ipython_extension
    loader(shell)
    kind, magic = shell.registered["ez_ptc"]
    assert kind == "cell"
    result = magic("--out total", "print('one')\nprice_of('[bold]\\x1b[2J')")
    assert (result.output, result.return_value) == ("one\n", 39.5)
    assert shell.user_ns["total"] is result
    assert capsys.readouterr().out == '1  price_of("[bold]\\u001b[2J")  39.5\n'
    failed = run_cell(shell, "shop --timeout=5", "1 / 0")
    assert failed.error == "ZeroDivisionError: division by zero"


def test_misspelt_line_of_a_cell_is_told_what_to_write(toolkit: Toolkit) -> None:
    namespace: dict[str, object] = {"toolkit": toolkit, "price_of": price_of, "_": toolkit}
    other = Toolkit([price_of])
    cases: list[tuple[str, dict[str, object], str]] = [
        ("tolkit", namespace, "no variable tolkit: did you mean 'toolkit'?"),
        ("price_of", namespace, "expected price_of to be a Toolkit, got Tool: write toolkit = Toolkit"),
        ("toolkit.tols", namespace, "expected 'toolkit.tols' to be a Toolkit, got NoneType"),
        ("--timeuot 3", namespace, "unknown option '--timeuot': did you mean '--timeout'?"),
        ("--timeout", namespace, "--timeout needs a value. Usage: %%ez_ptc"),
        ("--timeout soon", namespace, "--timeout: expected a positive number of seconds, at most a year, got 'soon'"),
        ("--timeout nan", namespace, "--timeout: expected a positive number of seconds, at most a year, got 'nan'"),
        ("--out 1a", namespace, "--out: expected the name of a variable, got '1a'"),
        ("--out class", namespace, "--out: expected the name of a variable, got 'class'"),
        ("--out __builtins__", namespace, "--out: expected the name of a variable, got '__builtins__'"),
        ("toolkit shop", namespace, "expected one toolkit, got 'toolkit', 'shop'"),
        ("'", namespace, "cannot read the line of the cell: No closing quotation"),
        ("", {"one": toolkit, "two": other}, "which toolkit? There are one, two: write %%ez_ptc one"),
        ("", {"_": toolkit}, "there is no Toolkit yet: write toolkit = Toolkit([...])"),
    ]
    for line, variables, message in cases:
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is compared below
            CellOptions.of(line, variables)
        assert str(error.value).startswith(message)
    assert CellOptions.of("", {"one": toolkit, "same": toolkit}).toolkit is toolkit
    assert CellOptions.of("", {"toolkit": toolkit, "two": other}).toolkit is toolkit
