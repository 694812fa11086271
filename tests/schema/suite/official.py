"""The cases of the official JSON-Schema-Test-Suite, as parameters of tools."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

__all__ = ["DRAFTS", "Case", "cases"]

DRAFTS: Final[Mapping[str, str]] = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
_OLD: Final = ("draft4", "draft6", "draft7")


@dataclass(frozen=True, slots=True)
class Case:
    """One instance of the suite, and whether it is valid."""

    draft: str
    keyword: str
    title: str
    schema: Any
    instance: Any
    is_valid: bool

    def as_property(self) -> dict[str, Any]:
        """Return the parameters of a tool with the schema as that of its argument `value`."""
        schema: object = self.schema
        if isinstance(schema, dict):
            name = "id" if self.draft == "draft4" else "$id"
            fields = cast("dict[str, Any]", schema)
            if self.draft in _OLD and "$ref" in fields:
                schema = _moved(fields)
            elif name not in fields:
                schema = {name: "https://suite.example/schema.json", **fields}
        parameters: dict[str, Any] = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
        return {"$schema": DRAFTS[self.draft], **parameters}

    def as_root(self) -> dict[str, Any] | bool:
        """Return the schema itself, with its draft."""
        schema: object = self.schema
        if isinstance(schema, dict):
            return {"$schema": DRAFTS[self.draft], **cast("dict[str, Any]", schema)}
        return bool(self.schema)


def cases(suite: Path) -> Iterator[Case]:
    """Yield all cases of a copy of the suite."""
    for draft in DRAFTS:
        folder = suite / "tests" / draft
        for path in sorted(folder.rglob("*.json")):
            for group in json.loads(path.read_text("utf-8")):
                for test in group["tests"]:
                    keyword = path.relative_to(folder).with_suffix("").as_posix()
                    title = f"{group['description']}: {test['description']}"
                    yield Case(draft, keyword, title, group["schema"], test["data"], test["valid"])


def _moved(part: object) -> object:
    """Return a schema whose references into itself lead to where it is a property."""
    if isinstance(part, list):
        return [_moved(item) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    moved: dict[str, object] = {}
    for key, value in cast("dict[str, object]", part).items():
        is_own = key == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/"))
        moved[key] = f"#/properties/value{str(value)[1:]}" if is_own else _moved(value)
    return moved
