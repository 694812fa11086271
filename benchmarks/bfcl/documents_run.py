"""One question's documents: imported, exported to every format, and called as the ground truth calls them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from benchmarks.bfcl.documents import Answer, Document, Question
from benchmarks.bfcl.documents_providers import FORMATS, STRICT_FORMATS, Requests, asked, parameters_in
from benchmarks.bfcl.documents_schema import DocumentError, json_schema, parameters_schema
from benchmarks.bfcl.documents_truth import arguments_of, contradictions, is_open, optional_count
from benchmarks.bfcl.oracle import same
from ez_ptc import Tool
from ez_ptc.errors import ArgumentsError, EzPtcError, SchemaError
from ez_ptc.formats.catalog import describe_all, format_named, names_for

__all__ = ["Checker", "Report", "imported"]

Result = TypeVar("Result")
AnyTool = Tool[..., object]


@dataclass(slots=True)
class Report:
    """What the questions so far gave; times in seconds: a document imported, a tool exported, a call checked.

    `further` documents are not among `documents`. `refused` counts exports in strict mode of what it cannot say;
    `contradicting` has the calls that contradict their document, with the kinds of what is wrong with each, and
    `problems` what should not be.
    """

    documents: int = 0
    further: int = 0
    exports: int = 0
    refused: int = 0
    calls: int = 0
    valid: int = 0
    contradicting: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    problems: list[str] = field(default_factory=list[str])
    import_times: list[float] = field(default_factory=list[float])
    export_times: list[float] = field(default_factory=list[float])
    call_times: list[float] = field(default_factory=list[float])


def imported(document: Document) -> AnyTool:
    """Return the tool that a document describes; it returns the arguments that it gets."""
    return Tool.from_schema(
        document.name,
        document.description,
        parameters_schema(document.parameters),
        _received,
        return_schema=json_schema(document.response) if document.response else None,
    )


def _received(**arguments: object) -> dict[str, object]:
    return arguments


MOST_OPTIONAL = 24
"""How many parameters that may be left out Anthropic's strict mode takes, where there are too many to make nullable."""


class Checker:
    """Checks questions one by one, and keeps the report."""

    def __init__(self, requests: Requests) -> None:
        self.report = Report()
        self._requests = requests
        self._problems: list[str] = []

    def check(self, question: Question) -> list[str]:
        """Check one question, add it to the report, and return the problems it has."""
        self._problems = []
        tools = self._import(question)
        for provider in FORMATS:
            self._export(tools, provider)
        for document in question.documents:
            for provider in STRICT_FORMATS if document.name in tools else ():
                self._export_strictly(tools[document.name], provider, document.parameters)
        documents = {document.name: document for document in question.documents}
        for answer in question.answers:
            if answer.name in tools:
                self._answer(question, answer, documents[answer.name], tools)
            else:
                self._problems.append(f"{answer.name} is called, and there is no such tool")
        found = [f"{question.id}: {problem}" for problem in self._problems]
        self.report.problems += found
        return found

    def _import(self, question: Question) -> dict[str, AnyTool]:
        tools: dict[str, AnyTool] = {}
        for document in question.documents:
            try:
                tools[document.name] = _timed(self.report.import_times, lambda one=document: imported(one))
            except (DocumentError, SchemaError) as error:
                self._problems.append(f"{document.name} cannot be imported: {error}")
        if question.counted:
            self.report.documents += len(tools)
        else:
            self.report.further += len(tools)
        return tools

    def _export(self, tools: Mapping[str, AnyTool], provider: str) -> None:
        began = time.perf_counter()
        try:
            exports = describe_all(tools.values(), provider)
        except EzPtcError as error:
            self._problems.append(f"not exported to {provider}: {error}")
            return
        self.report.export_times.append((time.perf_counter() - began) / max(1, len(tools)))
        for export in exports:
            self._taken(provider, export)

    def _export_strictly(self, tool: AnyTool, provider: str, parameters: Mapping[str, Any]) -> None:
        has_too_many = provider == "anthropic" and optional_count(parameters) > MOST_OPTIONAL
        is_beyond = is_open(parameters) or has_too_many
        try:
            export = tool.to_format(provider, strict=True)
        except SchemaError as error:
            self.report.refused += 1
            if not is_beyond:
                self._problems.append(f"{provider}, strict, refuses what it can say: {error}")
            return
        if is_beyond:
            self._problems.append(f"{provider}, strict, exports {tool.name}, which strict mode cannot say")
        self._taken(provider, export)

    def _taken(self, provider: str, export: Mapping[str, Any]) -> None:
        refusal = self._requests.refusal(provider, export)
        if refusal is None:
            self.report.exports += 1
        else:
            self._problems.append(f"{provider} refuses {export}: {refusal}")

    def _answer(self, question: Question, answer: Answer, document: Document, tools: Mapping[str, AnyTool]) -> None:
        arguments = arguments_of(answer.options, document.parameters)
        wrong = contradictions(arguments, document.parameters)
        tool, report = tools[answer.name], self.report
        report.calls += 1
        why = "; ".join(one.text for one in wrong)
        if wrong:
            report.contradicting[f"{question.id}: {answer.name}: {why}"] = frozenset(one.kind for one in wrong)
        try:
            received = _timed(report.call_times, lambda: tool.call(arguments))
        except ArgumentsError as error:
            if not wrong:
                self._problems.append(f"{answer.name}({arguments}) is refused: {error}")
            return
        if wrong:
            self._problems.append(f"{answer.name}({arguments}) contradicts its document and is taken: {why}")
        elif not _equal(received, arguments):
            self._problems.append(f"{answer.name}({arguments}) arrives as {received}")
        else:
            report.valid += 1
            for provider in FORMATS:
                self._ask(provider, tool, arguments, list(tools.values()))

    def _ask(self, provider: str, tool: AnyTool, arguments: Mapping[str, object], tools: Sequence[AnyTool]) -> None:
        """Check that a call arrives the same by way of a provider, and that what was exported allows for it."""
        names = names_for(tools, provider)
        sent = names.to_sent(tool.name, arguments)
        module = format_named(provider)
        try:
            (call,) = module.calls(asked(provider, names.to_provider(tool.name), sent), names)
            arrived = tool.call(call.arguments) if call.name == tool.name else f"a call of {call.name}"
            exported = Tool.from_schema(tool.name, "", parameters_in(module.describe(tool)), _received)
            allowed = exported.call(sent)
        except EzPtcError as error:
            self._problems.append(f"{tool.name}({arguments}) by way of {provider}: {error}")
            return
        if not _equal(arrived, arguments) or not _equal(allowed, sent):
            self._problems.append(f"{tool.name}({arguments}) arrives by way of {provider} as {arrived}, {allowed}")


def _timed(times: list[float], act: Callable[[], Result]) -> Result:
    began = time.perf_counter()
    try:
        return act()
    finally:
        times.append(time.perf_counter() - began)


def _equal(received: object, arguments: Mapping[str, object]) -> bool:
    """Tell whether the arguments are the same, in whatever order."""
    if not isinstance(received, dict):
        return False
    return same(dict(sorted(cast("dict[str, object]", received).items())), dict(sorted(arguments.items())))
