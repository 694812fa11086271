"""A registry of tools, by name and category."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import DuplicateToolError, ToolNotFoundError
from ez_ptc.formats.naming.resolution import Spellings
from ez_ptc.messages import ToolCall, ToolResult
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools import transforms
from ez_ptc.tools.approvals.approval import Approver
from ez_ptc.tools.call_lifetime import CallLife
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.conversion import to_tools
from ez_ptc.tools.decorators import tool as make_tool
from ez_ptc.tools.definitions.names import other_settings_text, unknown_tool_text
from ez_ptc.tools.outputs.failures import failure, logs_refusal
from ez_ptc.tools.tool import Tool

__all__ = ["ToolRegistry"]


@explain_calls(checks="approve exclude:str filtered(names:str) format max_text tools")
class ToolRegistry:
    """Tools by name, in the order of their registration.

        registry = ToolRegistry([price_of], approve=lambda call: True)
        print(registry.execute("price_of", product="lamp").output)

    `context` is the value of the tools' `Context` parameters, and `approve` decides about calls that require approval;
    both apply wherever the registry's tools are called from. `max_text` is the maximum number of characters of a result
    for a model, 30,000 by default; a longer one is shortened. Iterating yields the tools; `name in registry`,
    `len(registry)` and `registry[name]`, which raises ToolNotFoundError, work as in a dict.

    An element is a tool, a function, a list or registry of them, or an agent framework's tool or set of tools. Raises
    TypeError for anything else, SchemaError if it cannot be a tool, and DuplicateToolError if two tools have the same
    name.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any] | Any] = (),
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        max_text: int | None = None,
    ) -> None:
        self._tools: dict[str, Tool[..., Any]] = {}
        self._settings = CallSettings(context, approve, max_text=max_text)
        if callable(tools) or isinstance(tools, str) or not hasattr(tools, "__iter__"):
            name = getattr(tools, "__name__", None)
            if isinstance(getattr(tools, "tools", None), tuple):
                message = f"expected a list of tools, got a {type(tools).__name__}: write [*toolkit] for its tools"
            elif name is None or not callable(tools):
                message = (
                    f"expected a list of tools, got {type(tools).__name__}: write [find, book] with your functions"
                )
            elif isinstance(tools, Tool):
                message = f"expected a list of tools, got the tool {name}: write [{name}]"
            else:
                message = f"expected a list of tools, got {name}: write [{name}]"
            raise TypeError(message)
        for thing in tools:
            for tool in thing if isinstance(thing, ToolRegistry) else to_tools(thing):
                self.register(tool)

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool[..., Any]:
        if not isinstance(name, str) or name not in self._tools:  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            raise ToolNotFoundError(unknown_tool_text(name, self._tools))
        return self._tools[name]

    def __repr__(self) -> str:
        return f"ToolRegistry({', '.join(self._tools)})"

    @logs_refusal
    def register(self, tool: Tool[..., Any] | Callable[..., Any]) -> None:
        """Add a tool, or a function as `@tool` does; `get` returns it with this registry's context and approver.

        Adding a tool again has no effect. Raises TypeError if it is neither, and DuplicateToolError if another tool has
        its name, or this one comes from registries with different contexts or approvers.
        """
        tools = to_tools(tool, make_tool)
        if len(tools) != 1:
            message = f"expected one tool, got {len(tools)}: write ToolRegistry([...])"
            raise TypeError(message)
        registered = tool = tools[0]
        if not self._settings.is_empty:
            registered = tool.from_definition(tool.definition, self._settings.over(tool.settings))
        # One atomic step, so two threads cannot register different tools under one name.
        present = self._tools.setdefault(tool.name, registered)
        if present.definition is not tool.definition:
            message = f"two tools are called {tool.name!r}: give one another name, @ez_tool(name=...)"
            raise DuplicateToolError(message)
        if present != registered:
            raise DuplicateToolError(other_settings_text(tool.name))

    def get(self, name: str) -> Tool[..., Any] | None:
        """Return the tool called `name`, or None."""
        return self._tools.get(name)

    def list_tools(self, category: str | None = None) -> list[Tool[..., Any]]:
        """Return the tools of a category, or all."""
        return [tool for tool in self if category is None or tool.category == category]

    # Formats ----------------------------------------------------------------------------------------------------------

    def to_format(
        self,
        format: str,  # noqa: A002 - the word users know
        category: str | None = None,
        *,
        strict: bool = False,
        hosted: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the tools of a category, or all, as a provider's API expects them.

        With `hosted`, they are for the programs that Anthropic or OpenAI ("openai-responses") run. Raises as
        `Tool.to_format` does, DuplicateToolError if two names become equal under the provider's rules, and ValueError
        for `hosted` with another provider.
        """
        from ez_ptc.formats.catalog import describe_all

        return describe_all(self.list_tools(category), format, strict=strict, hosted=hosted)

    def to_openai_format(self, category: str | None = None) -> list[dict[str, Any]]:
        """Return the tools of a category, or all, for OpenAI's Chat Completions."""
        return self.to_format("openai", category)

    def to_anthropic_format(self, category: str | None = None) -> list[dict[str, Any]]:
        """Return the tools of a category, or all, for Anthropic's Messages."""
        return self.to_format("anthropic", category)

    # Calls ------------------------------------------------------------------------------------------------------------

    def execute(self, /, *tool_name: str, **arguments: object) -> ToolResult:
        """Run a tool by name, `execute("find", city="Oslo")`, and return its result; never raises.

        Errors are logged and returned in the result, an unknown tool too. `tool_name=` works as well.
        """
        return self.run(_to_call(tool_name, arguments))

    async def aexecute(self, /, *tool_name: str, **arguments: object) -> ToolResult:
        """Same as `execute`, but awaits; a synchronous function runs in a worker thread."""
        return await self.arun(_to_call(tool_name, arguments))

    def run(self, call: ToolCall, *, max_text: int | None = None) -> ToolResult:
        """Run a call from a provider's answer and return its result; never raises.

        Another spelling of a name, such as `functions.find` or `Find`, is understood if it stands for one tool only.
        `max_text` is the bound of the result's text for a model, instead of the registry's.
        """
        tool = self._resolve(call.name)
        if tool is None:
            return self._fail_unknown(call.name)
        return tool.run(call, CallSettings(max_text=max_text))

    async def arun(self, call: ToolCall, life: CallLife | None = None, *, max_text: int | None = None) -> ToolResult:
        """Same as `run`, but awaits; a synchronous function runs in a worker thread.

        `life` is the caller's side of the call.
        """
        tool = self._resolve(call.name)
        if tool is None:
            return self._fail_unknown(call.name)
        return await tool.arun(call, CallSettings(max_text=max_text), life=life)

    def _resolve(self, name: str) -> Tool[..., Any] | None:
        """Return the tool with this name in a model's spelling, or None."""
        if (tool := self.get(name)) is not None:
            return tool
        own_name = Spellings({known: known for known in list(self._tools)}).find(name)
        return None if own_name is None else self.get(own_name)

    def _fail_unknown(self, name: str) -> ToolResult:
        error = ToolNotFoundError(unknown_tool_text(name, self._tools))
        return failure(str(name), error, max_text=self._settings.text_bound, keeper=self._settings.keeper)

    # Transforms: each returns a new registry with the same context and approver ---------------------------------------

    def filtered(
        self,
        test: Callable[[Tool[..., Any]], bool] | None = None,
        *,
        names: Collection[str] | None = None,
        category: str | None = None,
        exclude: Collection[str] = (),
    ) -> "ToolRegistry":
        """Return a registry of the tools that meet every condition given, without those in `exclude`."""
        return self._with_tools(transforms.filtered(self, test, names=names, category=category, exclude=exclude))

    def prefixed(self, prefix: str) -> "ToolRegistry":
        """Return a registry of the same tools with `prefix` before each name."""
        return self._with_tools(transforms.prefixed(self, prefix))

    def renamed(self, names: Mapping[str, str] | None = None, /, **more: str) -> "ToolRegistry":
        """Return a registry of the same tools with some renamed: `renamed(find="find_order")`."""
        return self._with_tools(transforms.renamed(self, {**(names or {}), **more}))

    def with_approval(self, *names: str) -> "ToolRegistry":
        """Return a registry whose tools with these names, or all without names, require approval."""
        return self._with_tools(transforms.with_approval(self, *names))

    def _with_tools(self, tools: Iterable[Tool[..., Any]]) -> "ToolRegistry":
        settings = self._settings
        return ToolRegistry(tools, context=settings.context, approve=settings.approve, max_text=settings.max_text)


def _to_call(tool_name: tuple[str, ...], arguments: dict[str, object]) -> ToolCall:
    names: tuple[object, ...] = tool_name
    if not names and "tool_name" in arguments:
        names = (arguments.pop("tool_name"),)
    if len(names) != 1:
        message = f"execute() takes one tool name and the tool's arguments by keyword; got {len(names)} names"
        raise TypeError(message)
    if isinstance(names[0], Tool):
        message = f"execute() takes the name of a tool, got the tool itself: write execute({names[0].name!r}, ...)"
        raise TypeError(message)
    return ToolCall("", str(names[0]), arguments)
