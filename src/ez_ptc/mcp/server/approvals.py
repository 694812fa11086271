"""Asking a client's user about calls.

There are two ways, by the protocol's version. Clients until 2025 answer an elicitation while the call waits, on the
stream of that call; the answer is the response to that request. Clients since 2026 cannot be asked meanwhile: the call
ends with the questions, by the keys of the calls, and comes again with the answers.

The state of such a request is a random token. It stands for the caller that was asked, and for each call with the
digest of its question. It is taken once, so no answer counts twice, and never for another caller.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from anyio import BrokenResourceError, ClosedResourceError
from mcp import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ez_ptc.tools.approvals.questions import write_question
from ez_ptc.tools.decisions import Approve, Decision, Deny, Pause

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp.server.context import ServerRequestContext

    from ez_ptc.messages import PendingCall

    _Context = ServerRequestContext[Any, Any]

__all__ = [
    "AnswerNeeded",
    "AskedCalls",
    "OpenQuestions",
    "ask_now",
    "call_key",
    "can_ask_later",
    "can_ask_now",
    "decision_of",
]

_FIELD: Final = "approve"
_BOOLEAN: Final = {"type": "boolean", "title": "Approve this call", "default": False}
_SCHEMA: Final[dict[str, Any]] = {"type": "object", "properties": {_FIELD: _BOOLEAN}, "required": [_FIELD]}
_CALL_META: Final = "ez-ptc/call"
_TOKEN_BYTES: Final = 24
_MAX_OPEN: Final = 10_000
_MAX_AGE_SECONDS: Final = 86_400.0


class AnswerNeeded(BaseException):
    """Ends a call whose approval comes with a later request; it is no error that anything between may handle."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__()
        self.result = result


@dataclass(frozen=True, slots=True)
class AskedCalls:
    """Questions for a caller: about the calls of the run `run_id`, or about a call of the tool `tool`.

    `digests` has the digest of each call as it was shown, by the call's key.
    """

    caller: str
    tool: str | None
    run_id: str | None
    digests: Mapping[str, str]


class OpenQuestions:
    """The questions that clients since 2026 have been asked and have not answered, in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: dict[str, tuple[float, AskedCalls]] = {}

    def ask_about_tool(self, caller: str, tool: str, call: PendingCall) -> types.InputRequiredResult:
        """Return the result that asks about a call of a tool."""
        return self._ask(AskedCalls(caller, tool, None, {call_key(call): call.digest}), [call])

    def ask_about_run(self, caller: str, run_id: str, calls: Sequence[PendingCall]) -> types.InputRequiredResult:
        """Return the result that asks about calls of a run."""
        return self._ask(AskedCalls(caller, None, run_id, {call_key(call): call.digest for call in calls}), calls)

    def _ask(self, asked: AskedCalls, calls: Sequence[PendingCall]) -> types.InputRequiredResult:
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            if len(self._asked) >= _MAX_OPEN:
                del self._asked[next(iter(self._asked))]
            self._asked[token] = time.monotonic(), asked
        questions: types.InputRequests = {
            call_key(call): types.ElicitRequest(params=_question_about(call)) for call in calls
        }
        return types.InputRequiredResult(input_requests=questions, request_state=token)

    def take(self, token: str, caller: str, tool: str | None) -> AskedCalls | None:
        """Return the questions of a token, about a call of a tool or, with None, about a run.

        None if there are none: they were answered, have expired, or are another caller's or about something else.
        """
        with self._lock:
            since, asked = self._asked.get(token, (0.0, None))
            if asked is None or (asked.caller, asked.tool) != (caller, tool):
                return None
            del self._asked[token]
        return asked if time.monotonic() - since < _MAX_AGE_SECONDS else None


def call_key(call: PendingCall) -> str:
    """Return the key of a call's question and answer: its id, and the digest of what was shown."""
    return f"{call.id}@{call.digest}"


def can_ask_now(context: _Context) -> bool:
    """Return whether the client's user can be asked while a call waits."""
    return _can_elicit(context) and context.session.can_send_request


def can_ask_later(context: _Context) -> bool:
    """Return whether a result may ask the client's user, for a request that comes again with the answer."""
    return _can_elicit(context) and context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def ask_now(context: _Context, call: PendingCall, seconds: float) -> Decision | str:
    """Ask the client's user while the call waits; return the decision, or why there is none."""
    request = types.ElicitRequest(params=_question_about(call))
    stream = ServerMessageMetadata(related_request_id=context.request_id)
    try:
        answer = await context.session.send_request(request, types.ElicitResult, seconds, metadata=stream)
    except MCPError as error:
        if error.error.code == types.REQUEST_TIMEOUT:
            return f"the client did not answer within {seconds:g} s"
        return "the client could not ask its user"
    except (ValidationError, ClosedResourceError, BrokenResourceError):
        return "the client's answer could not be read"
    return decision_of(answer)


def decision_of(answer: object) -> Decision:
    """Return the decision in a user's answer: anything but a clear yes refuses, and a dismissed question waits."""
    if isinstance(answer, types.ElicitResult):
        if answer.action == "accept" and (answer.content or {}).get(_FIELD) is True:
            return Approve()
        if answer.action == "cancel":
            return Pause()
    return Deny("the user did not approve it")


def _can_elicit(context: _Context) -> bool:
    capabilities = context.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    # Neither mode named is the form of the versions that had no other.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _question_about(call: PendingCall) -> types.ElicitRequestFormParams:
    meta: Any = {_CALL_META: call_key(call)}
    return types.ElicitRequestFormParams(message=write_question(call), requested_schema=_SCHEMA, _meta=meta)
