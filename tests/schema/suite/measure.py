"""What tools make of the official suite: each instance as an argument, and as the arguments."""

import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import jsonschema_rs

from ez_ptc.errors import ArgumentsError, SchemaError
from ez_ptc.formats.catalog import names_for
from ez_ptc.tools.tool import Tool
from tests.schema.suite.official import Case

__all__ = ["FORMATS", "Measure", "accepted_by_description", "described"]

FORMATS: Final = ("openai", "openai-responses", "anthropic", "gemini", "mistral", "mcp")
# Since draft 2019-09 a format describes and refuses nothing, and the suite has its refusals as an option.
_FORMATS_DESCRIBE: Final = ("draft2019-09", "draft2020-12")
_NOT_OURS: Final = ("nothing is fetched", "a vocabulary of its own")
_NO_OBJECT: Final = "its parameters are the schema of an object"

Outcome = str
RIGHT: Final = "right"


def echo(**arguments: object) -> dict[str, object]:
    """Return the arguments."""
    return arguments


def described(tool: Tool[..., Any], format_name: str) -> dict[str, Any]:
    """Return the schema of the arguments in a tool's description, as JSON Schema."""
    text = tool.to_format(format_name)
    fields = cast("dict[str, Any]", text.get("function", text))
    for key in ("input_schema", "inputSchema", "parameters_json_schema"):
        if key in fields:
            return fields[key]
    parameters = fields.get("parameters", {})
    return cast("dict[str, Any]", _with_null(parameters) if format_name == "gemini" else parameters)


def accepted_by_description(tool: Tool[..., Any], format_name: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether a description allows arguments, which are spelt as the provider does."""
    sent = names_for([tool], format_name).to_sent(tool.name, arguments)
    return jsonschema_rs.validator_for(described(tool, format_name)).is_valid(sent)


def _with_null(part: object) -> object:
    """Return OpenAPI's `nullable` as JSON Schema."""
    if isinstance(part, list):
        return [_with_null(item) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    fields = {key: _with_null(value) for key, value in cast("dict[str, object]", part).items()}
    return {"anyOf": [fields, {"type": "null"}]} if fields.pop("nullable", None) is True else fields


@dataclass
class Measure:
    """The outcomes by keyword and manner, and a line for each wrong one."""

    outcomes: dict[tuple[str, str], Counter[Outcome]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: list[str] = field(default_factory=list[str])
    _tools: dict[str, Tool[..., Any] | str] = field(default_factory=dict[str, "Tool[..., Any] | str"])

    def add(self, cases: Iterable[Case]) -> "Measure":
        """Measure cases."""
        for case in cases:
            self._add(case, "property", case.as_property(), {"value": case.instance})
            instance: object = case.instance
            if isinstance(instance, dict):
                self._add(case, "root", case.as_root(), cast("dict[str, Any]", instance))
        return self

    def lines(self) -> Iterator[str]:
        """Yield a table's lines."""
        for (keyword, manner), counts in sorted(self.outcomes.items()):
            yield f"{keyword:40} {manner:8} " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        yield "in all: " + ", ".join(f"{count} {outcome}" for outcome, count in self.total().items())

    def total(self) -> Counter[Outcome]:
        """Return the outcomes of all keywords together."""
        return sum(self.outcomes.values(), Counter[Outcome]())

    def _add(self, case: Case, manner: str, parameters: Any, arguments: dict[str, Any]) -> None:  # noqa: ANN401 - may be a flag
        tool = self._tool(parameters)
        if isinstance(tool, str):
            outcome = _outcome_of_refusal(case, tool)
        else:
            outcome = _outcome(case, tool, arguments)
        self._count(case, manner, outcome, tool)
        if case.is_valid and outcome == RIGHT and not isinstance(tool, str):
            for name in FORMATS:
                if not accepted_by_description(tool, name, arguments):
                    said = bool(tool.lowered(name))
                    self._count(case, manner, "left out, as said" if said else f"wrong in {name}", tool)

    def _count(self, case: Case, manner: str, outcome: Outcome, tool: object) -> None:
        self.outcomes[case.keyword, manner][outcome] += 1
        if outcome.startswith("wrong"):
            self.wrong.append(f"{case.draft} {case.keyword} {manner}: {outcome}: {case.title}: {case.schema} {tool}")

    def _tool(self, parameters: Any) -> Tool[..., Any] | str:  # noqa: ANN401 - may be a flag
        key = json.dumps(parameters)
        if key not in self._tools:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    self._tools[key] = Tool.from_schema("check", "Check.", parameters, echo)
                except SchemaError as error:
                    self._tools[key] = str(error)
        return self._tools[key]


def _outcome_of_refusal(case: Case, message: str) -> Outcome:
    if any(text in message for text in _NOT_OURS):
        return "not fetched, as said"
    if _NO_OBJECT in message and not case.is_valid:
        return RIGHT
    return "wrong at creation"


def _outcome(case: Case, tool: Tool[..., Any], arguments: dict[str, Any]) -> Outcome:
    try:
        bound = tool.bind((), arguments)
    except ArgumentsError:
        return "wrong refusal" if case.is_valid else RIGHT
    if bound.repairs and bound.kwargs != arguments:
        return "repaired" if not case.is_valid else "wrong repair"
    if case.is_valid:
        return RIGHT
    is_optional = case.keyword.startswith("optional/format/") and case.draft in _FORMATS_DESCRIBE
    return "format describes" if is_optional else "wrong acceptance"
