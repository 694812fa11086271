"""The tests of a framework run in an environment of its own: `make test-integrations`. All others leave them out."""

import os

import pytest

FRAMEWORK = os.environ.get("EZ_PTC_INTEGRATION", "")


def pytest_configure(config: pytest.Config) -> None:
    """Let frameworks warn of what they use, and of what their users do: newer packages deprecate what they need."""
    if FRAMEWORK:
        config.addinivalue_line("filterwarnings", "default")
        # Ours are errors here too: those at the caller's line, and those of a module of ours.
        config.addinivalue_line("filterwarnings", r"error::UserWarning:tests\.integrations")
        config.addinivalue_line("filterwarnings", r"error:::ez_ptc")
        # A framework says once, at the line of its caller's caller, that a feature of its own is new.
        config.addinivalue_line("filterwarnings", r"default:\[EXPERIMENTAL\] feature:UserWarning")


def pytest_ignore_collect(collection_path: os.PathLike[str]) -> bool | None:
    """Leave out the tests of frameworks that are not installed here."""
    name = os.path.basename(collection_path)  # noqa: PTH119 - nothing of it is read
    return name != f"test_{FRAMEWORK.replace('-', '_')}.py" if name.startswith("test_") else None


def pytest_report_header() -> str:
    """Say what is left out."""
    return f"framework: {FRAMEWORK or 'none (`make test-integrations` runs the tests of all)'}"


@pytest.fixture
def anyio_backend() -> str:
    """The event loop of the frameworks."""
    return "asyncio"
