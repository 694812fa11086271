"""What the modules of agent frameworks share: importing one of a supported version, and models of arguments."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._extras import require_package

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

__all__ = ["SMALLEST_VERSIONS", "any_model", "import_framework"]

# By package. `make test-integrations` runs them, as a package index installs them today, and the newest ones.
SMALLEST_VERSIONS: Final[Mapping[str, str]] = {
    "chatlas": "0.21.1",
    "crewai": "1.15.20",
    "dspy": "3.4.0",
    "fastmcp": "4.0.0",
    "google-adk": "2.12.0",
    "langchain": "1.2.11",
    "langchain-core": "1.2.10",
    "langgraph": "1.1.5",
    "litellm": "1.60.0",
    "llama-index-core": "0.14.12",
    "llm": "0.32.1",
    "openai-agents": "0.23.1",
    "pydantic-ai-slim": "2.60.0",
    "smolagents": "1.23.0",
}


def import_framework(module: str, *, package: str) -> Any:
    """Import a module of a framework.

    Args:
        module: The module.
        package: The framework's name at a package index, a key of `SMALLEST_VERSIONS`.

    Raises:
        MissingExtraError: The framework is not installed, or has an earlier version.
    """
    # By its metadata, because an import would load seconds of code only to find that it is too old.
    require_package(package, version=SMALLEST_VERSIONS[package])
    return import_module(module)


def any_model(name: str, schema: dict[str, Any]) -> type[BaseModel]:
    """Return a model that shows `schema`, and accepts any arguments: we check them ourselves, and repair some."""
    from pydantic import BaseModel, ConfigDict

    class Arguments(BaseModel):
        model_config = ConfigDict(extra="allow", title=name)

        @classmethod
        def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
            del args, options
            return schema

    return Arguments
