"""The entry of a tool in a catalogue: its whole description for a model, or one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.sandbox.protocol.both_ends.quoting import on_one_line
from ez_ptc.schema.stubs import argument_texts, type_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ez_ptc.tools.tool import Tool

__all__ = ["EntryWriter"]

# Models must know all of a parameter's values, since they have to use one of them.
_MAX_CHOICES: Final = 50
# The maximum characters of a signature and of a sentence in one line about a tool.
_MAX_SIGNATURE: Final = 120
_MAX_SENTENCE: Final = 100
# No sentence of interest begins later in a description.
_MAX_READ: Final = 1_000
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|\n\s*\n")


@dataclass(frozen=True, slots=True)
class EntryWriter:
    """Writes the entries of tools, with their return types if `assist_tool_chaining` is set.

    `observed` returns what is known of the results of a tool without a return type.
    """

    assist_tool_chaining: bool = False
    observed: Callable[[str], str | None] | None = None

    def definition(self, tool: Tool[..., Any]) -> str:
        """Return a tool as a function header with its docstring."""
        lines = [f"def {on_one_line(tool.signature)}:"]
        documentation = _documentation(tool).replace('"""', "'''")
        if "\n" in documentation:
            documentation += "\n"
        elif documentation.endswith(('"', "\\")):
            documentation += " "
        if documentation:
            lines.append(indent(f'"""{documentation}"""', "    "))
        lines += [f"    # {text}" for text in (*_takes(tool), self._returns(tool)) if text]
        return "\n".join(lines)

    def item(self, tool: Tool[..., Any]) -> str:
        """Return a tool as an item of a list: its signature, with its description below."""
        about = self._returns(tool)
        if not _is_undescribed(tool):
            about = " | ".join(filter(None, (_lines(tool.prose), about)))
        entry = [f"- {on_one_line(tool.signature)}"]
        entry += [indent(text, "  ") for text in (about, *_takes(tool)) if text]
        return "\n".join(entry)

    def line(self, tool: Tool[..., Any]) -> str:
        """Return one line about a tool: its signature and the first sentence of its description."""
        signature, sentence = on_one_line(tool.signature), ""
        if len(signature) > _MAX_SIGNATURE:
            signature = f"{tool.name}(...)"
        if not _is_undescribed(tool):
            sentence = _SENTENCE_END.split(tool.prose[:_MAX_READ].strip(), maxsplit=1)[0]
            sentence = on_one_line(" ".join(sentence.split()), _MAX_SENTENCE)
        return f"- {signature}: {sentence}".removesuffix(": ")

    def documentation(self, tool: Tool[..., Any]) -> str:
        """Return a tool's docstring in programs, with its return type at the end."""
        documentation = tool.definition.documentation
        return "\n\n".join(filter(None, (documentation.rstrip(), *_takes(tool), self._returns(tool))))

    def _returns(self, tool: Tool[..., Any]) -> str | None:
        if tool.return_schema is None:
            observed = None if self.observed is None else self.observed(tool.name)
            return observed and on_one_line(observed)
        if not self.assist_tool_chaining:
            return None
        return on_one_line(f"Returns: {type_text(tool.return_schema)}")


def _is_undescribed(tool: Tool[..., Any]) -> bool:
    return tool.prose in {"", f"Tool: {tool.name}"}


def _documentation(tool: Tool[..., Any]) -> str:
    """Return the docstring, between the description and the parameters it does not mention."""
    text = _lines(tool.docstring)
    if not _is_undescribed(tool) and _words(tool.prose) not in _words(text):
        text = _lines(tool.prose)
    properties = tool.definition.properties
    words, position = _words(text), 0
    missing: list[str] = []
    for name in tool.parameter_names:
        schema = properties.get(name)
        about = cast("Mapping[str, object]", schema).get("description") if isinstance(schema, Mapping) else None
        if not isinstance(about, str):
            continue
        # In most docstrings it follows that of the parameter before.
        start = words.find(_words(about), position)
        if start < 0:
            start = words.find(_words(about))
        if start >= 0:
            position = start
        else:
            lines = _lines(about).replace("\n", "\n        ")
            missing.append(f"    {tool.spellings.get(name, name)}: {lines}")
    if not missing:
        return text
    parameters = "\n".join(["Args:", *missing])
    if text:
        return f"{text}\n\n{parameters}"
    return parameters


def _takes(tool: Tool[..., Any]) -> Iterator[str]:
    """Yield a `Takes …` line for each parameter whose type is only a class name in the signature."""
    parameters = tool.definition.object_schema
    properties: dict[str, object] = parameters.get("properties", {})
    named = [
        name
        for name, schema in properties.items()
        if isinstance(schema, dict) and (name in tool.definition.named or "'$ref'" in str(cast("object", schema)))
    ]
    if not named:
        return
    fields = tool.definition.binder.fields
    for name, text in argument_texts(parameters, named, choices=_MAX_CHOICES).items():
        if text != "Any" and not (name in fields and fields[name].type_text.startswith(text)):
            yield on_one_line(f"Takes {tool.spellings.get(name, name)}: {text}")


def _lines(text: str) -> str:
    """Return a text with newlines as its only line ends."""
    return "\n".join(text.strip().splitlines())


def _words(text: str) -> str:
    return " ".join(text.split())
