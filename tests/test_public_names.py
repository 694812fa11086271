"""The front door: which names there are, and what they cost."""

import ast
import importlib
import inspect
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import ez_ptc
from ez_ptc import errors

PUBLIC_NAMES: list[str] = vars(ez_ptc)["__all__"]
HEAVY = ("pydantic", "anyio", "asyncio", "docstring_parser", "inspect", "subprocess", "json")


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_every_listed_name_can_be_had(name: str) -> None:
    assert getattr(ez_ptc, name) is not None


def test_every_error_is_listed() -> None:
    defined = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}

    assert defined <= set(PUBLIC_NAMES)


def test_type_checkers_and_runtime_see_equal_names() -> None:
    tree = ast.parse(Path(ez_ptc.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    imported = {
        (node.module, alias.name)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert {name for _, name in imported} == set(PUBLIC_NAMES) - {"__version__"}
    for home, name in imported:
        assert home is not None
        assert getattr(importlib.import_module(home), name) is getattr(ez_ptc, name)


def test_a_star_import_brings_every_listed_name() -> None:
    namespace: dict[str, object] = {}
    exec("from ez_ptc import *", namespace)

    assert set(PUBLIC_NAMES) <= set(namespace)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'ez_ptc' has no attribute 'Toolbox'"):
        _ = getattr(ez_ptc, "Toolbox")  # noqa: B009 - a type checker would refuse the plain form


def test_dir_shows_the_names_that_are_not_resolved_yet() -> None:
    assert set(PUBLIC_NAMES) <= set(dir(ez_ptc))


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = f"import sys, ez_ptc; print(sorted(set({HEAVY}) & set(sys.modules)))"
    finished = subprocess.run(
        [sys.executable, "-S", "-c", program], env=_only_the_source(), capture_output=True, text=True, check=True
    )

    assert finished.stdout.strip() == "[]"


def _only_the_source() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(ez_ptc.__file__).parent.parent)}


@pytest.mark.parametrize(
    "name",
    [
        "ApprovalNeeded",
        "CallEnded",
        "CallProgress",
        "CallStarted",
        "ExecutionResult",
        "HistoryRecord",
        "Limits",
        "OutputDelta",
        "PendingCall",
        "Price",
        "ProgramEnded",
        "Run",
        "ToolCall",
        "ToolResult",
        "Usage",
    ],
)
def test_type_hints_of_data_can_be_resolved(name: str) -> None:
    assert typing.get_type_hints(getattr(ez_ptc, name))


@pytest.mark.parametrize("name", ["ToolError", "ToolCall", "Tool", "ez_tool"])
def test_public_name_has_package_as_module(name: str) -> None:
    assert getattr(ez_ptc, name).__module__ == "ez_ptc"
