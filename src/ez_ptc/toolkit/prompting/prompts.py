"""Prompts for models: how to write a program that calls the tools, and the result of a program.

Each instruction is written once, for models as small as 1.5 billion parameters: short imperative lines, and a worked
example to copy. `PromptWriter` assembles them for its three readers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from textwrap import indent
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from ez_ptc._component import HOST_PYTHON
from ez_ptc._lazy import lazy
from ez_ptc.results.bounds import bounded_error, fit_text
from ez_ptc.results.json_writer import without_surrogates
from ez_ptc.results.notes import escape_notes
from ez_ptc.sandbox.check.read_only import reads_only
from ez_ptc.sandbox.protocol.both_ends.quoting import item_text
from ez_ptc.sandbox.protocol.output_text import add_lines, encodable
from ez_ptc.sandbox.protocol.values.records import METHODS
from ez_ptc.toolkit.catalog.entries import EntryWriter
from ez_ptc.toolkit.catalog.listing import WHOLE, ToolCatalog
from ez_ptc.toolkit.prompting.effects import REPEATABLE, describe_done_calls, describe_repetition
from ez_ptc.toolkit.prompting.empty_output import explain_unmet
from ez_ptc.toolkit.prompting.empty_selections import explain_emptiness
from ez_ptc.toolkit.prompting.failures import explain_unbound, split_proposal
from ez_ptc.toolkit.prompting.read_only import seems_to_read
from ez_ptc.toolkit.prompting.worked_example import docstring_schema, example_program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.toolkit.catalog.searching import ToolSearch
    from ez_ptc.toolkit.shapes.observing import ResultObserver
    from ez_ptc.tools.tool import Tool

__all__ = ["Mode", "PromptWriter"]

Mode: TypeAlias = Literal["prompt", "tool"]
"""How a model runs programs: it writes them in its messages, or passes them to a tool."""

_NO_TOOLS: Final = "No tools are available."
_READY: Final = "already available: do NOT import them"
_TASK: Final = (
    "To run a Python program, pass it to the tool `execute_tools` in its argument `code`.\n"
    "IMPORTANT: Combine ALL operations into a SINGLE program and a SINGLE call; do NOT make several calls.\n"
    f"In the program these functions are {_READY}:"
)
_DESCRIPTION: Final = (
    "Run a Python program and return what it prints.\n"
    "IMPORTANT: Combine ALL operations into a SINGLE program; do NOT make several calls.\n"
    f"In the program these functions are {_READY}:"
)
_PREAMBLE: Final = f"You have access to the Python functions below. They are {_READY}."
_SHAPES: Final = "The comment `# Returns:` shows what a function returns: use exactly these keys."
_OBSERVED: Final = "`# Returns (observed N times):` shows what N calls have returned: use these keys."
_ANSWER: Final = "IMPORTANT: Combine ALL operations into a single code block: answer with ONE ```python block."
_CHAINED: Final = (
    "Chain results: store them in variables, loop over lists, and print only the final answer."
    '\nRead a key of a result as r["key"] or r.key.{exceptions}'
)
_DOCUMENTED: Final = (
    "Chain results: store them in variables, loop over lists, and print only the final answer.\n"
    'Read a key that a docstring names as r["key"]. Do NOT guess other keys: print such a result whole.'
)
_UNCHAINED: Final = (
    "What the functions return is not documented: do NOT access keys of a result that you would have to guess.\n"
    "Print each whole result: print(tool_a(...)), print(tool_b(...))."
)
_PARALLEL: Final = (
    "Independent calls can run at once, each as a function and its arguments:\n"
    "a, b = parallel((tool_a, x), (tool_b, x, y)); results = parallel(*[(tool_a, x) for x in xs])."
)
_PLACE: Final = (
    "This is Python {python}. The standard library can be imported; no files, no network, no processes.\n"
    "ALWAYS print() the final answer."
)
_ERROR_HINT: Final = "If a program fails, read its error, correct the program and try again."
_REWRITE: Final = {
    "prompt": "Write the whole corrected program in one ```python block.",
    "tool": "Call execute_tools again with the whole corrected program.",
}
_REWRITE_AFTER: Final = 'Call execute_tools again with the whole corrected program and after="{token}".'
_EXAMPLE: Final = "A complete program (other functions and arguments as the task needs):"

_PRINTED_NOTHING: Final = "[Done. The program printed nothing.]"
_NOTHING_MET: Final = (
    "[Done, but no print() was reached: no row met the condition. Compare another key, or print the rows to see them.]"
)
_NOTHING_FOUND: Final = "[Done, but it printed nothing: {name}() returned an empty list for these arguments.{advice}]"
_UNPRINTED: Final = "[No output captured: this is the value of the last line. Use print() for each result you need.]"
# Only for read-only tools: with fewer arguments, others would affect more.
_ASK_LESS: Final = " Leave an argument out if the task does not ask for it."
# Small models copy a program after these words, but not after more words.
_CORRECTED: Final = "Run this corrected program instead ({why}):"
_MEANT: Final = f"ERROR: The program printed nothing.\n{_CORRECTED}"
# No part of these patterns spans many lines: programs are hostile, and may be all white space.
_RETURNED_KEY: Final = re.compile(rf"[{{,] ?({'|'.join(sorted(METHODS))}): ")
_CONDITION: Final = re.compile(r"^[ \t]+if .+\n[ \t]+print\(", re.MULTILINE)
# The maximum characters of a program that is repeated with one more line.
_MAX_REPEATED: Final = 5_000
# Enough output before an error to see how far the program came.
_PRINTED: Final = 2_000
_MAX_NAMED: Final = 10


@dataclass(frozen=True, kw_only=True)
class PromptWriter:
    """Writes the prompts about some tools.

    `preamble` and `postamble` replace the text before and after the listing in `prompt()`, `tool_preamble` the text
    before it in tool mode; `error_hint` replaces the advice on errors everywhere, and `""` removes it. With
    `assist_tool_chaining`, the tools' return types are described if known. `python` is the version that runs programs,
    and `catalog` says how many tools are described. `shapes` are those of results: its texts have them as they are when
    the first one is written, and do not change, so that providers can cache them. `search` finds what a failed program
    may have meant.
    """

    tools: Sequence[Tool[..., Any]]
    preamble: str | None = None
    postamble: str | None = None
    tool_preamble: str | None = None
    error_hint: str | None = None
    assist_tool_chaining: bool = False
    python: str = HOST_PYTHON
    catalog: ToolCatalog = WHOLE
    shapes: ResultObserver | None = None
    search: ToolSearch | None = None

    def prompt(self) -> str:
        """Return the system prompt for a model that writes its program in a message."""
        if not self.tools:
            return _NO_TOOLS
        preamble = self.preamble
        if preamble is None:
            preamble = _PREAMBLE
            if self._has_declared_shapes:
                preamble = f"{preamble}\n{_SHAPES}"
            if self._observed:
                preamble = f"{preamble}\n{_OBSERVED}"
        write = self._entries.definition
        listing = self.catalog.whole(self.tools, write, "\n\n")
        if self.postamble is None:
            example = self._example(fenced=True, is_whole=listing is not None)
            has_keys = listing is not None and not self._has_shapes and self._has_documented_keys
            postamble = _join(_ANSWER, self._rules(listing, _DOCUMENTED if has_keys else None), self._hint, example)
        else:
            postamble = _join(self.postamble, self._hint)
        head = f"{preamble}\n\nAvailable tools:"
        if listing is None:
            listing = self._abridged(write, "\n\n", len(head) + len(postamble) + 4)
        return encodable(f"{head}\n\n{listing}\n\n{postamble}")

    def tool_prompt(self) -> str:
        """Return the system prompt for a model with the tool `execute_tools`."""
        return self._frame(_TASK)

    def description(self) -> str:
        """Return the description of the tool `execute_tools`, also its docstring."""
        return self._frame(_DESCRIPTION)

    def answer(
        self,
        code: str,
        result: ExecutionResult,
        *,
        mode: Mode = "prompt",
        continues: bool | None = None,
        after: str | None = None,
    ) -> str:
        """Return the text for a model after its program has run: the output, or the error.

        It has at most `result.max_text` characters. `Toolkit.answer` documents the arguments.
        """
        if result.success:
            text = self._answer(code, result)
        else:
            if continues is None:
                continues = bool(getattr(result.progress, "is_continued", False))
            rewrite = _REWRITE[mode] if after is None else _REWRITE_AFTER.format(token=after)
            done = describe_done_calls(result, self.tools, continues=continues, token=after)
            text = self._failure(code, result, done, rewrite, continues=continues and after is None)
        return fit_text(without_surrogates(text), result.max_text)

    def _answer(self, code: str, result: ExecutionResult) -> str:
        pictures = result.pictures_text()
        if result.output:
            notes = add_lines("", result.cut_text(), pictures, *result.notes)
            return add_lines(result.output_text(max(result.max_text - len(notes) - 1, 0)), notes or None)
        if pictures and not result.value_text():
            return add_lines(pictures, result.cut_text(), *result.notes)
        text = self._answer_unprinted(code, result)
        if result.error_output and result.return_value is None and not result.described:
            text = add_lines(result.failure_text(max(result.max_text - len(text) - 1, 0)), text)
        return add_lines(text, result.cut_text(), pictures, *result.notes)

    def _answer_unprinted(self, code: str, result: ExecutionResult) -> str:
        unprinted = bool(result.tool_calls) and "print(" not in code
        if result.return_value is None and not result.described:
            if explanation := self._explain_unmet(code, result):
                return explanation
            if unprinted:
                return self._explain_unprinted(result)
            if _CONDITION.search(code):
                return _NOTHING_MET
            return _PRINTED_NOTHING
        if unprinted and not self._has_shapes and not result.described:
            return add_lines(result.value_text(max(result.max_text - len(_UNPRINTED) - 1, 0)), _UNPRINTED)
        return result.value_text()

    def _explain_unprinted(self, result: ExecutionResult) -> str:
        """Name the calls that were not printed, and ask for a program that prints them if they are harmless."""
        called = _called_tools(result)
        calls = ", ".join(f"{name}()" for name in called[:_MAX_NAMED])
        if len(called) > _MAX_NAMED:
            calls += f" and {len(called) - _MAX_NAMED} others"
        if not self._has_only_read(result):
            return f"[Done. The program called {calls} and printed nothing: only what it print()s is seen.]"
        return (
            f"[No output captured. The program called {calls} but printed nothing. Write one that print()s the answer.]"
        )

    def _explain_unmet(self, code: str, result: ExecutionResult) -> str | None:
        """Explain a comparison that matched no row, and suggest another, or return None."""
        called = _called_tools(result)
        if len(code) > _MAX_REPEATED or not all(seems_to_read(tool) for tool in self.tools if tool.name in called):
            return None
        has_only_read = self._has_only_read(result)
        condition = explain_unmet(code, (call.get("result") for call in result.tool_calls))
        if condition is None:
            searches = [call for call in result.tool_calls if call.get("args") or call.get("kwargs")]
            empty = [call["name"] for call in searches if type(call.get("result")) is list and not call["result"]]
            if not empty:
                return None
            return _NOTHING_FOUND.format(name=empty[0], advice=_ASK_LESS if has_only_read else "")
        program = None
        if has_only_read and condition.program:
            program = self._program_to_copy(condition.program.strip())
        if not program:
            return f"[Done, but it printed nothing: no row met a condition: {escape_notes(condition.why)}.]"
        return _MEANT.format(why=escape_notes(condition.why)) + program

    def _has_only_read(self, result: ExecutionResult) -> bool:
        called = _called_tools(result)
        return all(tool.read_only is True for tool in self.tools if tool.name in called)

    def _program_to_copy(self, program: str) -> str | None:
        """Return a program in a block for a model to copy; None if it may do more than read, or would end the block."""
        readers = {tool.name: tool.read_only is True for tool in self.tools}
        if not program or "```" in program or not reads_only(program, readers):
            return None
        return f"\n```python\n{program}\n```"

    @lazy
    def _observed(self) -> Mapping[str, str]:
        return {} if self.shapes is None else self.shapes.texts()

    @property
    def _has_shapes(self) -> bool:
        """Whether any tool's return type is described."""
        return bool(self._observed) or self._has_declared_shapes

    @property
    def _has_declared_shapes(self) -> bool:
        return self.assist_tool_chaining and any(tool.return_schema is not None for tool in self.tools)

    @property
    def _hint(self) -> str:
        if self.error_hint is None:
            return _ERROR_HINT
        return self.error_hint

    @property
    def _has_documented_keys(self) -> bool:
        """Whether a docstring names the keys of a result, as only `prompt()` shows it."""
        return self.assist_tool_chaining and any(map(docstring_schema, self.tools))

    def _rules(self, listing: str | None, usage: str | None = None) -> str:
        if usage is None:
            usage = _UNCHAINED
            if self._has_shapes:
                usage = _CHAINED.format(exceptions=_name_exceptions(listing or ""))
        return f"{usage}\n{_PARALLEL}\n{_PLACE.format(python=self.python)}"

    def _frame(self, introduction: str) -> str:
        if self.tool_preamble is not None:
            introduction = self.tool_preamble
        write = self._entries.item
        listing = self.catalog.whole(self.tools, write, "\n")
        example = self._example(fenced=False, is_whole=listing is not None)
        instructions = _join(self._rules(listing), self._hint, example)
        if listing is None:
            listing = self._abridged(write, "\n", len(introduction) + len(instructions) + 4)
        return encodable(f"{introduction}\n\n{listing or _NO_TOOLS}\n\n{instructions}")

    @property
    def _entries(self) -> EntryWriter:
        return EntryWriter(self.assist_tool_chaining, self._observed.get)

    def _abridged(self, write: Callable[[Tool[..., Any]], str], gap: str, size: int) -> str:
        """Return the catalogue of more tools than can all be described, beside `size` characters of other text."""
        pinned = [write(tool) for tool in self.catalog.select_pinned(self.tools)]
        size += sum(len(entry) + len(gap) for entry in pinned)
        return gap.join([*pinned, self.catalog.rest(self.tools, self._entries.line, size)])

    def _example(self, *, fenced: bool, is_whole: bool) -> str | None:
        tools = self.tools
        if not is_whole:
            tools = self.catalog.select_pinned(tools)
        with_docstrings = fenced and self._has_documented_keys
        with_shapes = self._has_shapes or with_docstrings
        program = example_program(tools, with_shapes=with_shapes, with_docstrings=with_docstrings)
        if program is None:
            return None
        body = f"```python\n{program}\n```" if fenced else indent(program, "    ")
        return f"{_EXAMPLE}\n{body}"

    def _failure(self, code: str, result: ExecutionResult, done: str, rewrite: str, *, continues: bool) -> str:
        """Return what happened and where, what is known and `done`, and last what to write: by default `rewrite`.

        Calls that the next program may repeat stand first: after the error, small models wrote the same program again.
        """
        details = result.error_output.strip()
        if result.error and result.error.rpartition("\n")[2] not in details:
            details = _join(details, result.error)
        proposal, (facts, why, selection) = "", explain_emptiness(code, result, self.tools)
        if not result.is_denied:  # a person's refusal is no mistake to correct
            details, proposal = split_proposal(details)
        # The rest of the text is for what the program has printed and done.
        cut = partial(bounded_error, keeper=result.keeper, is_whole=not result.cut_text())
        details = cut(details or "The program failed.", result.max_text * 3 // 4, source="error")
        if not result.is_denied:
            program = self._has_only_read(result) and not proposal and self._program_to_copy(selection)
            if program:
                proposal, why = f"{_CORRECTED.format(why=why)}{program}", ""
            if self.error_hint != "":
                details = f"ERROR: {details}"
        printed = result.output.strip()
        facts += [f"No row met a condition: {why}"] if why else []
        facts += explain_unbound(code, result, self.tools)
        facts += [] if self.shapes is None else self.shapes.hints(result)
        facts += [] if self.search is None else self.search.hints(result)
        paragraphs = [details, "\n".join(facts)]
        if printed:
            excerpt = cut(printed, min(_PRINTED, result.max_text // 8), source="output")
            paragraphs.append(add_lines(f"Printed before the error:\n{indent(excerpt, '    ')}", result.cut_text()))
        elif result.cut_text():
            paragraphs.append(str(result.cut_text()))
        paragraphs += ["\n".join(result.notes), describe_repetition(details, result)]
        paragraphs.insert(0 if done.startswith(REPEATABLE) else -1, done)
        known = "\n\n".join(filter(None, paragraphs))
        proposal = proposal or (result.correction.strip() if continues else "")
        if len(known) + len(proposal) + 2 > result.max_text:
            proposal = ""  # a program without its head would be copied all the same
        ending = "" if result.is_denied else self._ending(proposal, rewrite)
        if known == details and ending.endswith("\n```"):
            return f"{known}\n{ending}"
        return "\n\n".join(filter(None, (known, ending)))

    def _ending(self, proposal: str, rewrite: str) -> str:
        """Return the last words after a failure: a proposed program, or a sentence."""
        # After a program to copy nothing follows: small models copy it less often after more words.
        if self.error_hint is not None:
            return _join(proposal, self.error_hint)
        return proposal or rewrite


def _name_exceptions(listing: str) -> str:
    """Return how to read the keys of described results for which every dict has a method of the same name."""
    returns = (line.partition("Returns")[2] for line in listing.splitlines())
    names = [*dict.fromkeys(name for text in returns for name in _RETURNED_KEY.findall(text))]
    attributes, keys = (f"r.{name}" for name in names), (item_text("r", name) for name in names)
    return f" NOT {', '.join(attributes)}: write {', '.join(keys)}." if names else ""


def _called_tools(result: ExecutionResult) -> list[str]:
    return [*dict.fromkeys(call["name"] for call in result.tool_calls)]


def _join(*lines: str | None) -> str:
    return "\n".join(filter(None, lines))
