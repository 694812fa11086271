"""What the modules of agent frameworks share: importing one of a supported version, and models of arguments."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ez_ptc._extras import require_package

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["any_model", "import_framework"]


def import_framework(module: str, *, package: str, version: str) -> Any:
    """Import a module of a framework.

    Args:
        module: The module.
        package: The name that the framework is installed by.
        version: The first supported version, such as "2.0".

    Raises:
        MissingExtraError: The framework is not installed, or has an earlier version.
    """
    # By its metadata, because an import would load seconds of code only to find that it is too old.
    require_package(package, version=version)
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
