"""Real servers and clients from the registries; `make test-mcp` installs them."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = os.environ.get("EZ_PTC_MCP")


@dataclass(frozen=True, slots=True)
class Peers:
    """The programs that `make test-mcp` has installed."""

    folder: Path

    def python(self, program: str) -> str:
        """Return the path of a program of the Python environment."""
        return str(self.folder / "python" / "bin" / program)

    def node(self, package: str, script: str) -> list[str]:
        """Return the command of a script of a package for Node."""
        return [self.python("node"), str(self.folder / "node_modules" / "@modelcontextprotocol" / package / script)]


@pytest.fixture(scope="session")
def peers() -> Peers:
    """Return the real servers and clients."""
    if FOLDER is None:
        pytest.skip("needs servers of the registries: make test-mcp")
    return Peers(Path(FOLDER).resolve())
