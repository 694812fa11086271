"""Secret arguments: how a schema marks them, and how they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["MASK", "SecretArguments", "Sensitive", "has_mask"]

MASK: Final = "**********"
"""Stands for a secret wherever it is shown; pydantic writes the same."""

_BRANCHES: Final = frozenset({"anyOf", "oneOf", "allOf"})


class Sensitive:
    """Marks a parameter, or a field of a record, as secret.

    People who approve the call see a mask, and journals hold a keyed digest: `password: Annotated[str, Sensitive]`.
    Parameters of pydantic's `SecretStr` and `SecretBytes` need no mark.
    """

    @staticmethod
    def __get_pydantic_json_schema__(core_schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:  # noqa: ANN401 - pydantic's protocol
        """Return the schema of the type, marked as writeOnly."""
        return {**handler(core_schema), "writeOnly": True}


class SecretArguments:
    """The secret parameters of one tool, by its schema.

    Secret is what the schema marks with `writeOnly` or the format `password`, and a parameter that contains it. An
    argument without a schema of its own is secret if anything of the tool is.
    """

    def __init__(self, parameters: Mapping[str, Any], properties: Mapping[str, Any]) -> None:
        """Take a tool's schema, and the schema of each parameter; they are read on first use."""
        self._root: Final = parameters
        self._properties: Final = properties

    @lazy
    def _names(self) -> frozenset[str]:
        return frozenset(name for name, schema in self._properties.items() if self._is_marked(schema))

    @lazy
    def has_any(self) -> bool:
        """Whether the tool has a secret parameter."""
        return bool(self._names) or self._is_marked(self._root)

    def is_secret(self, name: str) -> bool:
        """Return whether an argument is secret."""
        return self.has_any and (name in self._names or name not in self._properties)

    def mask(self, name: str, value: object) -> object:
        """Return an argument as JSON with masks in place of what is secret in it."""
        if name in self._properties:
            return self._mask(self._properties[name], value)
        return MASK if self.has_any else value

    def _mask(self, schema: Any, value: Any) -> object:  # noqa: ANN401 - of JSON
        if value is None or not self._is_marked(schema):
            return value
        marked = {key for key, part in schema.items() if self._is_marked({key: part})}
        if marked == {"$ref"}:
            return self._mask(self._resolve(schema["$ref"]), value)
        if marked == {"items"} and isinstance(value, list):
            return [self._mask(schema["items"], item) for item in cast("list[object]", value)]
        if marked == {"properties"} and isinstance(value, dict):
            fields, known = cast("dict[str, object]", value), schema["properties"]
            return {key: self._mask(known[key], item) if key in known else MASK for key, item in fields.items()}
        if marked <= _BRANCHES:
            for branch in (branch for key in marked for branch in schema[key]):
                value = self._mask(branch, value)
            return value
        return MASK

    def _is_marked(self, schema: object) -> bool:
        """Return whether anything in a schema is secret, wherever it refers to."""
        unread, references = [schema], set[str]()
        while unread:
            part = unread.pop()
            if isinstance(part, list):
                unread += cast("list[object]", part)
            elif isinstance(part, dict):
                fields = cast("dict[str, object]", part)
                if fields.get("writeOnly") is True or fields.get("format") == "password":
                    return True
                reference = fields.get("$ref")
                if isinstance(reference, str) and reference not in references:
                    references.add(reference)
                    unread.append(self._resolve(reference))
                unread += fields.values()
        return False

    def _resolve(self, reference: str) -> object:
        """Return the part of the schema that a reference names, or all of it."""
        part: Any = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            key = name.replace("~1", "/").replace("~0", "~")
            if not isinstance(part, dict) or key not in part:
                return self._root
            part = cast("dict[str, object]", part)[key]
        return part


def has_mask(value: object) -> bool:
    """Return whether a mask is in a value of JSON."""
    if isinstance(value, dict):
        return any(map(has_mask, cast("dict[str, object]", value).values()))
    if isinstance(value, list):
        return any(map(has_mask, cast("list[object]", value)))
    return value == MASK
