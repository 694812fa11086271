"""The ways of this library: single calls, programs with the whole catalogue, and programs with search."""

import json
from collections.abc import Sequence

from benchmarks.tokens.sets import SHARED, Functions, functions_for
from benchmarks.tokens.spending import Turn
from benchmarks.tokens.traces import Call, Trace, batches
from ez_ptc import Toolkit, ez_tool
from ez_ptc._lazy import lazy

__all__ = ["WAYS", "Ours"]

WAYS = ("calls in series", "calls in parallel", "program, full catalogue", "program, search")
"""The ways of this library."""


class Ours:
    """A number of tools in this library; tasks share those of a large set."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._shared: _Offer | None = None

    def turns(self, way: str, trace: Trace) -> list[Turn]:
        """Return the requests of a task."""
        offer = self._shared
        if offer is None:
            offer = _Offer(functions_for(self._count, trace.task.world, trace.names))
        if self._count >= SHARED:
            self._shared = offer
        if way == "calls in series":
            return _single(offer.single, [[call] for call in trace.calls], trace.printed)
        if way == "calls in parallel":
            return _single(offer.single, batches(trace), trace.printed)
        program = Turn(offer.full, _program_call(trace.task.program), trace.printed)
        if way == "program, full catalogue":
            return [program, Turn(offer.full, trace.printed)]
        return [*offer.search(trace), program._replace(tools=offer.short), Turn(offer.short, trace.printed)]


class _Offer:
    """What requests send of a set of functions, by way."""

    def __init__(self, functions: Functions) -> None:
        self._toolkit = Toolkit([ez_tool(function) for function in functions], assist_tool_chaining=True)
        self.short = json.dumps(self._toolkit.tool_schema("openai"))

    @lazy
    def single(self) -> str:
        """The definitions of all tools."""
        return json.dumps([tool.to_format("openai") for tool in self._toolkit])

    @lazy
    def full(self) -> str:
        """The definition of `execute_tools` with the entries of all tools."""
        full = Toolkit([*self._toolkit], assist_tool_chaining=True, catalog="full")
        return json.dumps(full.tool_schema("openai"))

    def search(self, trace: Trace) -> list[Turn]:
        """Return the requests that find the tools of a task; none if all tools are described."""
        if "search_tools" not in self.short:
            return []
        found = self._toolkit.search_tools(trace.task.question)
        said = f"print(search_tools({trace.task.question!r}))"
        turns = [Turn(self.short, _program_call(said), found)]
        missing = [name for name in trace.names if f"def {name}(" not in found]
        if missing:
            entries = "\n".join(self._toolkit.describe_tool(name) for name in missing)
            said = f"for name in {missing}: print(describe_tool(name))"
            turns.append(Turn(self.short, _program_call(said), entries))
        return turns


def _single(tools: str, groups: Sequence[Sequence[Call]], answer: str) -> list[Turn]:
    turns = [
        Turn(tools, "\n".join(call.text for call in group), "\n".join(call.result for call in group))
        for group in groups
    ]
    return [*turns, Turn(tools, answer)]


def _program_call(code: str) -> str:
    return f"execute_tools {json.dumps({'code': code.strip()})}"
