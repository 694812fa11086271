"""Methods of a toolkit: its texts for models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ez_ptc._lazy import lazy
from ez_ptc.toolkit.catalog.entries import EntryWriter
from ez_ptc.toolkit.catalog.searching import ToolSearch
from ez_ptc.toolkit.corrections import AFTER
from ez_ptc.toolkit.execution.backends import find_python
from ez_ptc.tools.call_settings import check_max_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.sandbox.protocol.interfaces import Sandbox
    from ez_ptc.toolkit.catalog.listing import ToolCatalog
    from ez_ptc.toolkit.catalog.ranking import ToolRanker
    from ez_ptc.toolkit.prompting.prompts import Mode, PromptWriter
    from ez_ptc.toolkit.shapes.observing import ResultObserver
    from ez_ptc.tools.tool import Tool

__all__ = ["ModelTexts"]


class ModelTexts:
    """Methods of `Toolkit`: its texts for models, and the programs in theirs."""

    if TYPE_CHECKING:  # `Toolkit` has and documents them
        tools: Iterable[Tool[..., Any] | Any]
        preamble: str | None
        postamble: str | None
        tool_preamble: str | None
        assist_tool_chaining: bool
        error_hint: str | None
        sandbox: Sandbox | str | None
        ranker: ToolRanker | None
        observed_shapes: ResultObserver | None
        _catalog: ToolCatalog

    @lazy
    def _prompts(self) -> PromptWriter:
        from ez_ptc.toolkit.prompting.prompts import PromptWriter  # not needed to run a program

        return PromptWriter(
            tools=tuple(self.tools),
            preamble=self.preamble,
            postamble=self.postamble,
            tool_preamble=self.tool_preamble,
            error_hint=self.error_hint,
            assist_tool_chaining=self.assist_tool_chaining,
            python=find_python(self.sandbox),
            catalog=self._catalog,
            shapes=self.observed_shapes,
            search=self.tool_search(),
        )

    def tool_search(self) -> ToolSearch:
        """Return the search among the tools."""
        return self._tool_search

    @lazy
    def _tool_search(self) -> ToolSearch:
        observed = None if self.observed_shapes is None else self.observed_shapes.describe
        entries = EntryWriter(self.assist_tool_chaining, observed)
        return ToolSearch(tuple(self.tools), self._catalog, entries, self.ranker)

    def search_tools(self, query: str, limit: int = 5) -> str:
        """Return the descriptions of the best tools for some words, as programs get them from `search_tools`.

        `limit` is the maximum number of tools, from 1 to 20. Raises ToolError for another one.
        """
        return self._tool_search.search(query, limit)

    def describe_tool(self, name: str) -> str:
        """Return the description of a tool for a model, as programs get it from `describe_tool`.

        Raises ToolError, with similar names, for an unknown one.
        """
        return self._tool_search.describe(name)

    def prompt(self) -> str:
        """Return instructions for a system prompt: the model writes its program in a code block."""
        return self._prompt

    @lazy
    def _prompt(self) -> str:
        return self._prompts.prompt()

    @lazy
    def _description(self) -> str:
        return self._prompts.description()

    def tool_prompt(self) -> str:
        """Return optional instructions for a system prompt: the model calls `execute_tools`."""
        return self._prompts.tool_prompt()

    def tool_schema(self, format: str = "openai", *, after: bool = False) -> dict[str, Any]:  # noqa: A002 - the name seed users know
        """Return the definition of `execute_tools` as a provider's API expects it.

        Args:
            format: A format of `Tool.to_format`, such as "openai" or "anthropic", or "raw" (name, description and
                parameters).
            after: Whether it has the argument `after`, the token for `correcting`.

        Raises ValueError for an unknown format.
        """
        from ez_ptc.formats.catalog import format_named
        from ez_ptc.formats.describable import ToolShape

        properties = {"code": {"type": "string", "description": "The Python program to run."}}
        if after:
            properties["after"] = {"type": "string", "description": AFTER}
        parameters = {"type": "object", "properties": properties, "required": ["code"]}
        name, description = "execute_tools", self._description
        if format == "raw":
            return {"name": name, "description": description, "parameters": parameters}
        return format_named(format).describe(ToolShape(name, description, parameters))

    def extract_code(self, text: str) -> str | None:
        """Return the program in a model's answer, or None. Raises TypeError for anything but text."""
        from ez_ptc.toolkit.prompting.program_extraction import extract_code

        return extract_code(text, self.tools)

    def answer(
        self,
        code: str,
        result: ExecutionResult,
        max_text: int | None = None,
        *,
        mode: Mode = "prompt",
        continues: bool | None = None,
        after: str | None = None,
    ) -> str:
        """Return the text to send to the model after its program `code` has run: its output, or its error and a hint.

        After an error, the text says what happened, what is done, and what to write; after a refusal
        (`result.is_denied`), it asks for no corrected program.

        Args:
            code: The program.
            result: Its result.
            max_text: The maximum characters, instead of `limits.text`.
            mode: "prompt" if the model writes programs in its messages, "tool" if it passes them to a tool.
            continues: Whether the next program is run with `after=result`, so that successful calls may be repeated.
                By default, in a session, and after a program that continues another.
            after: The token for a corrected program, from `correcting`. The text names it.

        Raises ValueError if `max_text` is not a positive int.
        """
        check_max_text(max_text)
        result = replace(result, max_text=max_text or result.max_text)
        return self._prompts.answer(code, result, mode=mode, continues=continues, after=after)
