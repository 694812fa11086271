"""Tools' signatures, parsed for checking programs."""

import pytest

from ez_ptc.sandbox.worker.feedback.signatures import UNKNOWN, read_shape


@pytest.mark.parametrize("annotation", ["tuple[()]", "list[()]", "dict[()]", "Literal[()]", "Unheard[()]"])
def test_empty_type_arguments_have_no_known_type(annotation: str) -> None:
    shape = read_shape("find", (f"find(it: {annotation}) -> {annotation}", "", False))
    assert shape is not None
    assert shape.returns == UNKNOWN
