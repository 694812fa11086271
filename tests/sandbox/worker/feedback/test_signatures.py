"""Tools' signatures, parsed for checking programs."""

import pytest

from ez_ptc.sandbox.worker.feedback.signatures import UNKNOWN, Shapes, read_shape


@pytest.mark.parametrize("annotation", ["tuple[()]", "list[()]", "dict[()]", "Literal[()]", "Unheard[()]"])
def test_empty_type_arguments_have_no_known_type(annotation: str) -> None:
    shape = read_shape("find", (f"find(it: {annotation}) -> {annotation}", "", False))
    assert shape is not None
    assert shape.returns == UNKNOWN


def test_few_of_many_tools_are_read_for_a_key() -> None:
    shapes = Shapes({f"get_{n}": (f"get_{n}() -> T{n}", "{name: str}", True) for n in range(300)})
    assert len(list(shapes.returning("name"))) == 30
    assert len(list(shapes.mentioning("T299"))) == 1
    assert [shape.tool for shape in shapes.named("get_7".__eq__)] == ["get_7"]
