"""`toolkit.stubs()` tells type checkers and editors of the tools in saved programs."""

import ast
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest

from ez_ptc import Tool, Toolkit, ez_tool


class Size(TypedDict):
    width: float
    height: float


class Box(TypedDict):
    box_id: str
    items: list[str]
    size: Size


@dataclass
class Owner:
    name: str


class Unusual(TypedDict):
    box_id: str


Odd = TypedDict("Odd", {"class": int, "two words": str})


@ez_tool
def list_boxes(state: Literal["open", "lost"] | None = None) -> list[Box]:
    """List boxes.

    Of one state, or of all.
    """
    return []


@ez_tool
async def find_owner(box_id: str, *, fast: bool = False) -> Owner | None:
    """Find an owner."""
    return None


@ez_tool
def get_odd(limits: dict[str, int], unusual: Unusual) -> Odd:
    """Get something odd."""
    return {"class": 1, "two words": "a"}


@ez_tool
def count() -> int:
    """Count."""
    return 1


STUBS = Toolkit([list_boxes, find_owner, get_odd, count]).stubs()


def test_stubs_are_python_with_every_tool_and_record() -> None:
    tree = ast.parse(STUBS)
    functions = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    assert functions == ["parallel", "list_boxes", "find_owner", "get_odd", "count"]
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    assert classes == ["ToolError", "Box", "BoxSize", "Owner", "Odd"]
    assert "async def find_owner(box_id: str, *, fast: bool=False) -> Owner | None:" in STUBS
    assert "def list_boxes(state: Literal['open', 'lost'] | None=None) -> list[Box]:" in STUBS
    assert "Unusual = Any" in STUBS


def test_foreign_tool_that_cannot_be_written_takes_anything() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a-b": {"type": "string"}}, "required": ["a-b"]}

    tool = Tool.from_schema("odd", "Take what has no name in Python.", schema, dict[str, Any])
    ast.parse(Toolkit([tool]).stubs())


@pytest.mark.sampled(every=0)
def test_union_of_many_records_has_stubs() -> None:
    records = [{"type": "object", "properties": {f"q{number}": {"type": "string"}}} for number in range(1_000)]
    tool = Tool.from_schema("place", "Place.", {"properties": {"event": {"anyOf": records}}}, dict[str, Any])
    with Toolkit([tool]) as toolkit:
        assert "def place(" in toolkit.stubs()


def test_type_checker_finds_mistakes_of_saved_program(tmp_path: Path) -> None:
    pytest.importorskip("pyright", reason="pyright is not installed")
    (tmp_path / "__builtins__.pyi").write_text(STUBS)
    (tmp_path / "program.py").write_text(
        "for box in list_boxes('open'):\n"
        "    print(box.box_id.upper(), box['size']['width'] + 1, json.dumps(box), box.size.width)\n"
        "    print(box['size'].depth)\n"
        "list_boxes('gone')\n"
        "print(count() + 'a')\n"
    )
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "program.py"]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    errors = {diagnostic["range"]["start"]["line"] for diagnostic in json.loads(answer.stdout)["generalDiagnostics"]}
    assert errors == {2, 3, 4}
