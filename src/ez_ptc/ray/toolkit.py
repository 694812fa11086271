"""`RayToolkit`: the toolkit of a module, whose programs run on the nodes of a Ray cluster."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._closing import AsyncClosable
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.ray import wire
from ez_ptc.ray.calling import ClusterCaller, ProgramSettings
from ez_ptc.ray.functions import RayFunctions
from ez_ptc.ray.pool import PoolSettings
from ez_ptc.ray.programs import LocalTool
from ez_ptc.ray.running import ProgramEvents, aevents, arun, run
from ez_ptc.ray.session import RaySession, aopen_session, open_session
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.loading import split_reference
from ez_ptc.toolkit.validation import check_program
from ez_ptc.tools.decisions import require_decisions
from ez_ptc.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from ez_ptc.ray.links import Cluster
    from ez_ptc.sandbox.protocol.events import ProgramEvent
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.toolkit.checking import Mistake
    from ez_ptc.toolkit.execution.programs import Repair
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

__all__ = ["RayToolkit"]

_RESUME: Final = "resume(run_id, {result.pending[0].id: True})"


@explain_calls(
    checks="""after allow_imports:str code decisions format id max_text on_tool_call principal run_id timeout
    """
)
@dataclass(frozen=True, eq=False)
class RayToolkit(RayFunctions, AsyncClosable):
    """The toolkit of a module, with programs and tools on the nodes of a Ray cluster.

        with RayToolkit("shop:toolkit", address="10.0.0.5:6379", num_cpus=2) as toolkit:
            print(toolkit.execute("price_of('lamp')").return_value)

    Actors of the cluster import the module, so it has to be installed on the nodes or come with Ray's `runtime_env`.
    Each actor runs programs in the sandbox of its node. An actor is started for a program without a free one, and
    ends after a minute without programs; Ray decides about its place and room. Methods and results are those of
    `Toolkit`. Use it as a context manager or call `close()` to end the actors; it may be used from any thread and event
    loop. The connection of the process to Ray stays until `ray.shutdown()`.

    Attributes:
        reference: The Toolkit, as module:name.
        address: The cluster's, as for `ray.init`. By default, that of the process or of RAY_ADDRESS; else a cluster
            starts here.
        num_cpus: The cores to reserve for each actor.
        resources: Other resources to reserve for it, by name.
        local: Tools to run in this process: programs call them back, for 3 to 10 ms a call.
        allow_imports: The packages you expect the toolkit to allow; a difference is an error. By
            default, any.
        max_concurrency: The programs of an actor at a time.
        max_actors: The most actors, or None for as many as programs ask for.
        start_timeout: The maximum seconds a program waits for an actor.
        idle_timeout: The seconds after which an actor without a program gives its room back, or None to keep it until
            `close()`. Without a journal, one with a failed program stays for ten minutes, for `execute(after=...)`.
        ray_options: Further options of Ray's for actors, such as {"num_gpus": 1, "runtime_env": {...}}.
    """

    reference: str
    address: str | None = None
    _: KW_ONLY
    num_cpus: float = 1
    resources: Mapping[str, float] | None = None
    local: Iterable[Tool[..., Any] | Any] = ()
    allow_imports: Iterable[str] | None = None
    max_concurrency: int = 1
    max_actors: int | None = None
    start_timeout: float = 120.0
    idle_timeout: float | None = 60.0
    ray_options: Mapping[str, Any] | None = None
    _caller: ClusterCaller = field(init=False)
    _texts: dict[object, Any] = field(init=False, default_factory=dict[object, Any])

    def __post_init__(self) -> None:
        """Check the options; Ray is imported, and the cluster reached, with the first program.

        Raises:
            ToolkitImportError: The reference is not module:name.
            TypeError, ValueError: An option is of a wrong type or size, or a local tool is not a tool.
            SchemaError, DuplicateToolError: A local function cannot be a tool, or two have one name.
        """
        split_reference(self.reference)
        for name in ("max_concurrency", "max_actors"):
            count: object = getattr(self, name)
            if count is not None and (type(count) is not int or count < 1):
                message = f"RayToolkit: expected {name} to be a positive int, got {safe_repr(count)}"
                raise ValueError(message)
        for name in ("num_cpus", "start_timeout", "idle_timeout"):
            number: object = getattr(self, name)
            if number is None and name == "idle_timeout":
                continue
            if type(number) not in {int, float} or not number >= 0:  # pyright: ignore[reportOperatorIssue] - a number
                message = f"RayToolkit: expected {name} to be a number >= 0, got {safe_repr(number)}"
                raise ValueError(message)
        if isinstance(self.allow_imports, str):
            message = f"allow_imports: expected a list of packages, got a str; write [{safe_repr(self.allow_imports)}]"
            raise TypeError(message)
        imports = None if self.allow_imports is None else tuple(sorted({*self.allow_imports}))
        registry = ToolRegistry(self.local)
        tools = {tool.name: tool for tool in registry}
        caller = ClusterCaller(
            partial(self._connect, [LocalTool.of(tool) for tool in registry]),
            tools,
            PoolSettings(imports, self.max_concurrency, self.max_actors, self.idle_timeout),
            start_timeout=self.start_timeout,
        )
        vars(self).update(local=tuple(registry), allow_imports=imports, _caller=caller)

    def _connect(self, local: list[LocalTool]) -> Cluster:
        from ez_ptc.ray.cluster import connect

        options = {**(self.ray_options or {}), "num_cpus": self.num_cpus}
        if self.resources is not None:
            options["resources"] = dict(self.resources)
        arguments = self.reference, local
        return connect(arguments, address=self.address, programs=self.max_concurrency, options=options)

    def __repr__(self) -> str:
        return f"RayToolkit({self.reference!r})"

    # Programs ---------------------------------------------------------------------------------------------------------

    def execute(  # noqa: PLR0913 - users type them
        self,
        code: str,
        timeout: float | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        repair: Repair | None = None,
        max_attempts: int = 3,
        run_id: str | None = None,
        principal: str | None = None,
        after: ExecutionResult | None = None,
        reread: bool = False,
        max_text: int | None = None,
    ) -> ExecutionResult:
        """Run a program on a node and return its result, as `Toolkit.execute` does, with the same arguments.

        `approve`, `on_tool_call` and `repair` stay here and are called back; `context` is pickled. With a journal
        shared by all nodes, a program goes on elsewhere if its node dies, and repeats no recorded call; a context of
        plain data or a principal is needed for that.

        Raises as `Toolkit.execute` does, and:
            MissingExtraError: Ray is not installed.
            ClusterError: The cluster cannot be reached, or a node's library, interpreter or `allow_imports` differ.
            ToolkitImportError: The module cannot be imported on a node, or has no such Toolkit.
            Overloaded: No actor was free or could be started within `start_timeout`.
            WorkerDiedError: The actor or its node died while the program ran: it may have had effects.
            TypeError: The context cannot be pickled.
        """
        check_program(code)
        arguments = {"code": code, "timeout": timeout, "max_attempts": max_attempts, "run_id": run_id}
        arguments |= {"principal": principal, "reread": reread, "max_text": max_text}
        functions = {"approve": approve, "on_tool_call": on_tool_call, "repair": repair}
        settings = ProgramSettings(arguments, context, functions=functions, after=after)
        return run(self._caller.converse("execute", settings))

    async def aexecute(  # noqa: PLR0913 - users type them
        self,
        code: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's time, not the task's
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        repair: Repair | None = None,
        max_attempts: int = 3,
        run_id: str | None = None,
        principal: str | None = None,
        after: ExecutionResult | None = None,
        reread: bool = False,
        max_text: int | None = None,
    ) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it ends the program."""
        check_program(code)
        arguments = {"code": code, "timeout": timeout, "max_attempts": max_attempts, "run_id": run_id}
        arguments |= {"principal": principal, "reread": reread, "max_text": max_text}
        functions = {"approve": approve, "on_tool_call": on_tool_call, "repair": repair}
        settings = ProgramSettings(arguments, context, functions=functions, after=after)
        await self._caller.aconnect()
        return await arun(self._caller.converse("execute", settings))

    def stream(self, code: str, timeout: float | None = None) -> ProgramEvents:
        """Run a program on a node, and iterate over its events in order; the last is `ProgramEnded`, with the result.

        The program waits if too many events are not read. Leaving the iteration, or closing the iterator, ends the
        program. If it goes on elsewhere, events come again. Raises as `execute` does.
        """
        check_program(code)
        settings = ProgramSettings({"code": code, "timeout": timeout})
        return ProgramEvents(self._caller.converse("execute", settings, streams=True))

    async def astream(
        self,
        code: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's time, not the task's
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
    ) -> AsyncGenerator[ProgramEvent]:
        """Same as `stream`, but iterates asynchronously. The other arguments are those of `aexecute`."""
        check_program(code)
        functions = {"approve": approve, "on_tool_call": on_tool_call}
        settings = ProgramSettings({"code": code, "timeout": timeout}, context, functions=functions)
        await self._caller.aconnect()
        async with aclosing(aevents(self._caller.converse("execute", settings, streams=True))) as events:
            async for event in events:
                yield event

    def resume(  # noqa: PLR0913 - users type them
        self,
        run_id: str,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
        upgrade: bool = False,
    ) -> ExecutionResult:
        """Continue a paused or lost run on any node, as `Toolkit.resume` does.

        All nodes have to share the journal. Raises as `Toolkit.resume` and `execute` do.
        """
        return run(
            self._caller.converse(
                "resume",
                ProgramSettings(
                    {"run_id": run_id, "principal": principal, "upgrade": upgrade},
                    context,
                    require_decisions(decisions, _RESUME),
                    {"approve": approve, "on_tool_call": on_tool_call},
                ),
            )
        )

    async def aresume(  # noqa: PLR0913 - users type them
        self,
        run_id: str,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
        upgrade: bool = False,
    ) -> ExecutionResult:
        """Same as `resume`, but awaits."""
        settings = ProgramSettings(
            {"run_id": run_id, "principal": principal, "upgrade": upgrade},
            context,
            require_decisions(decisions, _RESUME),
            {"approve": approve, "on_tool_call": on_tool_call},
        )
        await self._caller.aconnect()
        return await arun(self._caller.converse("resume", settings))

    def session(self, id: str | None = None, *, upgrade: bool = False) -> RaySession:  # noqa: A002 - what callers call it
        """Return a session on one node, whose programs share their variables. Close it before the toolkit.

        It has an actor for itself until it is closed. The arguments are those of `Toolkit.session`: with a shared
        journal, the `id` continues a session whose node has died on another one.
        """
        return open_session(self._caller, id, upgrade=upgrade)

    async def asession(self, id: str | None = None, *, upgrade: bool = False) -> RaySession:  # noqa: A002 - as `session`
        """Same as `session`, but awaits."""
        return await aopen_session(self._caller, id, upgrade=upgrade)

    # Texts ------------------------------------------------------------------------------------------------------------

    def prompt(self) -> str:
        """Return instructions for a system prompt, as `Toolkit.prompt` does, those of local tools included."""
        return self._text("prompt")

    async def aprompt(self) -> str:
        """Same as `prompt`, but awaits."""
        if ("prompt",) not in self._texts:
            message = await self._caller.aask("consult", "prompt", {})
            self._texts[("prompt",)] = wire.require(message, {"value": str})["value"]
        return self._texts[("prompt",)]

    def tool_prompt(self) -> str:
        """Return optional instructions for a system prompt, as `Toolkit.tool_prompt` does."""
        return self._text("tool_prompt")

    def tool_schema(self, format: str = "openai", *, after: bool = False) -> dict[str, Any]:  # noqa: A002 - as `Toolkit` has it
        """Return the definition of `execute_tools` as a provider's API expects it, as `Toolkit.tool_schema` does."""
        return self._text("tool_schema", format=format, after=after)

    def check(self, code: str) -> list[Mistake]:
        """Return the mistakes of a program, by line, without running it, as `Toolkit.check` does."""
        check_program(code)
        return wire.mistakes_from(self._caller.ask("consult", "check", {"code": code}))

    async def acheck(self, code: str) -> list[Mistake]:
        """Same as `check`, but awaits."""
        check_program(code)
        return wire.mistakes_from(await self._caller.aask("consult", "check", {"code": code}))

    def _text(self, name: str, **arguments: object) -> Any:
        key = name, *arguments.items()
        if key not in self._texts:
            self._texts[key] = wire.require(self._caller.ask("consult", name, arguments), {"value": object})["value"]
        return self._texts[key]

    # Ending -----------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the actors, running programs included: their callers get a SandboxError.

        Closing twice is harmless.
        """
        self._caller.pool.close()
