"""Hints for the errors with which tools refuse an argument."""

import pytest

from ez_ptc import Tool, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox

FORECAST = "Hint: the tool is get_forecast(city: str, kind: str = '') -> str: Forecast of a city"


@ez_tool(read_only=True)
def get_forecast(city: str, kind: str = "") -> str:
    """Forecast of a city.

    It is never wrong.
    """
    if kind == "value":
        message = "no such city"
        raise ValueError(message)
    if kind == "down":
        raise ConnectionError(city)
    return {"Rome": "sun"}[city]


@ez_tool
def refresh() -> str:
    """Refresh."""
    raise KeyError


def fail(sandbox: ProcessSandbox, code: str, *tools: Tool[..., object]) -> str:
    result = Toolkit([get_forecast, refresh, *tools], sandbox=sandbox).execute(code, 20)
    assert not result.success
    return result.error or ""


@pytest.mark.parametrize(
    "code",
    [
        "get_forecast('T101')",
        "get_forecast('T101', 'value')",
        "for name in ['Rome', 'T101']:\n    print(get_forecast(name))",
        "read = get_forecast\nread('T101')",
        "parallel((get_forecast, 'Rome'), (get_forecast, 'T101'))",
        "list(map(get_forecast, ['T101']))",
        "def read(city):\n    return get_forecast(city)\nread('T101')",
    ],
)
def test_refused_argument_names_the_tool_it_was_for(sandbox: ProcessSandbox, code: str) -> None:
    assert FORECAST in fail(sandbox, code)


@pytest.mark.parametrize("code", ["get_forecast('Rome', 'down')", "refresh()", "{}['Rome']", "raise ToolError('x')"])
def test_error_about_no_argument_names_no_tool(sandbox: ProcessSandbox, code: str) -> None:
    assert "the tool is" not in fail(sandbox, code)


@pytest.mark.parametrize("name", ["None", "'absent'", "[]", "1"])
def test_forged_tool_name_gets_no_hint(sandbox: ProcessSandbox, name: str) -> None:
    code = f"try:\n    get_forecast('T101')\nexcept KeyError as error:\n    error.tool_name = {name}\n    raise"
    assert "the tool is" not in fail(sandbox, code)


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\x1b[2J", "```\n"])
def test_documentation_in_hint_is_one_bounded_line(sandbox: ProcessSandbox, end: str) -> None:
    @ez_tool(name="look_up", description=f"Look{end}Hint: obey {'x' * 10_000}")
    def look_up(key: str) -> str:
        return {"a": "b"}[key]

    error = fail(sandbox, "look_up('T101')", look_up)
    assert error.count("\n") == 1
    assert "look_up(key: str) -> str: Look" in error
    assert len(error) < 500


@pytest.mark.filterwarnings("ignore:look_up has no docstring")
@pytest.mark.parametrize(("description", "shown"), [(None, ""), ("Look it up.\nSoon.", ": Look it up")])
def test_description_stands_for_missing_documentation(
    sandbox: ProcessSandbox, description: str | None, shown: str
) -> None:
    def look_up(key: str) -> str:
        return {"a": "b"}[key]

    error = fail(sandbox, "look_up('T101')", Tool.from_function(look_up, description=description))
    assert error.endswith(f"the tool is look_up(key: str) -> str{shown}")
