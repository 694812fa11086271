"""Tools from what developers have: functions, lists of them, and the tools of agent frameworks.

A framework's objects are converted by a module that is imported when one of them arrives, so that no framework is
imported for the sake of another.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partialmethod, singledispatchmethod
from importlib import import_module
from types import ModuleType
from typing import Any, Final, cast

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SchemaError
from ez_ptc.schema.safe_repr import safe_line
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.definitions.names import unknown_tool_text
from ez_ptc.tools.tool import Tool

__all__ = ["to_tools", "tools_from"]

_METHOD_TYPES: Final = (staticmethod, classmethod, partialmethod, singledispatchmethod)

_Tools = list[Tool[..., Any]]

# The modules with `import_tools(thing)`, by the package that defines the thing's class or a base of it.
_CONVERTERS: Final[Mapping[str, str]] = {
    "google.adk": "ez_ptc.integrations.google_adk",
    "crewai": "ez_ptc.integrations.crewai",
    "fastmcp": "ez_ptc.integrations.fastmcp",
    "agents": "ez_ptc.integrations.openai_agents",
    "langchain_core": "ez_ptc.integrations.langchain",
    "chatlas": "ez_ptc.integrations.chatlas",
    "llama_index": "ez_ptc.integrations.llama_index",
    "llm": "ez_ptc.integrations.llm",
    "dspy": "ez_ptc.integrations.dspy",
    "smolagents": "ez_ptc.integrations.smolagents",
    "pydantic_ai": "ez_ptc.integrations.pydantic_ai",
}
_MAX_NAME_LENGTH: Final = 100


def to_tools(thing: object, make: Callable[[Callable[..., Any]], Tool[..., Any]] = ez_tool) -> _Tools:
    """Return the tools in a tool, a function, a list of them, or an agent framework's tool or set of tools.

    `make` makes a tool of a function.

    Raises:
        TypeError: It is none of these; the message says what to pass instead.
        SchemaError: A function or its schema cannot be a tool, or a set of tools is empty.
        MissingExtraError: The framework's version is not supported.
    """
    if isinstance(thing, Tool):
        return [cast("Tool[..., Any]", thing)]
    if isinstance(thing, list | tuple | set | frozenset):
        return [tool for item in cast("Iterable[object]", thing) for tool in to_tools(item, make)]
    converter = _find_converter(thing)
    tools = None if converter is None else converter(thing)
    if tools is None and callable(thing) and not isinstance(thing, type):
        return [make(thing)]
    if tools is None:
        message = f"expected a function or a tool, got {_describe(thing)}"
        raise TypeError(message)
    if not tools:
        message = f"expected at least one tool, got an empty {_name(type(thing))}"
        raise SchemaError(message)
    return tools


def _find_converter(thing: object) -> Callable[[object], _Tools | None] | None:
    # By the bases too: people derive their own tools from a framework's class.
    for cls in type(thing).__mro__:
        name = str(cls.__module__)
        for package, converter in _CONVERTERS.items():
            if name == package or name.startswith(f"{package}."):
                return cast("Callable[[object], _Tools | None]", import_module(converter).import_tools)
    return None


def _describe(thing: object) -> str:
    """Return what a thing is, and what to pass instead."""
    if isinstance(thing, type):
        return f"the class {_name(thing)}: pass one of its objects, or tools_from({_name(thing)}(...)) for its methods"
    name = _name(type(thing))
    if isinstance(thing, str):
        return f"{name}: pass the function itself, without quotes"
    if isinstance(thing, Mapping):
        return f"{name}: make a tool of a schema and its function with Tool.from_schema(...)"
    if thing is None:
        name = "None"
    if isinstance(thing, ModuleType):
        return f"{name}: pass its functions, as in [{thing.__name__}.find]"
    if type(thing).__module__ == "builtins":  # what a call returns, such as a number or a coroutine
        return f"{name}: pass the function itself, without calling it"
    return f"{name}: pass a function that uses it, or tools_from(...) for its methods"


def _name(cls: type) -> str:
    return safe_line(cls.__name__, _MAX_NAME_LENGTH)


@explain_calls(checks="exclude:str")
def tools_from(
    thing: object, *, include: Collection[str] | None = None, exclude: Collection[str] = (), category: str | None = None
) -> list[Tool[..., Any]]:
    """Make tools of an object's public methods, with their names and docstrings.

    A method is public unless its name begins with an underscore. Inherited, static and class methods are included;
    properties and other attributes are not, and are never read. Methods come in the order of the class, base classes
    first. One that is a tool already, such as a static method with `@ez_tool`, stays as it is.

    Args:
        thing: The object to bind the methods to.
        include: The methods to include; by default, all public ones.
        exclude: The methods to leave out.
        category: The tools' category.

    Raises:
        SchemaError: A method cannot be a tool, or `thing` is a class instead of an object.
        LookupError: `include` or `exclude` names an unknown method.
    """
    if isinstance(thing, type):
        message = f"tools_from takes an object, got the class {thing.__name__}: make one, as in {thing.__name__}(...)"
        raise SchemaError(message)
    # Of the type, so that no property of the object is computed.
    cls = type(thing)
    names: list[str] = []
    for name in dict.fromkeys(name for base in reversed(cls.__mro__[:-1]) for name in vars(base)):
        attribute = inspect.getattr_static(cls, name)
        # `inspect` takes a `cached_property` for a routine, but reading it would compute it.
        is_method = isinstance(attribute, (*_METHOD_TYPES, Tool)) or (
            inspect.isroutine(attribute) and callable(attribute)
        )
        if is_method and not name.startswith("_"):
            names.append(name)
    for name in (*(include or ()), *exclude):
        if name not in names:
            message = unknown_tool_text(name, names).replace("tool", "public method", 1)
            raise LookupError(message)
    selected = [name for name in names if (include is None or name in include) and name not in exclude]
    if not selected:
        message = f"{cls.__name__} has no public methods to make tools of"
        raise SchemaError(message)
    methods: list[tuple[str, Any]] = [(name, getattr(thing, name)) for name in selected]
    return [
        method if isinstance(method, Tool) else ez_tool(name=name, category=category)(method)
        for name, method in methods
    ]
