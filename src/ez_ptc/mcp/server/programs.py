"""Programs of clients: running them, and continuing those that wait for a person.

A person decides: the toolkit's approver, the client's user by the protocol's means, or someone with the journal.
`resume_program` continues a run after that. It takes decisions of its own only with `decide="client"`: the
client's model, as the writer of the call, then speaks for the person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types
from mcp import MCPError

from ez_ptc._sync import to_thread_and_back
from ez_ptc.errors import JournalError
from ez_ptc.formats import mcp as mcp_format
from ez_ptc.mcp.server.approvals import (
    AnswerNeeded,
    OpenQuestions,
    ask_now,
    call_key,
    can_ask_later,
    can_ask_now,
    decision_of,
)
from ez_ptc.mcp.server.callers import caller_of
from ez_ptc.mcp.server.progress import RequestProgress
from ez_ptc.messages import ToolCall, ToolResult
from ez_ptc.tools.approvals.questions import write_question
from ez_ptc.tools.decisions import Approve, Decision, Deny, Pause

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp.server.context import ServerRequestContext

    from ez_ptc.journal.run import Run
    from ez_ptc.mcp.server.served import ServedToolkit, ServeSettings
    from ez_ptc.messages import PendingCall
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.tools.approvals.approval import Approver

    _Context = ServerRequestContext[Any, Any]

__all__ = ["ServedPrograms", "no_open_question", "text_argument", "texts_argument"]

_ELSEWHERE: Final = (
    "Once the person has decided, call resume_program with run_id {run_id!r}. Tell them which run it is."
)
_BY_CLIENT: Final = (
    "Ask the person about each. Then call resume_program with run_id {run_id!r}, and in `approve` or `deny` the calls "
    "they have decided about, as they are named here."
)


class ServedPrograms:
    """Runs the programs of a server's clients."""

    def __init__(self, toolkit: ServedToolkit, settings: ServeSettings, questions: OpenQuestions) -> None:
        self._toolkit = toolkit
        self._settings = settings
        self._questions = questions
        # The client's user decides about no call that the host has an approver for.
        self._approvers = {tool.name: tool.settings.approve for tool in toolkit if tool.settings.approve is not None}

    async def execute(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Answer a call of `execute_tools`. Raises AnswerNeeded if the client's user is asked with the result."""
        code = text_argument(params, "code")
        caller = caller_of(context, self._settings.principal)
        if params.request_state is not None or params.input_responses:
            return await self._continue_with_answers(context, params, caller)
        asker = _Asker(context, self._settings.question_timeout, can_wait=self._toolkit.journal is not None)
        progress = RequestProgress(context, is_program=True)
        after: object = (params.arguments or {}).get("after")
        with self._toolkit.correcting(after, principal=caller) as correction, progress:
            result = await self._toolkit.aexecute(
                code,
                approve=self._approver(asker),
                on_tool_call=progress.count_call,
                principal=caller,
                after=correction.failed,
            )
            token = correction.end(result)
        await progress.sent()
        return self._answer(context, code, result, asker.problem, after=token)

    async def resume(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Answer a call of `resume_program`. Raises as `execute` does, and JournalError for others' runs."""
        run_id = text_argument(params, "run_id")
        caller = caller_of(context, self._settings.principal)
        if params.request_state is not None or params.input_responses:
            return await self._continue_with_answers(context, params, caller)
        approved, denied = (texts_argument(params, name) for name in ("approve", "deny"))
        if (approved or denied) and self._settings.decide != "client":
            message = (
                "this server takes no decisions from its client: a person decides, and then resume_program continues "
                "the run, with run_id alone; nothing was run"
            )
            return _failure(message)
        run = await self._run(run_id, caller)
        if run.state in {"done", "failed"} and run.result is not None:
            return self._answer(context, run.program, run.result)
        decisions: dict[str, object] = dict.fromkeys(_named_calls(run, approved), Approve())
        decisions |= dict.fromkeys(_named_calls(run, denied), Deny("the user did not approve it"))
        return await self._continue(context, run, decisions, caller)

    async def _continue_with_answers(
        self, context: _Context, params: types.CallToolRequestParams, caller: str
    ) -> types.CallToolResult:
        """Continue the run that a client's answers are about."""
        asked = self._questions.take(params.request_state or "", caller, None)
        if asked is None or asked.run_id is None:
            return no_open_question()
        run = await self._run(asked.run_id, caller)
        shown = {call_key(call): call.id for call in run.pending if call_key(call) in asked.digests}
        received = params.input_responses or {}
        answers = {shown[key]: decision_of(answer) for key, answer in received.items() if key in shown}
        decisions = {call: answer for call, answer in answers.items() if not isinstance(answer, Pause)}
        was_dismissed = len(decisions) < len(answers)
        if was_dismissed and not decisions:
            return _paused(run.id, run.pending, self._settings.decide, "the user dismissed the question")
        return await self._continue(context, run, decisions, caller, asks_later=not was_dismissed)

    async def _continue(
        self, context: _Context, run: Run, decisions: Mapping[str, object], caller: str, *, asks_later: bool = True
    ) -> types.CallToolResult:
        asker = _Asker(context, self._settings.question_timeout, can_wait=True)
        progress = RequestProgress(context, is_program=True)
        with self._toolkit.correcting(None, principal=caller) as correction, progress:
            result = await self._toolkit.aresume(run.id, decisions, approve=self._approver(asker), principal=caller)
            token = correction.end(result)
        await progress.sent()
        return self._answer(context, run.program, result, asker.problem, asks_later=asks_later, after=token)

    async def _run(self, run_id: str, caller: str) -> Run:
        """Return a run of a caller's own. Raises JournalError for any other, as for one that does not exist."""
        try:
            run = await to_thread_and_back(self._toolkit.open_journal().run, run_id)
        except JournalError:
            run = None
        if run is not None and run.principal == caller:
            return run
        message = "there is no such run of this client; nothing was run"
        raise JournalError(message)

    def _approver(self, asker: _Asker) -> Approver | None:
        if self._toolkit.approve is not None:
            return None
        approver = asker.approver()
        if approver is None and self._toolkit.journal is None:
            approver = _refuse
        if approver is None:
            return None
        return lambda call: self._approvers.get(call.tool, approver)(call)

    def _answer(
        self,
        context: _Context,
        code: str,
        result: ExecutionResult,
        problem: str | None = None,
        *,
        asks_later: bool = True,
        after: str | None = None,
    ) -> types.CallToolResult:
        """Return a program's result. Raises AnswerNeeded if it waits, and the client can ask its user."""
        if result.status == "paused" and result.run_id is not None:
            open_calls = [
                call for call in result.pending if call.state == "needs_approval" and call.tool not in self._approvers
            ]
            if asks_later and open_calls and self._toolkit.approve is None and can_ask_later(context):
                caller = caller_of(context, self._settings.principal)
                raise AnswerNeeded(self._questions.ask_about_run(caller, result.run_id, open_calls))
            return _paused(result.run_id, result.pending, self._settings.decide, problem)
        text = self._toolkit.answer(code, result, mode="tool", continues=False, after=after)
        content: list[types.ContentBlock] = [types.TextContent(text=text)]
        for image in result.images:
            (answer,) = mcp_format.results([(ToolCall("", "image", {}), ToolResult(success=True, output=image))])
            content += types.CallToolResult.model_validate(answer, by_name=False).content
        return types.CallToolResult(content=content, is_error=not result.success)


def _refuse(call: PendingCall) -> Deny:
    del call
    return Deny("this client's user cannot be asked while a program runs, and the server has no journal to wait with")


class _Asker:
    """Asks the client's user about the calls of one request, while they wait; `problem` says why that failed last."""

    def __init__(self, context: _Context, seconds: float, *, can_wait: bool) -> None:
        self.problem: str | None = None
        self._context = context
        self._seconds = seconds
        self._can_wait = can_wait

    def approver(self) -> Approver | None:
        """Return the approver, or None if the client's user cannot be asked meanwhile."""
        return self._ask if can_ask_now(self._context) else None

    async def _ask(self, call: PendingCall) -> Decision:
        answer = await ask_now(self._context, call, self._seconds)
        if isinstance(answer, Pause):
            answer = "the user dismissed the question"
        if not isinstance(answer, str):
            return answer
        self.problem = answer
        return Pause() if self._can_wait else Deny(answer)


def no_open_question() -> types.CallToolResult:
    """Return the result for answers that no open question of the caller belongs to."""
    return _failure(
        "the answer belongs to no open question of this client: it was answered already, has expired, or is about "
        "another call; nothing was run. A program that waits goes on with resume_program; else make the call again"
    )


def text_argument(params: types.CallToolRequestParams, name: str) -> str:
    """Return a required text. Raises MCPError if it is none."""
    value = (params.arguments or {}).get(name)
    if not isinstance(value, str):
        raise MCPError(types.INVALID_PARAMS, f"{params.name}: expected {name} to be a string")
    return value


def texts_argument(params: types.CallToolRequestParams, name: str) -> list[str]:
    """Return an optional list of texts. Raises MCPError if it is another value."""
    value: object = (params.arguments or {}).get(name)
    values: list[object] = [] if value is None else [value]
    if isinstance(value, list):
        values = cast("list[object]", value)
    texts = [item for item in values if isinstance(item, str)]
    if len(texts) < len(values):
        raise MCPError(types.INVALID_PARAMS, f"{params.name}: expected {name} to be a list of strings")
    return texts


def _paused(
    run_id: str, pending: Iterable[PendingCall], decide: str, problem: str | None = None
) -> types.CallToolResult:
    """Return the result of a program that waits: its id, and the questions."""
    pending = tuple(pending)
    count = "1 call" if len(pending) == 1 else f"{len(pending)} calls"
    waits = f"The program waits for a person's decision about {count}"
    how = (_BY_CLIENT if decide == "client" else _ELSEWHERE).format(run_id=run_id)
    if problem:
        waits += f": {problem}"
    parts = [f"{waits}. {how}"]
    for call in pending:
        name = f"\n{call_key(call)}: " if decide == "client" else "\n"
        parts.append(f"{name}{write_question(call)}")
    return types.CallToolResult(content=[types.TextContent(text="\n".join(parts))])


def _named_calls(run: Run, keys: Iterable[str]) -> list[str]:
    """Return the ids of the pending calls that a client names. Raises JournalError for any other name."""
    calls = {call_key(call): call.id for call in run.pending if call.state == "needs_approval"}
    unknown = [key for key in keys if key not in calls]
    if unknown:
        message = (
            "expected calls that wait, each as `id@digest` as the program's result named it; nothing was decided or run"
        )
        raise JournalError(message)
    return [calls[key] for key in keys]


def _failure(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)
