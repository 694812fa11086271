"""What rich prints of results, tools, runs and conversations: foreign text as text, within bounds."""

import io

import pytest

from ez_ptc import ExecutionResult, ScriptedProvider, TextMessage, Toolkit, ez_tool, llm

console = pytest.importorskip("rich.console", reason="the extra `cli` is not installed")

_HOSTILE = "[bold]x[/bold] [link=http://h]a[/link] :smile: \x1b[2J \u202e http://h"
_VISIBLE = "[bold]x[/bold] [link=http://h]a[/link] :smile: \\x1b[2J \\u202e http://h"


@ez_tool(read_only=True, description=_HOSTILE)
def price_of(product: str) -> float:
    """Look up a price."""
    return 39.5


def printed(thing: object, width: int = 400) -> tuple[str, str]:
    """Return what rich prints of an object without colors, and with them."""
    plain, colored = io.StringIO(), io.StringIO()
    console.Console(file=plain, width=width, color_system=None).print(thing)
    console.Console(file=colored, width=width, force_terminal=True, color_system="truecolor").print(thing)
    return plain.getvalue(), colored.getvalue()


def test_hostile_text_stays_text_in_a_terminal() -> None:
    model = ScriptedProvider(_HOSTILE)
    with Toolkit([price_of]) as toolkit:
        result = ExecutionResult(output=_HOSTILE, error_output=_HOSTILE, return_value=[{_HOSTILE: _HOSTILE}])
        ran = toolkit.execute(f"price_of({_HOSTILE!r})\n{_HOSTILE!r}")
        things: list[object] = [result, ran, toolkit, price_of, TextMessage(_HOSTILE)]
        things.append(llm().provider(model).converse(_HOSTILE)[1])
    for thing in things:
        plain, colored = printed(thing)
        assert _VISIBLE in plain, thing
        assert "\x1b[2J" not in colored
        assert "\x1b]8" not in colored
        assert "\u202e" not in colored


def test_results_are_lines_and_tables_in_a_terminal() -> None:
    rows = [{"name": "lamp", "price": 39.5}, {"name": "desk", "price": None}]
    plain, _ = printed(ExecutionResult(output="one\ntwo\n", return_value=rows), 80)
    lines = plain.splitlines()
    assert lines[:2] == ["one", "two"]
    assert [part.strip() for part in lines[5].split("│")] == ["", "lamp", "39.5", ""]
    assert lines[-1].startswith("done in ")
    assert len(printed(ExecutionResult(output="x" * 1_000_000, max_text=1_000_000), 80)[0]) < 30_000
