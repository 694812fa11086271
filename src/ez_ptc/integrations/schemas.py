"""Pydantic models for frameworks that take no JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["any_model"]


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
