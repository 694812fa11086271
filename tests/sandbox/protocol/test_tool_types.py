"""Python source is parsed on the host without warnings, whatever other threads parse at the same time."""

from __future__ import annotations

import ast
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ez_ptc.sandbox.protocol.tool_types import parse_source

_UNKNOWN_ESCAPE = r"print('\d')"


@pytest.fixture
def quick_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("quick_switches")
def test_parsing_in_threads_leaves_the_filters_of_warnings() -> None:
    barrier = threading.Barrier(4)

    def parse(_: int) -> None:
        barrier.wait(60)
        for _ in range(50):
            # Long enough for another thread to take its turn before the filters are restored.
            assert isinstance(parse_source("x = 1\n" * 500 + _UNKNOWN_ESCAPE), ast.Module)

    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(parse, range(4)))
    assert list(warnings.filters) == before


def test_parser_gives_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(parse_source(f"({_UNKNOWN_ESCAPE})", "eval"), ast.Expression)
    with pytest.raises(SyntaxError):
        parse_source("print(")
