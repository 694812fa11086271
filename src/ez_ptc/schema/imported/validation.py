"""Checking values by a given JSON Schema, which is compiled on first use."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ez_ptc.schema.imported.applications import MULTIPLYING, Applications
from ez_ptc.schema.imported.costs import MAX_CHECKS, has_keyword
from ez_ptc.schema.imported.large_patterns import PATTERNS, PatternSteps, without_patterns
from ez_ptc.schema.safe_repr import safe_line, safe_repr
from ez_ptc.schema.standard.form import standard_form

if TYPE_CHECKING:
    import jsonschema_rs

    from ez_ptc.schema.imported.failures import Failure, Failures

__all__ = ["SchemaValidation"]

_Checks: TypeAlias = "tuple[jsonschema_rs.Validator, Failures]"

# In these drafts, the keywords below mean the same.
_DRAFTS: Final = frozenset({"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"})
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_MAX_NUMBER: Final = 2**53


class SchemaValidation:
    """The checks by one JSON Schema.

    Of a server's thousand tools, few are called; compiling all of their schemas would take half of their memory. An
    invalid schema is refused at once all the same: one that is not evidently valid is compiled to find out.
    """

    __slots__ = (
        "_applications",
        "_compiled",
        "_for_long_texts",
        "_judged",
        "_pattern_steps",
        "_schema",
        "_subject",
        "_tool",
    )

    def __init__(self, tool: str, schema: Mapping[str, Any], subject: str) -> None:
        """Check a schema, which must not change. Raises SchemaError with a sentence that begins with `subject`."""
        self._tool = tool
        self._schema = schema
        self._subject = subject
        self._compiled: _Checks | None = None
        self._for_long_texts: _Checks | None = None
        self._pattern_steps: PatternSteps | None = None
        self._applications: Applications | None = None
        # The value that `is_valid` has just refused, and whether its check takes long: to explain it asks again.
        self._judged: tuple[object, bool] | None = None
        if not _is_evidently_valid(schema):
            self._compile()

    @property
    def is_compiled(self) -> bool:
        """Whether a check takes no time for compiling."""
        return self._compiled is not None

    def is_valid(self, value: object) -> bool:
        """Return whether a value fits the schema; False if a check would take long."""
        takes_long = self.takes_long(value)
        is_valid = False
        if not takes_long:
            checks = self._compiled
            if checks is None or self._pattern_steps is not None:
                checks = self._checks_of(value)
            is_valid = checks[0].is_valid(value)
        if not is_valid:
            self._judged = (value, takes_long)
        return is_valid

    def takes_long(self, value: object) -> bool:
        """Return whether a check would apply too many schemas, because they multiply at each level of the value."""
        judged, self._judged = self._judged, None
        if judged is not None and judged[0] is value:
            return judged[1]
        if self._compiled is None:
            self._compile()
        return self._applications is not None and self._applications.exceed(value, MAX_CHECKS)

    def failures(self, value: object, most: int) -> "Iterator[Failure]":
        """Yield the first failures of an invalid value; none if that takes long."""
        if self.takes_long(value):
            return iter(())
        return self._checks_of(value)[1].of(value, most)

    def find_problem(self, value: object) -> str | None:
        """Return the first problem of a value as a line, or None if it fits."""
        if self.takes_long(value):
            return "too many schemas apply to it"
        if self.is_valid(value):
            return None
        for failure in self.failures(value, 1):
            path = ".".join(map(str, failure.path))
            problem = failure.message or "it is refused by its schema"
            return safe_line(safe_line(f"{problem} (at {safe_repr(path)})" if path else problem))
        return "it is refused by its schema"

    def _checks_of(self, value: object) -> "_Checks":
        """Return the validator for a value, and what explains its failures: without patterns taking long with it."""
        checks = self._compiled or self._compile()
        if self._pattern_steps is None or not self._pattern_steps.exceed(value):
            return checks
        if self._for_long_texts is None:
            self._for_long_texts = self._checks(without_patterns(self._form()))
        return self._for_long_texts

    def _compile(self) -> "_Checks":
        form = self._form()
        self._compiled = compiled = self._checks(form)
        if has_keyword(form, MULTIPLYING):
            self._applications = Applications(form)
        if has_keyword(form, PATTERNS):
            self._pattern_steps = PatternSteps(form)
        return compiled

    def _form(self) -> dict[str, Any]:
        return standard_form(self._tool, self._schema, for_checks=True)

    def _checks(self, form: dict[str, Any]) -> "_Checks":
        from ez_ptc.schema.imported.compiling import compile_form
        from ez_ptc.schema.imported.failures import Failures

        validator, compiler = compile_form(self._tool, form, self._subject)
        return validator, Failures(form, compiler)


def _is_evidently_valid(schema: object) -> bool:
    """Return whether a schema is valid beyond doubt: it has only common keywords, with values that they may have."""
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    fields = cast("dict[object, object]", schema)
    return all(key in _FORMS and _FORMS[key](value) for key, value in fields.items())


def _is_plain(value: object) -> bool:
    """Return whether a value is one of JSON's without inner ones, that any parser takes."""
    if type(value) is str:
        # Half of a surrogate pair cannot be encoded.
        return value.isascii() or value.encode(errors="replace").decode() == value
    return value is None or type(value) is bool or _is_number(value)


def _is_text(value: object) -> bool:
    return type(value) is str and _is_plain(value)


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and -_MAX_NUMBER < cast("float", value) < _MAX_NUMBER


def _are(test: Callable[[Any], bool], values: object, *, least: int = 0) -> bool:
    """Return whether values are a list of at least so many that pass a test."""
    return isinstance(values, list) and len(items := cast("list[object]", values)) >= least and all(map(test, items))


def _are_different_texts(values: Any, *, least: int = 0) -> bool:  # noqa: ANN401 - any value of JSON's
    return _are(_is_text, values, least=least) and len(set(values)) == len(values)


_FORMS: Final[Mapping[object, Callable[[Any], bool]]] = {
    **dict.fromkeys(("title", "description", "format"), _is_text),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), lambda value: type(value) is bool),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems"),
        lambda value: type(value) is int and 0 <= value < _MAX_NUMBER,
    ),
    **dict.fromkeys(("items", "additionalProperties"), _is_evidently_valid),
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), lambda value: _are(_is_evidently_valid, value, least=1)),
    **dict.fromkeys(("default", "const"), lambda value: _is_plain(value) or value in ([], {})),
    "enum": lambda value: _are(_is_plain, value),
    "required": _are_different_texts,
    "type": lambda value: (
        (_is_text(value) and value in _TYPES) or (_are_different_texts(value, least=1) and _TYPES.issuperset(value))
    ),
    "properties": lambda value: (
        isinstance(value, dict)
        and _are(_is_text, list(cast("dict[object, object]", value)))
        and _are(_is_evidently_valid, list(cast("dict[object, object]", value).values()))
    ),
    "$schema": lambda value: _is_text(value) and value in _DRAFTS,
}
