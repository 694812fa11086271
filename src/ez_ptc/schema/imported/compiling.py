"""Compiling a given JSON Schema, of any draft."""

from collections.abc import Mapping
from typing import Any, Final, cast

import jsonschema_rs

from ez_ptc.errors import SchemaError
from ez_ptc.schema.imported.costs import has_keyword
from ez_ptc.schema.imported.failures import Compiler, Failures
from ez_ptc.schema.safe_repr import safe_line, safe_repr

__all__ = ["compile_schema"]

_NULLABLE: Final = frozenset({"nullable"})
_VALUES: Final = frozenset({"default", "enum", "const", "example", "examples"})
# Keywords with schemas by name, in which `default` is a property's name.
_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
# Older drafts, for schemas that do not name theirs and are invalid in the newest.
_DRAFTS: Final = (
    (jsonschema_rs.Draft202012Validator, "https://json-schema.org/draft/2020-12/schema"),
    (jsonschema_rs.Draft7Validator, "http://json-schema.org/draft-07/schema#"),
    (jsonschema_rs.Draft4Validator, "http://json-schema.org/draft-04/schema#"),
)
# The first takes linear time. Patterns it does not support go to the other, with limited steps per character.
_ENGINES: Final = (jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions(backtrack_limit=200))


def compile_schema(tool: str, parameters: Mapping[str, Any], subject: str) -> tuple[jsonschema_rs.Validator, Failures]:
    """Return the validator of a schema, and the search for its failures.

    It may be of any draft, with OpenAPI's `nullable`; the default is draft 2020-12. Raises SchemaError for an invalid
    schema, with a sentence that begins with `subject`.
    """
    schema = _without_nullable(parameters) if has_keyword(parameters, _NULLABLE) else dict(parameters)
    drafts = _DRAFTS
    if "$schema" in schema:
        drafts = [(jsonschema_rs.validator_cls_for(schema), "")]
    refusal: ValueError | None = None
    for draft, uri in drafts:
        for engine in _ENGINES:
            compiler = Compiler(draft, uri, engine)
            try:
                return compiler.validator(schema), Failures(schema, compiler)
            except ValueError as error:  # a ValidationError is one too
                refusal = refusal or error
    reason = str(refusal)
    if isinstance(refusal, jsonschema_rs.ValidationError):
        path = ".".join(str(step) for step in refusal.instance_path)
        reason = f"{refusal.message} (at {safe_repr(path)})" if path else refusal.message
    # Written out, invisible characters make a line longer again.
    message = f"{tool}: {subject} not a valid JSON Schema: {safe_line(safe_line(reason))}"
    raise SchemaError(message) from refusal


def _without_nullable(part: object, within: str = "") -> Any:  # noqa: ANN401 - any part of a schema
    """Return a schema, or a keyword's value, with OpenAPI's `nullable` converted to JSON Schema."""
    if isinstance(part, list):
        return [_without_nullable(item) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    fields = cast("dict[str, object]", part)
    if within in _NAMED:
        return {name: _without_nullable(field) for name, field in fields.items()}
    changed = {key: field if key in _VALUES else _without_nullable(field, key) for key, field in fields.items()}
    if changed.get("nullable") is True and isinstance(changed.get("type"), str):
        del changed["nullable"]
        return {"anyOf": [changed, {"type": "null"}]}
    return changed
