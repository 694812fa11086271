"""What becomes a tool without `@ez_tool`, and what the refusal of anything else says."""

from typing import Any

import pytest

from ez_ptc import SchemaError, Tool, Toolkit, ToolRegistry, ez_tool
from ez_ptc.tools.conversion import to_tools


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def later(number: int) -> int:
    """Double a number later."""
    return 2 * number


class Shop:
    """A shop."""

    def price(self, item: str) -> int:
        """Look up a price."""
        return len(item)

    def __call__(self, item: str) -> int:
        """Look up a price, too."""
        return len(item)


class Plain:
    """Nothing that can be called."""


def test_plain_functions_run_in_programs() -> None:
    with Toolkit([double, later, Shop().price]) as toolkit:
        result = toolkit.execute("print(double(4), later(number=5), price('tea'))")
    assert result.output == "8 10 3\n"


def test_arguments_of_plain_functions_are_checked() -> None:
    with Toolkit([double]) as toolkit:
        result = toolkit.execute("double('four')")
    assert not result.success
    assert "double" in str(result.error)


def test_tools_keep_their_options() -> None:
    guarded = ez_tool(double, requires_approval=True)
    assert to_tools(guarded) == [guarded]
    with Toolkit([guarded]) as toolkit:
        assert "requires approval" in str(toolkit.execute("double(1)").error)


def test_lists_and_registries_are_flattened() -> None:
    registry = ToolRegistry([double], context="Ada")
    toolkit = Toolkit([registry, [later, (Shop().price,)]])
    assert [tool.name for tool in toolkit] == ["double", "later", "price"]
    assert toolkit.get_tool("double").settings.context == "Ada"


def test_registry_registers_plain_functions() -> None:
    registry = ToolRegistry()
    registry.register(double)
    assert registry["double"].call({"number": 3}) == 6
    with pytest.raises(TypeError, match=r"expected one tool, got 2: write ToolRegistry\(\[\.\.\.\]\)"):
        registry.register([later, Shop().price])  # pyright: ignore[reportArgumentType] - what is refused


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        ("double", "str: pass the function itself, without quotes"),
        (None, "None: pass the function itself, without calling it"),
        (Shop, r"the class Shop: pass one of its objects, or tools_from\(Shop\(\.\.\.\)\)"),
        (Plain(), r"Plain: pass a function that uses it, or tools_from\(\.\.\.\) for its methods"),
        ({"name": "f"}, r"dict: make a tool of a schema and its function with Tool\.from_schema"),
        (Tool, "the class Tool"),
        (7, "int: pass the function itself"),
    ],
)
def test_refusal_names_the_thing_and_the_remedy(thing: object, text: str) -> None:
    with pytest.raises(TypeError, match=f"expected a function or a tool, got {text}"):
        Toolkit([double, thing])


@pytest.mark.parametrize(
    ("things", "text"),
    [
        (double, r"got double: write \[double\]"),
        (ez_tool(double), r"got the tool double: write \[double\]"),
        ("double", r"got str: write \[find, book\] with your functions"),
        (Plain(), r"got Plain: write \[find, book\]"),
        (None, r"got NoneType: write \[find, book\]"),
    ],
)
def test_bare_function_instead_of_list_is_refused(things: Any, text: str) -> None:  # noqa: ANN401 - what is refused
    for make in (Toolkit, ToolRegistry):
        with pytest.raises(TypeError, match=f"expected a list of tools, {text}"):
            make(things)


def test_function_without_a_name_is_refused_as_schema() -> None:
    with pytest.raises(SchemaError):
        to_tools(lambda: 1)
