"""What a run was recorded with, and whether this toolkit and interpreter can go on with it."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.errors import ReplayDivergedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.journal.record import RunRecord
    from ez_ptc.tools.tool import Tool

__all__ = ["Fingerprint"]

_DIGITS: Final = 32
_MINOR_VERSION: Final = re.compile(r"\S+ \d+\.\d+")
# Of a schema, what no program and no call depends on.
_TEXTS: Final = frozenset({"description", "title", "examples"})


@dataclass(frozen=True)
class Fingerprint:
    """The tools, the modules and the interpreter of a toolkit's programs.

    `may_upgrade` says whether a run may go on with another minor version of Python than its own.
    """

    tools: tuple[Tool[..., Any], ...]
    imports: tuple[str, ...]
    interpreter: str
    may_upgrade: bool = False

    def to_json(self, code: str) -> dict[str, Any]:
        """Return what the start of a program's run records."""
        return {
            "program": hashlib.sha256(code.encode()).hexdigest(),
            **self.versions,
            "imports": list(self.imports),
            "tools": {tool.name: _traits(tool) for tool in self.tools},
        }

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the library and the interpreter."""
        return {"library": sys.modules["ez_ptc"].__version__, "interpreter": self.interpreter}

    def require_fit(self, record: RunRecord) -> None:
        """Raise ReplayDivergedError, which names the first difference, if this cannot go on with a run."""
        recorded, code = record.start.data, record.start.payload or b""
        if recorded["program"] != hashlib.sha256(code).hexdigest():
            message = "the program of the run is not the one that was recorded: nothing was run"
            raise ReplayDivergedError(message)
        _ = record.source_rules  # it raises for those of a later library
        if self.is_other_python(record) and not self.may_upgrade:
            before = record.versions["interpreter"]
            message = (
                f"the run was recorded with interpreter {before}, and this is {self.interpreter}: use it there, or "
                f"pass upgrade=True to `resume` or `replay`, or to `session` with its id, to try it; nothing was run"
            )
            raise ReplayDivergedError(message)
        if not set(recorded["imports"]) <= set(self.imports):
            message = f"the run may import {', '.join(recorded['imports'])}: pass allow_imports={recorded['imports']}"
            raise ReplayDivergedError(message)
        self.require_tools(record)

    def is_other_python(self, record: RunRecord) -> bool:
        """Return whether a run was recorded with another minor version of Python."""
        return _minor_version(record.versions["interpreter"]) != _minor_version(self.interpreter)

    def require_tools(self, record: RunRecord) -> None:
        """Raise ReplayDivergedError if this toolkit does not have a run's tools."""
        tools = {tool.name: tool for tool in self.tools}
        for name, traits in record.start.data["tools"].items():
            if name not in tools:
                message = f"the run has a tool {name!r}, and this toolkit has none: add it; nothing was run"
                raise ReplayDivergedError(message)
            _compare_tool(tools[name], traits)


def _compare_tool(tool: Tool[..., Any], recorded: str | Mapping[str, Any]) -> None:
    """Raise ReplayDivergedError if what a record needs of a tool has changed."""
    if isinstance(recorded, str):  # of an earlier version, which compared the whole description
        definition = tool.definition
        described = [definition.name, definition.parameters, definition.is_async, definition.return_schema]
        present: Mapping[str, Any] = {"parameters": _digest(described)}
        recorded = {"parameters": recorded}
    else:
        present = _traits(tool)
    changed = [trait for trait, value in present.items() if recorded.get(trait, value) != value]
    if "parameters" in changed and recorded["parameters"] == _digest_of_parameters(tool, requires_tags=False):
        changed.remove("parameters")
    # Calls that are recorded stay what they were; only what was a reader may have been called again.
    if not recorded.get("read_only") and "read_only" in changed:
        changed.remove("read_only")
    if changed:
        message = (
            f"the tool {tool.name!r} has changed since the run was recorded (its {' and '.join(changed)}): resume with "
            f"the tool as it was; nothing was run"
        )
        raise ReplayDivergedError(message)


def _traits(tool: Tool[..., Any]) -> dict[str, Any]:
    """Return what the record of a run needs of a tool; the need of approval is recorded with each call."""
    definition = tool.definition
    return {
        "parameters": _digest_of_parameters(tool),
        "return type": _digest(_without_texts(definition.return_schema)),
        "read_only": tool.read_only is True,
        "idempotent": bool(tool.idempotent),
    }


def _digest_of_parameters(tool: Tool[..., Any], *, requires_tags: bool = True) -> str:
    """Return the digest of a tool's parameters; earlier versions did not require a union's tag that has a default."""
    definition = tool.definition
    return _digest([_without_texts(definition.parameters, requires_tags=requires_tags), definition.is_async])


def _without_texts(schema: object, *, requires_tags: bool = True) -> object:
    """Return a schema without descriptions; properties keep their names, whatever these are."""
    simplify = partial(_without_texts, requires_tags=requires_tags)
    if isinstance(schema, list):
        return [simplify(item) for item in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, object]", schema)
    simple: dict[str, Any] = {
        key: {name: simplify(subschema) for name, subschema in cast("dict[str, object]", value).items()}
        if key in {"properties", "$defs"} and isinstance(value, dict)
        else simplify(value)
        for key, value in fields.items()
        if key not in _TEXTS
    }
    properties = simple.get("properties")
    if not requires_tags and isinstance(properties, dict) and "required" in simple:
        described = cast("dict[str, object]", properties).items()
        tags = {name for name, subschema in described if isinstance(subschema, dict) and "default" in subschema}
        simple["required"] = [name for name in simple["required"] if name not in tags]
        if not simple["required"]:
            del simple["required"]
    return simple


def _digest(described: object) -> str:
    text = json.dumps(described, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _minor_version(interpreter: str) -> str:
    """Return the implementation with its major and minor version."""
    match = _MINOR_VERSION.match(interpreter)
    return interpreter if match is None else match[0]
