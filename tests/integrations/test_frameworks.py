"""Importing a framework: which versions are supported, and what an unsupported one is told."""

import sys

import pytest

from ez_ptc import MissingExtraError, Toolkit
from ez_ptc.integrations.frameworks import import_framework


def test_absent_framework_error_has_install_command() -> None:
    with pytest.raises(MissingExtraError, match=r'nothing-such is not installed.* pip install "nothing-such>=2"'):
        import_framework("nothing_such", package="nothing-such", version="2")


def test_old_framework_error_names_both_versions() -> None:
    with pytest.raises(MissingExtraError, match=r'expected pytest >= 99\.1, got \d.* pip install "pytest>=99\.1"'):
        import_framework("pytest", package="pytest", version="99.1")


def test_supported_framework_is_imported() -> None:
    assert import_framework("pytest", package="pytest", version="8") is pytest


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
