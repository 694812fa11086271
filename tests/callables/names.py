"""Parameters with names that stand in the way elsewhere, and very many of them."""

from collections.abc import Callable
from typing import Any, Final, cast

from tests.callables.cases import Case

__all__ = ["CASES"]

INTEGER = {"type": "integer"}
NAMES: Final = (
    "self_",
    "name",
    "tool_name",
    "model_config",
    "model_fields",
    "_x",
    "__x",
    "schema",
    "json",
    "copy",
    "dict",
    "validate",
    "construct",
    "args",
    "kwargs",
    "cls",
    "self",
    "function",
    "context",
    "tool",
    "type",
    "id",
    "properties",
    "required",
    "values",
    "items",
    "keys",
    "get",
    "default",
    "fields",
    "description",
    "title",
    "größe",
    "名前",
    "_",
    "x1",
    "Print",
    "return_",
    "p0",
)


def function_of(names: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function with these parameters of whole numbers, which returns them all in a list."""
    namespace: dict[str, Any] = {}
    taken, given = ", ".join(f"{each}: int" for each in names), ", ".join(names)
    exec(f"def take({taken}): return [{given}]", namespace)
    return cast("Callable[..., Any]", namespace["take"])


def case_of(title: str, names: tuple[str, ...]) -> Case:
    function = function_of(names)
    numbers = list(range(len(names)))
    everything = dict(zip(names, numbers, strict=True))
    return Case(
        title,
        function,
        dict.fromkeys(names, INTEGER),
        valid=[(everything, numbers), (dict(reversed(everything.items())), numbers)],
        invalid=[
            ({**everything, names[0]: "many"}, names[0]),
            ({name: each for name, each in everything.items() if name != names[-1]}, names[-1]),
            ({**everything, "surplus": 1}, "surplus"),
        ],
    )


CASES: Final[list[Case]] = [
    *(case_of(f"called {name}", (name,)) for name in NAMES),
    case_of("all those names", NAMES),
    case_of("a hundred parameters", tuple(f"number_{index}" for index in range(100))),
    case_of("a long name", ("a" * 70,)),
]
