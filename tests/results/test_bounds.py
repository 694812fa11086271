"""One bound for every text that a model reads."""

from collections.abc import Callable

import pytest

from ez_ptc.results.bounds import bounded_error, bounded_text, bounded_value


class Kept:
    def __init__(self) -> None:
        self.values: list[tuple[object, str]] = []

    def keep(self, value: object, *, source: str) -> str | None:
        self.values.append((value, source))
        return f"r{len(self.values)}"


@pytest.mark.parametrize("bound", [bounded_text, bounded_error, bounded_value])
def test_short_text_is_returned_as_it_is(bound: Callable[..., str]) -> None:
    assert bound("a\nb", 3, source="tool") == "a\nb"


@pytest.mark.parametrize("bound", [bounded_text, bounded_error, bounded_value])
@pytest.mark.parametrize("max_length", [1, 10, 40, 100, 1_000])
def test_long_text_is_cut_to_the_bound(bound: Callable[..., str], max_length: int) -> None:
    assert 0 < len(bound("0123456789\n" * 10_000, max_length, source="tool", keeper=Kept())) <= max_length


def test_cut_text_names_what_is_kept() -> None:
    kept = Kept()
    text = "line\n" * 1_000

    assert 'results["r1"]' in bounded_text(text, 500, source="find", keeper=kept)
    assert kept.values == [(text, "find")]
