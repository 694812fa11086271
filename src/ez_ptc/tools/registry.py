"""Tools by name and by category."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from ez_ptc.errors import DuplicateToolError, ToolNotFoundError
from ez_ptc.messages import ToolCall, ToolResult
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools import transforms
from ez_ptc.tools.approval import Approve
from ez_ptc.tools.calls import CallSettings
from ez_ptc.tools.definitions.names import not_found
from ez_ptc.tools.failures import failure, logs_refusal
from ez_ptc.tools.tool import Tool

__all__ = ["ToolRegistry"]


class ToolRegistry:
    """Tools by name, in the order in which they were registered; each name once.

    `context` is what the `Context` parameters of its tools get, and `approve` is asked about the calls of those that
    require approval, wherever the registry's tools are called from. Iterating gives the tools; `name in registry`,
    `len(registry)` and `registry[name]`, which raises ToolNotFoundError, work as in a dict.

    Raises TypeError for what is no tool, and DuplicateToolError where two have one name.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any]] = (),
        *,
        context: object = NO_CONTEXT,
        approve: Approve | None = None,
    ) -> None:
        self._tools: dict[str, Tool[..., Any]] = {}
        self._settings = CallSettings(context, approve)
        for tool in _several(tools):
            self.register(tool)

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(tuple(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool[..., Any]:
        if name not in self._tools:
            raise ToolNotFoundError(not_found(name, self._tools))
        return self._tools[name]

    def __repr__(self) -> str:
        return f"ToolRegistry({', '.join(self._tools)})"

    @logs_refusal
    def register(self, tool: Tool[..., Any]) -> Tool[..., Any]:
        """Add a tool, and return it with this registry's context and approval; adding it again changes nothing.

        Raises TypeError for what is no tool, and DuplicateToolError where another one has its name.
        """
        if not isinstance(tool, Tool):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may not check types
            name = getattr(tool, "__name__", None) or type(tool).__name__
            message = f"expected a Tool, got {name}: write @ez_tool above it, or ez_tool({name})"
            raise TypeError(message)
        own = tool if self._settings.is_empty else tool.changed(settings=self._settings.over(tool.settings))
        if self._tools.setdefault(tool.name, own).definition is not tool.definition:
            message = f"two tools are called {tool.name!r}: give one another name, @ez_tool(name=...)"
            raise DuplicateToolError(message)
        return self._tools[tool.name]

    def get(self, name: str) -> Tool[..., Any] | None:
        """Return the tool called `name`, or None where there is none."""
        return self._tools.get(name)

    def list_tools(self, category: str | None = None) -> list[Tool[..., Any]]:
        """Return the tools of a category, or all."""
        return [tool for tool in self if category is None or tool.category == category]

    # What a model reads -----------------------------------------------------------------------------------------------

    def to_format(
        self,
        format: str,  # noqa: A002 - the word users know
        category: str | None = None,
        *,
        strict: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the tools of a category, or all, as a provider takes them.

        Raises what `Tool.to_format` raises, and DuplicateToolError where the provider's rules for names make two of
        them one.
        """
        from ez_ptc.formats.catalog import describe_all

        return describe_all(self.list_tools(category), format, strict=strict)

    def to_openai_format(self, category: str | None = None) -> list[dict[str, Any]]:
        """Return the tools of a category, or all, for OpenAI's Chat Completions."""
        return self.to_format("openai", category)

    def to_anthropic_format(self, category: str | None = None) -> list[dict[str, Any]]:
        """Return the tools of a category, or all, for Anthropic's Messages."""
        return self.to_format("anthropic", category)

    # Calls ------------------------------------------------------------------------------------------------------------

    def execute(self, /, *tool_name: str, **arguments: object) -> ToolResult:
        """Run a tool by its name, `execute("find", city="Oslo")`, and return how it ended; nothing is raised.

        An unknown tool and wrong arguments are failed results too. The name may also be given as `tool_name=`.
        """
        return self.run(_call(tool_name, arguments))

    async def aexecute(self, /, *tool_name: str, **arguments: object) -> ToolResult:
        """Do the same as `execute`, but await; a function that is not asynchronous runs in a worker thread."""
        return await self.arun(_call(tool_name, arguments))

    def run(self, call: ToolCall) -> ToolResult:
        """Run a call as a provider's answer has it, and return how it ended; nothing is raised."""
        tool = self.get(call.name)
        return self._unknown(call.name) if tool is None else tool.run(call)

    async def arun(self, call: ToolCall) -> ToolResult:
        """Do the same as `run`, but await; a function that is not asynchronous runs in a worker thread."""
        tool = self.get(call.name)
        return self._unknown(call.name) if tool is None else await tool.arun(call)

    def _unknown(self, name: str) -> ToolResult:
        return failure(str(name), ToolNotFoundError(not_found(name, self._tools)))

    # Collections: each returns a new registry, with the same context and approval -------------------------------------

    def filtered(
        self,
        test: Callable[[Tool[..., Any]], bool] | None = None,
        *,
        names: Collection[str] | None = None,
        category: str | None = None,
        exclude: Collection[str] = (),
    ) -> "ToolRegistry":
        """Return a registry of the tools that pass the test, have one of the names and are of the category."""
        return self._of(transforms.filtered(self, test, names=names, category=category, exclude=exclude))

    def prefixed(self, prefix: str) -> "ToolRegistry":
        """Return a registry of the same tools with `prefix` before each name."""
        return self._of(transforms.prefixed(self, prefix))

    def renamed(self, names: Mapping[str, str] | None = None, /, **more: str) -> "ToolRegistry":
        """Return a registry of the same tools, some under other names: `renamed(find="find_order")`."""
        return self._of(transforms.renamed(self, {**(names or {}), **more}))

    def with_approval(self, *names: str) -> "ToolRegistry":
        """Return a registry in which the tools of these names, or all, require approval."""
        return self._of(transforms.with_approval(self, *names))

    def _of(self, tools: Iterable[Tool[..., Any]]) -> "ToolRegistry":
        return ToolRegistry(tools, context=self._settings.context, approve=self._settings.approve)


def _several(tools: object) -> Iterable[Tool[..., Any]]:
    if isinstance(tools, Tool):
        name = cast("Tool[..., Any]", tools).name
        message = f"expected a list of tools, got the tool {name}: write [{name}]"
        raise TypeError(message)
    return cast("Iterable[Tool[..., Any]]", tools)


def _call(tool_name: tuple[str, ...], arguments: dict[str, object]) -> ToolCall:
    given = (*tool_name, arguments.pop("tool_name")) if not tool_name and "tool_name" in arguments else tool_name
    if len(given) != 1:
        message = f"execute() takes one tool's name, and its arguments by name; got {len(given)} names"
        raise TypeError(message)
    return ToolCall("", str(given[0]), arguments)
