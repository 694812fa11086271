"""Compiling the standard form of a given JSON Schema."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import jsonschema_rs

from ez_ptc.errors import SchemaError
from ez_ptc.schema.imported.costs import has_keyword
from ez_ptc.schema.safe_repr import safe_line, safe_repr
from ez_ptc.schema.standard.unions import OWN_RULES, OwnRules

__all__ = ["WHOLE", "Compiler", "compile_form"]

WHOLE: Final = "urn:ez-ptc:whole"
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_RULES: Final = "urn:ez-ptc:rules:"
# The first takes linear time. Patterns it does not support go to the other, with limited steps per character.
_ENGINES: Final = (jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions(backtrack_limit=200))
_Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compiler:
    """Compiles validators of schemas in the standard form, with one engine for regular expressions; fetches nothing."""

    engine: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions

    def validator(self, form: _Schema) -> jsonschema_rs.Validator:
        """Return the validator of a schema. Raises ValueError for an invalid schema."""
        rules = _Rules()
        return self._compile(rules.extract_rules(form), rules.registry())

    def registry(self, form: _Schema) -> jsonschema_rs.Registry:
        """Return the registry that finds the parts of a schema."""
        rules = _Rules()
        return rules.registry({WHOLE: {"$schema": _DRAFT, **rules.extract_rules(form)}})

    def part(self, registry: jsonschema_rs.Registry, reference: str) -> jsonschema_rs.Validator:
        """Return the validator of the part that a reference leads to. Raises ValueError if there is none."""
        return self._compile({"$ref": reference}, registry)

    def _compile(self, schema: _Schema, registry: jsonschema_rs.Registry) -> jsonschema_rs.Validator:
        return jsonschema_rs.Draft202012Validator(
            cast("dict[str, Any]", schema), mask="it", offline=True, pattern_options=self.engine, registry=registry
        )


class _Rules:
    """The rules of other drafts in a form, each as a schema of its own, with an address and a draft."""

    def __init__(self) -> None:
        self._addresses: dict[str, str] = {}

    def extract_rules(self, form: _Schema) -> dict[str, Any]:
        """Return a form with references to its rules in their place."""
        if not has_keyword(form, frozenset({OWN_RULES})):
            return dict(form)
        return cast("dict[str, Any]", self._extract(form))

    def registry(self, schemas: Mapping[str, _Schema] | None = None) -> jsonschema_rs.Registry:
        """Return the registry of the rules found so far, and of further schemas by address."""
        rules = [(address, json.loads(text)) for text, address in self._addresses.items()]
        return jsonschema_rs.Registry([*rules, *cast("Mapping[str, Any]", schemas or {}).items()])

    def _extract(self, part: object) -> object:
        if isinstance(part, list):
            return [self._extract(item) for item in cast("list[object]", part)]
        if not isinstance(part, Mapping):
            return part
        fields = cast("Mapping[str, Any]", part)
        rules = fields.get(OWN_RULES)
        moved = {key: self._extract(value) for key, value in fields.items() if not isinstance(value, OwnRules)}
        if isinstance(rules, OwnRules):
            text = json.dumps(rules, sort_keys=True)
            address = self._addresses.setdefault(text, f"{_RULES}{len(self._addresses)}")
            moved["allOf"] = [*cast("list[object]", moved.get("allOf", [])), {"$ref": address}]
        return moved


def compile_form(tool: str, form: _Schema, subject: str) -> tuple[jsonschema_rs.Validator, Compiler]:
    """Return the validator of a schema in the standard form, and the compiler of its parts.

    Raises SchemaError for an invalid schema, with a sentence that begins with `subject`.
    """
    refusal: ValueError | None = None
    for engine in _ENGINES:
        compiler = Compiler(engine)
        try:
            return compiler.validator(form), compiler
        except ValueError as error:  # a ValidationError is one too
            refusal = refusal or error
    reason = str(refusal)
    if isinstance(refusal, jsonschema_rs.ValidationError):
        path = ".".join(str(step) for step in refusal.instance_path)
        reason = f"{refusal.message} (at {safe_repr(path)})" if path else refusal.message
    # Written out, invisible characters make a line longer again.
    message = f"{tool}: {subject} not a valid JSON Schema: {safe_line(safe_line(reason))}"
    raise SchemaError(message) from refusal
