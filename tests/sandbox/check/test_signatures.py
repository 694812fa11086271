"""Tools' types: the host reads them from signatures, and the check of programs from the host's text."""

import pytest

from ez_ptc.sandbox.check.signatures import Shapes
from ez_ptc.sandbox.protocol.both_ends.types import INT, STR, UNKNOWN
from ez_ptc.sandbox.protocol.tool_types import describe_types


def shapes_of(*tools: tuple[str, str]) -> Shapes:
    names = [signature.partition("(")[0] for signature, _ in tools]
    described = zip(names, tools, strict=True)
    return Shapes({name: (tool[0], describe_types(name, *tool), True) for name, tool in described})


@pytest.mark.parametrize("annotation", ["tuple[()]", "list[()]", "dict[()]", "Literal[()]", "Unheard[()]"])
def test_empty_type_arguments_have_no_known_type(annotation: str) -> None:
    shape = shapes_of((f"find(it: {annotation}) -> {annotation}", ""))["find"]
    assert shape.returns == UNKNOWN


def test_signature_keeps_its_types_on_the_wire() -> None:
    signature = (
        "find(a: int, /, kind: Literal['x`\"\\\\', 'y'] | None = None, *rest: str, only: list[str], **more: int)"
    )
    shape = shapes_of((f"{signature} -> list[Order]", "list[{n: int, owner?: {'`a': str} | None}]"))["find"]
    assert [(item.name, item.is_required) for item in shape.positional] == [("a", True), ("kind", False)]
    assert list(shape.named) == ["kind", "only"]
    assert (shape.takes_more, shape.takes_any_name, shape.named["only"].is_required) == (True, True, True)
    assert shape.named["kind"].type.parts[0].choices == ('x`"\\', "y")
    assert shape.named["only"].type.item == STR
    record = shape.returns.record
    assert (record.tool, record.keys["n"]._replace(tool="")) == ("find", INT)
    assert record.keys["owner"].is_nullable
    assert record.site != shape.returns.site


@pytest.mark.parametrize(
    "signature", ["find(a: int", "find(*) -> int", "search(a: int)", "find(a: int) -> " + "[" * 500]
)
def test_tool_without_a_plain_signature_has_no_shape(signature: str) -> None:
    assert describe_types("find", signature, "") == ""
    assert "find" not in Shapes({"find": (signature, "", True)})


def test_choice_of_a_foreign_type_is_no_type() -> None:
    assert shapes_of(("find(a: Literal[b'x', 'y']) -> int", ""))["find"].named["a"].type == UNKNOWN


def test_few_of_many_tools_are_read_for_a_key() -> None:
    shapes = shapes_of(*((f"get_{n}() -> T{n}", f"{{name: str, of_{n}: int}}") for n in range(300)))
    assert len(list(shapes.returning("name"))) == 30
    assert len(list(shapes.mentioning("of_299"))) == 1
    assert [shape.tool for shape in shapes.named("get_7".__eq__)] == ["get_7"]
