"""`help()` of the names that users type first: a runnable example on the first screen."""

import io
import pydoc
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ez_ptc
from ez_ptc import ScriptedProvider, TextMessage, ToolCall, Toolkit, ez_tool

FIRST = [
    "Toolkit",
    "ez_tool",
    "Tool",
    "ToolRegistry",
    "llm",
    "Session",
    "Journal",
    "History",
    "ExecutionResult",
    "Limits",
    "Context",
    "ScriptedProvider",
]
SCREEN_LINES = 40
# The signature stands above it in a notebook.
DOCSTRING_LINES = 45


def example(name: str) -> str:
    """Return the example in a docstring: its first indented lines."""
    paragraphs = pydoc.getdoc(getattr(ez_ptc, name)).split("\n\n")
    lines: list[str] = []
    for paragraph in paragraphs[1:]:
        if not paragraph.startswith("    "):
            break
        lines.append(paragraph)
    return textwrap.dedent("\n\n".join(lines))


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Yield what the examples take for granted."""
    monkeypatch.chdir(tmp_path)

    @ez_tool
    def price_of(product: str) -> float:
        """Look up a price."""
        return {"lamp": 39.5}[product]

    public = {name: getattr(ez_ptc, name) for name in vars(ez_ptc)["__all__"]}
    model = ScriptedProvider(ToolCall("", "price_of", {"product": "lamp"}), "A lamp costs 39.50 euros.")
    with Toolkit([price_of]) as toolkit:
        yield {**public, "price_of": price_of, "model": model, "toolkit": toolkit, "conversation": [TextMessage("Hi.")]}


@pytest.mark.parametrize("name", FIRST)
def test_example_of_a_first_name_runs(name: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    code = example(name)
    assert 0 < len(code.splitlines()) <= 6, f"{name} has no example"
    exec(compile(code, name, "exec"), names)
    assert ("print(" in code) <= bool(capsys.readouterr().out or name == "Journal")
    for made in names.values():
        if isinstance(made, Toolkit):
            made.close()


@pytest.mark.parametrize("name", FIRST)
def test_example_is_on_the_first_screen(name: str) -> None:
    shown = io.StringIO()
    pydoc.Helper(output=shown)(getattr(ez_ptc, name))
    lines = [line.removeprefix(" |  ").strip() for line in shown.getvalue().splitlines()[:SCREEN_LINES]]
    assert example(name).splitlines()[-1].strip() in lines


@pytest.mark.parametrize("name", FIRST)
def test_docstring_of_a_first_name_fits_one_screen(name: str) -> None:
    assert len(pydoc.getdoc(getattr(ez_ptc, name)).splitlines()) <= DOCSTRING_LINES


# Lines of docstrings, without signatures, which Python 3.13 breaks: beyond these, nobody reads `help`.
MOST_LINES = {"Toolkit": 218}


def documented_lines(name: str) -> int:
    """Return the number of lines in the docstrings of a name and of its public members."""
    value: Any = getattr(ez_ptc, name)
    members: list[Any] = []
    if isinstance(value, type):
        members = [getattr(value, key) for key in dir(value) if not key.startswith("_")]
    documented = [value, *(member for member in members if callable(member) or isinstance(member, property))]
    return sum(len(pydoc.getdoc(item).splitlines()) for item in documented)


@pytest.mark.parametrize("name", FIRST)
def test_help_of_a_first_name_does_not_grow(name: str) -> None:
    assert documented_lines(name) <= MOST_LINES.get(name, 100)


def test_toolkit_has_its_settings_on_instances_only() -> None:
    text = pydoc.plain(pydoc.render_doc(Toolkit))
    assert "approve = None" not in text
    with Toolkit([]) as toolkit:
        assert (toolkit.approve, toolkit.catalog, toolkit.reraise) == (None, "auto", ())


def test_methods_of_a_toolkit_begin_with_those_that_users_need() -> None:
    lines = pydoc.plain(pydoc.render_doc(Toolkit)).partition("Methods defined here:")[2].splitlines()
    methods = re.findall(r"^ \|  (?:async )?(\w+)\(", "\n".join(lines), re.MULTILINE)
    assert methods[:7] == ["execute", "aexecute", "stream", "astream", "session", "resume", "check"]
