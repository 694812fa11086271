"""Programmatic tool calling: tools and a sandbox, exposed to a model as one tool."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from ez_ptc._closing import AsyncClosable
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.sandbox.host.packages import find_packages
from ez_ptc.sandbox.protocol.both_ends.predefined import PROVIDED, RESULT_READERS
from ez_ptc.sandbox.protocol.execution import Limits
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.catalog.listing import ToolCatalog
from ez_ptc.toolkit.corrections import Corrections
from ez_ptc.toolkit.execution.backends import check_name
from ez_ptc.toolkit.execution.callers import check_principal
from ez_ptc.toolkit.execution.programs import ProgramRunner
from ez_ptc.toolkit.execution.results.scopes import open_store
from ez_ptc.toolkit.execution.shared_sandbox import SandboxAccess
from ez_ptc.toolkit.functions import ProgramFunctions
from ez_ptc.toolkit.model_texts import ModelTexts
from ez_ptc.toolkit.shapes.observing import make_observer
from ez_ptc.toolkit.validation import check_program, check_settings
from ez_ptc.tools.definitions.names import tool_spellings
from ez_ptc.tools.registry import ToolRegistry
from ez_ptc.view.objects.viewable import Viewable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from os import PathLike
    from pathlib import Path

    from ez_ptc.journal.journal import Journal
    from ez_ptc.mcp.client.tools import McpTools
    from ez_ptc.mcp.server.served import Decider, ServeMode
    from ez_ptc.mcp.server.serving import McpServer
    from ez_ptc.openapi.http import HttpClient
    from ez_ptc.openapi.operations import ApiOperation
    from ez_ptc.sandbox.protocol.interfaces import Sandbox
    from ez_ptc.sandbox.protocol.isolation import Report
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.toolkit.catalog.listing import CatalogSize
    from ez_ptc.toolkit.catalog.ranking import ToolRanker
    from ez_ptc.toolkit.checking import Mistake
    from ez_ptc.toolkit.shapes.observing import ShapeSetting
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool
    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["Toolkit"]

# Imported with the first journal, not with the first run: a signal handler may run a program while another one begins,
# and must not meet a module that is half made.
_MODULES_OF_RUNS: Final = (
    "ez_ptc.journal.fingerprint",
    "ez_ptc.sandbox.protocol.tool_types",
    "ez_ptc.toolkit.execution.journaled.runs",
)


@explain_calls(
    checks="""__init__(journal) aexecute(after) aexecute(code) allow_imports:str answer(after) astream(code)
    check(code) decisions execute(after) execute(code) format get_tool() id limit max_text on_tool_call
    pinned principal run_id spill stream(code) text timeout tools
    """
)
@dataclass(frozen=True, eq=False)
class Toolkit(ProgramRunner, ProgramFunctions, ModelTexts, AsyncClosable, Viewable):
    """Tools for the programs a model writes, and the sandbox that runs the programs.

        with Toolkit([price_of], timeout=10) as toolkit:
            print(toolkit.execute("price_of('lamp')").return_value)

    Run programs by `execute`, `stream` or `session`, and continue a paused one by `resume`. For a model without tool
    calls: `prompt`, `extract_code` and `answer`; for a framework: `as_tool`; for MCP clients: `as_mcp_server`. More
    tools come from `from_mcp` and `from_openapi`. A toolkit is immutable, and may be used from any thread.

    Use it as a context manager or call `close()` to end the sandbox's processes, which end with the host in any case.
    Toolkits without a `sandbox` share one, whose processes end when the last of them is closed or dropped.

    Attributes:
        tools: Functions, tools made by `@ez_tool`, tools of agent frameworks, and lists or registries of them. Other
            names than identifiers are changed to one, and those that would hide a name of programs get an underscore.
        preamble, postamble: Replace the introduction of `prompt()`, and the instructions at its end.
        tool_preamble: Replaces the introduction of `tool_prompt()` and of the description of `execute_tools`.
        assist_tool_chaining: Describe each tool's return value to the model, if its return schema does.
        timeout: The maximum seconds a program may run; overrides the one in `limits`.
        error_hint: Replaces the sentence that asks a model to correct its program; "" omits it.
        limits: The other limits of a program.
        on_tool_call: Called with the record of each finished tool call, in the thread that ran the tool.
        sandbox: The sandbox to use instead of the shared one, which closing the toolkit does not close; or the name of
            the one to share: "process", "wasm", or one that another package adds.
        context: The value of the tools' `Context` parameters.
        approve: Decides about calls that require approval: it gets a `PendingCall` and returns True, a dict of other
            arguments, or a text with the reason to refuse. Without it, such calls are refused.
        reraise: Control-flow exceptions of a framework, such as `(GraphInterrupt,)`: they end the program, and
            `execute` raises them.
        allow_imports: Installed packages programs may import besides the standard library, such as `["numpy"]`. With
            `sandbox`, pass them to the sandbox instead.
        journal: The journal of runs, or the path of its file. With it, each call is recorded; a program that comes to a
            call no one can approve now pauses, and `resume` continues it, in any process.
        spill: A folder of this user's own for results that are too long for a model, beyond 64 MiB in memory.
        catalog: How many tools the prompts describe: "full", all; a number, up to so many tokens; "auto", up to 8,000
            characters, and otherwise a line or a group for each, which programs find with `search_tools(...)`.
        pinned: The tools, or their names, that are described in full in any case.
        ranker: Ranks tools for `search_tools` instead of BM25: gets a query and a dict of texts by name, returns names.
        shapes: Learns what tools without a return type return, from their results: the path of a file for it, or True
            for memory. A key is shown to models once it was in each of five results; it may be data.

    Raises:
        TypeError, ValueError: An argument is of a wrong type, unknown, or excluded by another one.
        SchemaError, DuplicateToolError: A function cannot be a tool, or two tools get the same name in programs.
        MissingExtraError, ShapesError, ToolNotFoundError: A package, the file `shapes` or a pinned tool is unusable.
    """

    # `help()` lists methods by name, but for those in `_fields`, which it puts first, in this order.
    _fields = (
        *("execute", "aexecute", "stream", "astream", "session", "resume", "check"),
        *("prompt", "extract_code", "answer", "as_tool", "as_mcp_server", "from_mcp", "from_openapi", "close"),
    )

    tools: Iterable[Tool[..., Any] | Any]
    preamble: str | None = None
    _: KW_ONLY
    postamble: str | None = None
    tool_preamble: str | None = None
    assist_tool_chaining: bool = False
    timeout: float | None = None
    error_hint: str | None = None
    limits: Limits = field(default_factory=Limits)
    on_tool_call: OnToolCall | None = None
    sandbox: Sandbox | str | None = None
    context: object = NO_CONTEXT
    approve: Approver | None = None
    reraise: tuple[type[BaseException], ...] = ()
    allow_imports: Iterable[str] = ()
    journal: Journal | str | Path | None = None
    spill: str | PathLike[str] | None = None
    catalog: CatalogSize = "auto"
    pinned: Iterable[Tool[..., Any] | Any] = ()
    ranker: ToolRanker | None = None
    shapes: ShapeSetting = None
    _registry: ToolRegistry = field(init=False)
    _access: SandboxAccess = field(init=False)
    _catalog: ToolCatalog = field(init=False)
    _owned: list[McpTools] = field(init=False, default_factory=list["McpTools"])

    def __post_init__(self) -> None:
        """Check the tools and settings."""
        check_settings(self.limits, self.approve, self.on_tool_call)
        packages = frozenset(find_packages(self.allow_imports).names)
        if isinstance(self.sandbox, str):
            check_name(self.sandbox)
        elif packages and self.sandbox is not None:
            message = "with sandbox=..., a Toolkit takes no allow_imports: pass them to ProcessSandbox"
            raise ValueError(message)
        registry = ToolRegistry(self.tools)
        spellings = tool_spellings((tool.name for tool in registry), PROVIDED | RESULT_READERS)
        registry = registry.renamed(spellings)
        catalog = ToolCatalog.of(self.catalog, self.pinned, spellings)
        limits = self.limits.with_timeout(self.timeout)
        journal = self.journal
        if journal is not None:
            from ez_ptc.journal.journal import Journal  # SQLite is not needed otherwise

            for module in _MODULES_OF_RUNS:
                import_module(module)
            if not isinstance(journal, Journal):
                journal = Journal(journal)
        # Into the instance's dict, because a frozen dataclass refuses assignment.
        vars(self).update(
            tools=tuple(registry),
            timeout=limits.timeout,
            limits=limits,
            allow_imports=tuple(sorted(packages)),
            journal=journal,
            pinned=tuple(self.pinned),
            _registry=registry,
            _catalog=catalog,
            _access=SandboxAccess(self.sandbox, packages),
            kept_results=open_store(self.spill),
            corrections=Corrections(),
            observed_shapes=make_observer(self.shapes, tuple(registry)),
        )

    @classmethod
    def from_mcp(cls, server: Any, *, tools: Iterable[Tool[..., Any]] = (), **options: Any) -> Self:  # noqa: ANN401 - as `mcp_tools` takes them
        """Connect to MCP servers and return a toolkit of their tools, which owns the connections: closing ends them.

        Args:
            server: A command, a URL, the `mcpServers` JSON or its file, or a list of these, as for `mcp_tools`.
            tools: Further tools.
            options: Options of `mcp_tools`, such as `prefix`, and of the toolkit, such as `timeout`.

        Raises as `mcp_tools` and the constructor do.
        """
        from ez_ptc.mcp.client.connect import mcp_tools, split_options

        connection, rest = split_options(options, cls)
        return cls._owning(mcp_tools(server, **connection), tools, rest)

    @classmethod
    async def afrom_mcp(cls, server: Any, *, tools: Iterable[Tool[..., Any]] = (), **options: Any) -> Self:  # noqa: ANN401 - as `mcp_tools` takes them
        """Same as `from_mcp`, but awaits; `server` may also be an open `ClientSession`, which stays open."""
        from ez_ptc.mcp.client.connect import amcp_tools, split_options

        connection, rest = split_options(options, cls)
        return cls._owning(await amcp_tools(server, **connection), tools, rest)

    @classmethod
    def _owning(cls, connection: McpTools, tools: Iterable[Tool[..., Any]], options: dict[str, Any]) -> Self:
        try:
            toolkit = cls([*connection, *tools], **options)
        except BaseException:
            connection.close()
            raise
        toolkit._owned.append(connection)
        return toolkit

    @classmethod
    def from_openapi(
        cls,
        spec: Mapping[str, Any] | str | PathLike[str],
        *,
        client: HttpClient | object,
        include: Callable[[ApiOperation], bool] | None = None,
        requires_approval: Callable[[ApiOperation], bool] | None = None,
        **options: Any,
    ) -> Self:
        """Make a toolkit of the operations of an HTTP API, from its OpenAPI document.

        `options` are the toolkit's own. The other arguments, and what is raised and warned, are those of
        `openapi_tools`.
        """
        from ez_ptc.openapi.tools import openapi_tools

        tools = openapi_tools(spec, client=client, include=include, requires_approval=requires_approval)
        return cls(tools, **options)

    def __repr__(self) -> str:
        # Only names: the context, approver and listener may hold secrets.
        return f"Toolkit({', '.join(tool.name for tool in self._registry)})"

    def _view_parts(self) -> tuple[ViewPart, ...]:
        """Return the first 50 tools."""
        from ez_ptc.view.objects.parts import NotePart, TablePart

        rows = [
            (
                tool.name,
                tool.prose.partition("\n")[0],
                "reads" * bool(tool.read_only),
                "asks first" * bool(tool.requires_approval),
            )
            for tool in islice(self._registry, 50)
        ]
        return NotePart(f"Toolkit with tools: {len(self)}"), TablePart(
            ("tool", "description", "effect", "approval"), rows
        )

    def __len__(self) -> int:
        return len(self._registry)

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._registry)

    def get_tool(self, name: str) -> Tool[..., Any]:
        """Return the tool called `name`. Raises ToolNotFoundError with the available names, nearest first."""
        return self._registry[name]

    def as_mcp_server(  # noqa: PLR0913 - users type them
        self,
        name: str = "ez-ptc",
        *,
        mode: ServeMode | None = None,
        allow_host: Iterable[str] | str = (),
        allow_origin: Iterable[str] | str = (),
        decide: Decider = "person",
        principal: str | None = None,
        question_timeout: float = 50.0,
    ) -> McpServer:
        """Return the toolkit as an MCP server: `run()` serves it on standard input and output, `run_http()` over HTTP.

        Calls are checked, approved and run as everywhere. If the toolkit has no approver, the client's user is asked,
        if the client can; else a program pauses, if the toolkit has a journal, and goes on once a person has decided.

        Args:
            name: The server's name.
            mode: "tools" serves each tool, "programs" serves `execute_tools` with tools to search and describe, "both"
                all of these. By default, "tools" for at most 40 tools.
            allow_host: Over HTTP, further names by which clients reach the server, such as a proxy's.
            allow_origin: Over HTTP, the origins of web pages that may call, such as "https://shop.example".
            decide: "client" lets `resume_program` take decisions: the client's model then speaks for the person.
            principal: For whom all clients of this server run programs. By default, a run belongs to the session or
                connection that started it, and no other can continue it.
            question_timeout: The seconds that the client's user has to answer while a call waits.

        Raises:
            MissingExtraError: The extra `mcp` is not installed.
            ValueError: The mode is unknown, a tool has the name of one that it adds, or an allowed host or origin is
                none; or `decide="client"` is not possible: the toolkit has its own `approve`, or no journal.
            SchemaError, DuplicateToolError: A tool cannot be described to clients.
        """
        from ez_ptc.mcp.sdk import require_mcp
        from ez_ptc.mcp.server.admission import AllowList
        from ez_ptc.mcp.server.served import ServeSettings

        check_principal(principal)
        settings = ServeSettings.of(self, mode, decide=decide, principal=principal, question_timeout=question_timeout)
        require_mcp()
        from ez_ptc.mcp.server.serving import McpServer

        return McpServer(self, name, settings, allowed=AllowList.of(allow_host, allow_origin))

    # Checking programs ------------------------------------------------------------------------------------------------

    def check(self, code: str) -> list[Mistake]:
        """Return the mistakes of a program, by line, without running it: those for which `execute` would refuse it.

        They are errors that the program must end with. A program without any may fail nevertheless.
        """
        from ez_ptc.toolkit.checking import check_program as check_mistakes

        check_program(code)
        return check_mistakes(code, self.limits, self._channel.grants, self._channel.finders)

    def stubs(self) -> str:
        """Return the text of a `.pyi` file with the tools, for type checkers and editors.

        Save it as `__builtins__.pyi` beside saved programs: pyright and ty know its names everywhere then.
        """
        from ez_ptc.toolkit.stubs import write_stubs

        grants = self._channel.grants.by_name.values()
        if self.observed_shapes is not None:
            grants = map(self.observed_shapes.complete, grants)
        return write_stubs(grants)

    @property
    def isolation(self) -> Report:
        """What runs the programs, and the isolation that it enforces. Boots the sandbox if necessary.

        Raises IsolationUnavailableError if programs cannot be isolated here.
        """
        return self._access.open().isolation

    def close(self) -> None:
        """Give up the sandbox. The last toolkit that shares it ends its processes.

        If a program is still running in them, its caller gets a SandboxError. Closing twice is harmless, in a signal
        handler too.
        """
        self._access.close()
        if self.observed_shapes is not None:
            self.observed_shapes.settle()
        for connection in self._owned:
            connection.close()
