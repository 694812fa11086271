"""Importing a framework: which versions are supported, and what an unsupported one is told."""

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import MissingExtraError, Toolkit, ez_tool
from ez_ptc._extras import require_package
from ez_ptc.integrations.frameworks import SMALLEST_VERSIONS, import_framework

ROOT = Path(__file__).parents[2]


def test_absent_framework_error_has_install_command() -> None:
    with pytest.raises(MissingExtraError, match=r'smolagents is not installed.* pip install "smolagents>=1\.23\.0"'):
        import_framework("smolagents", package="smolagents")


def test_old_framework_error_names_both_versions() -> None:
    with pytest.raises(MissingExtraError, match=r'expected pytest >= 99\.1, got \d.* pip install "pytest>=99\.1"'):
        require_package("pytest", version="99.1")


def test_supported_framework_passes() -> None:
    require_package("pytest", version="8")


def test_documentation_names_smallest_versions() -> None:
    pages = (ROOT / "docs" / "frameworks").glob("*.md")
    heads = [page.read_text("utf-8").partition("\n\n")[2].partition("\n\n")[0] for page in pages]
    named = [pair for head in heads if " or newer" in head for pair in re.findall(r"`([\w-]+)` (\d[\d.]*\d)", head)]
    assert dict(named) == SMALLEST_VERSIONS


def test_each_documentation_page_begins_with_its_installation() -> None:
    pages = (ROOT / "docs" / "frameworks").glob("*.md")
    commands = re.findall(
        r"^    pip install (.*)  # PATH", "".join(page.read_text("utf-8") for page in pages), re.MULTILINE
    )
    assert dict(re.findall(r'"([\w-]+)>=([\d.]+)"', " ".join(commands))) == SMALLEST_VERSIONS


def test_integration_tests_run_smallest_versions() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    lines = re.findall(r"^\$\(STAMPS\)/integration-([\w-]+)-smallest: PACKAGES := (.*)$", makefile, re.MULTILINE)
    pinned = [pair for _, packages in lines for pair in re.findall(r"([\w-]+)==([\d.]+)", packages)]
    frameworks = re.findall(r"^INTEGRATIONS := (.*)$", makefile, re.MULTILINE)
    assert dict(pinned) == SMALLEST_VERSIONS
    assert sorted(name for name, _ in lines) == sorted(frameworks[0].split())


@pytest.mark.parametrize("module", ["pydantic_ai", "pydantic_ai.toolsets.function"])
def test_subclass_of_absent_frameworks_tool_is_refused(module: str) -> None:
    base = type("Foreign", (), {"__module__": module})
    own = type("Own", (base,), {})
    with pytest.raises(MissingExtraError, match="pydantic-ai-slim is not installed"):
        Toolkit([own()])


def test_no_framework_is_imported_for_functions() -> None:
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    with Toolkit([double]):
        pass
    assert "ez_ptc.integrations.pydantic_ai" not in sys.modules


def test_toolkit_passed_as_a_tool_says_what_to_pass() -> None:
    reads: list[Callable[[Any], object]] = [
        lambda toolkit: toolkit("1 + 1"),
        inspect.signature,
        lambda toolkit: inspect.signature(toolkit.__call__),
        lambda toolkit: Toolkit([toolkit]),
        ez_tool,
    ]
    with Toolkit([len]) as toolkit:
        for read in reads:
            with pytest.raises(TypeError, match=r"got a Toolkit: .*export_tools\(toolkit\)"):
                read(toolkit)
    assert "preamble" in inspect.signature(Toolkit).parameters
