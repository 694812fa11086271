"""Formats by their names."""

import subprocess
import sys

import pytest

from ez_ptc.formats.catalog import FORMATS, describe_all, format_named
from tests.formats.shapes import Described, an_object


def test_each_format_has_a_module_with_the_same_functions() -> None:
    for name in FORMATS:
        module = format_named(name)
        assert all(callable(getattr(module, function)) for function in ("describe", "calls", "results"))
    assert format_named("openai") is format_named("openai-chat")


def test_unknown_format_lists_known_formats() -> None:
    with pytest.raises(ValueError, match=r"unknown format 'opnai': did you mean 'openai'\?"):
        describe_all([Described("brew", an_object())], "opnai")


def test_a_format_is_imported_when_it_is_asked_for() -> None:
    program = "import sys, ez_ptc.formats.catalog; print([each for each in sys.modules if each.endswith('gemini')])"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert finished.stdout.strip() == "[]"


def test_no_tools_are_an_empty_list() -> None:
    assert describe_all([], "openai") == []
