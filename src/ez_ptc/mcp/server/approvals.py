"""Asking a client's user about calls.

There are two ways, by the protocol's version. Older clients answer an elicitation while the call waits. Newer ones have
no channel for that: the call ends with the question, and comes again with the answer and with the digest of what was
asked, so that an approval counts for the very arguments that were shown.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from ez_ptc.mcp.client.texts import clean_text
from ez_ptc.tools.decisions import Approve, Deny

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from ez_ptc.messages import PendingCall
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["AnswerNeeded", "ApprovalDesk", "can_ask", "can_ask_now", "decision_of", "questions_about"]

_FIELD: Final = "approve"
_KEY: Final = "approval"
_MAX_QUESTION: Final = 4_000
_BOOLEAN: Final = {"type": "boolean", "title": "Approve this call", "default": False}
_SCHEMA: Final[dict[str, Any]] = {"type": "object", "properties": {_FIELD: _BOOLEAN}, "required": [_FIELD]}


class AnswerNeeded(BaseException):
    """Ends a call whose approval comes with a later request; it is no error that anything between may handle."""

    def __init__(self, result: types.InputRequiredResult) -> None:
        super().__init__()
        self.result = result


def can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client lets us ask its user."""
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def can_ask_now(context: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client lets us ask its user while a call waits."""
    return can_ask(context) and context.session.can_send_request


def _question_about(tool: str, arguments: object) -> types.ElicitRequest:
    """Return the question whether a call may run, with its arguments."""
    shown = json.dumps(arguments, indent=2, ensure_ascii=False, default=str)
    text = clean_text(f"Allow the call of {tool} with these arguments?\n{shown}", _MAX_QUESTION)
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=text, requested_schema=_SCHEMA))


def decision_of(answer: object) -> Approve | Deny:
    """Return the decision in a user's answer; anything but a clear yes refuses."""
    # A client may accept the form without a yes in it.
    if isinstance(answer, types.ElicitResult) and answer.action == "accept":
        if (answer.content or {}).get(_FIELD) is True:
            return Approve()
        return Deny("the user did not approve it")
    return Deny("the user declined or did not answer")


class ApprovalDesk:
    """Makes approvers for the calls of clients."""

    def __init__(self) -> None:
        # Of this process: a question is answered within minutes, or asked again.
        self._secret = secrets.token_bytes(32)

    def approver(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams | None
    ) -> Approver | None:
        """Return the approver of one request, or None if the client's user cannot be asked.

        Without `params`, an approver that asks by ending the call is not possible.
        """
        if can_ask_now(context):

            async def ask(call: PendingCall) -> Approve | Deny:
                question = _question_about(call.tool, call.arguments).params
                return decision_of(
                    await context.session.send_request(types.ElicitRequest(params=question), types.ElicitResult)
                )

            return ask
        if params is None or not can_ask(context):
            return None

        async def recall(call: PendingCall) -> Approve | Deny:
            content = json.dumps([call.tool, call.arguments], sort_keys=True, default=str)
            digest = hmac.new(self._secret, content.encode(errors="replace"), hashlib.sha256).hexdigest()
            answers = params.input_responses or {}
            if _KEY in answers and hmac.compare_digest(digest, params.request_state or ""):
                return decision_of(answers[_KEY])
            questions: types.InputRequests = {_KEY: _question_about(call.tool, call.arguments)}
            raise AnswerNeeded(types.InputRequiredResult(input_requests=questions, request_state=digest))

        return recall


def questions_about(calls: tuple[PendingCall, ...]) -> types.InputRequests:
    """Return the questions about the calls of a program that has paused, by their ids."""
    return {call.id: _question_about(call.tool, call.arguments) for call in calls}
