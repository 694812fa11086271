"""Approval of a call, before it has any effect."""

import contextlib
import inspect
from collections.abc import Callable, Coroutine, Generator
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, cast

from ez_ptc._warnings import warn_caller
from ez_ptc._wrong_calls import other_parameters
from ez_ptc.errors import NotApprovedError, ToolError
from ez_ptc.messages import PendingCall
from ez_ptc.schema.arguments.replacement import detach
from ez_ptc.schema.safe_repr import safe_line, safe_repr_with_type
from ez_ptc.tools.approval_requests import ApprovalRequest, form_schema
from ez_ptc.tools.call_lifetime import CallInterrupted
from ez_ptc.tools.decisions import Decision, Deny, Pause
from ez_ptc.tools.outputs.failures import log_error

if TYPE_CHECKING:
    from ez_ptc.schema.bound_call import BoundCall
    from ez_ptc.tools.call_lifetime import CallLife
    from ez_ptc.tools.definitions.definition import Definition

__all__ = [
    "Approver",
    "AwaitableAnswer",
    "approval_request",
    "arguments_as_json",
    "ask",
    "check_approver",
    "conclude",
    "late_decision",
    "needs_approval",
    "refuse_on_failure",
    "require_answerable",
    "requires_decision",
    "verdict_problem",
]

Approver = Callable[[PendingCall], Any]
"""Decides about a call; it may be asynchronous if the call is awaited.

The call's `arguments` are exactly what will run, as JSON: checked, converted, with defaults, without `Context` values.
Return `Approve()`, `Deny("reason")` or `Pause()`, which leaves the decision for later. True is short for `Approve()`, a
dict of other arguments for `Approve(arguments)`, and text for `Deny(text)`; any other value refuses. Changing
`arguments` in place and approving runs the call with the changes. Changed arguments are checked again. An exception
refuses the call; it is logged, and the model does not see it.
"""


def check_approver(approve: object) -> None:
    """Raise TypeError for an approver that cannot be called with a call."""
    if approve is None:
        return
    if callable(approve) and not isinstance(approve, type):
        other = other_parameters(approve, 1)
        if other is None:
            return
        message = (
            f"expected approve to be a function of one argument, the call, got {other}: write one that reads "
            f"call.tool and call.arguments, as in approve=lambda call: call.arguments['amount'] < 100"
        )
        raise TypeError(message)
    message = (
        f"expected approve to be a function of the call, or None; got {safe_repr_with_type(approve)}: to approve every "
        f"call, write approve=lambda call: True"
    )
    raise TypeError(message)


def needs_approval(tool: "Definition", bound: "BoundCall") -> bool:
    """Return whether a checked call needs approval. Runs the tool's predicate; where that fails, approval is needed.

    Warns of a predicate that fails. Raises NotApprovedError if it returns anything but True and False.
    """
    predicate = tool.requires_approval
    if predicate is True or predicate is False:
        return predicate
    values, defaults = tool.arguments_of(bound)
    call = PendingCall("", tool.name, detach({**values, **defaults}), "")
    try:
        verdict = predicate(call)
    except Exception as error:  # noqa: BLE001 - the predicate is foreign code and may raise anything
        log_error(f"deciding whether {tool.name} requires approval failed, so it does", error)
        warn_caller(
            f"{tool.name} requires approval: its requires_approval raised {type(error).__name__} (the log of "
            f"'ez_ptc.tools' has the error)"
        )
        return True
    if verdict is True or verdict is False:
        return verdict
    message = f"{tool.name} was not run: {verdict_problem(predicate, verdict)}"
    raise NotApprovedError(message)


def verdict_problem(predicate: object, verdict: object) -> str:
    """Return what is wrong with a predicate that has returned neither True nor False, by the type it returned."""
    # None may be a forgotten `return`, and what else Python takes for false says as little about the call.
    if isinstance(verdict, Coroutine):
        verdict.close()
    name = safe_line(str(getattr(predicate, "__name__", type(predicate).__name__)))
    received = "None" if verdict is None else type(cast("object", verdict)).__name__
    return (
        f"expected its requires_approval, {name}, to return True or False, got {received}: return False to let a call "
        f"run without asking"
    )


def requires_decision(tool: "Definition", bound: "BoundCall", life: "CallLife | None") -> bool:
    """Return whether a checked call runs only with a decision: as recorded, or by the rule, asked once a call."""
    recorded = None if life is None else life.verdict
    if recorded is not None:
        return recorded
    if needs_approval(tool, bound):
        return True
    if life is not None:
        life.clear()
    return False


def approval_request(tool: "Definition", bound: "BoundCall", life: "CallLife") -> ApprovalRequest:
    """Return a request that shows exactly what will run, as JSON that shares nothing with it."""
    original = arguments_as_json(tool, bound)
    passed, defaults = tool.arguments_of(bound)
    hidden = [
        name
        for name, value in {**passed, **defaults}.items()
        if type(original[name]) is str and original[name] != value and not _can_be_shown(_with_all_fields(value))
    ]
    secrets = tuple(filter(tool.secrets.is_secret, original))
    call = PendingCall(life.id, tool.name, detach(original), life.path)
    return ApprovalRequest(call, original, frozenset(defaults), tuple(hidden), secrets, form_schema(tool.parameters))


def arguments_as_json(tool: "Definition", bound: "BoundCall") -> dict[str, object]:
    """Return the arguments that will run, as JSON that shares nothing with them, with masks in place of secrets."""
    from ez_ptc.formats.content import as_json

    passed, defaults = tool.arguments_of(bound)
    values = {**passed, **defaults}
    arguments: dict[str, object] = {}
    for name in (*tool.properties, *values):
        if name in values and name not in arguments:
            arguments[name] = shown = as_json(_with_all_fields(values[name]))
            if tool.secrets.is_secret(name):
                arguments[name] = tool.secrets.mask(name, shown)
    return arguments


def _can_be_shown(value: object) -> bool:
    from ez_ptc.formats.content import to_json_types
    from ez_ptc.formats.encoding import NotEncodableError

    try:
        to_json_types(value)
    except NotEncodableError:
        return False
    return True


_Answered = tuple[ApprovalRequest, object]


def require_answerable(tool: str, approve: Approver | None, life: "CallLife") -> None:
    """Raise NotApprovedError if there is no approver, and the call cannot wait for a later decision."""
    if approve is None and not life.can_wait:
        message = f"{tool} requires approval, but no approver is set: pass approve=... to the call, registry or Toolkit"
        raise NotApprovedError(message)


def ask(tool: "Definition", bound: "BoundCall", approve: Approver | None, life: "CallLife") -> _Answered:
    """Return the request for a call's approval, and the answer: an earlier decision, or the approver's."""
    request = approval_request(tool, bound, life)
    decision = life.recall(request)
    if decision is not None:
        return request, decision
    if request.hidden:
        # No one can approve what they cannot see.
        return request, Deny(f"{', '.join(request.hidden)} is too large to be shown to a person: pass less")
    # Recorded first: if this process dies while a person is asked, the call still waits for the answer.
    try:
        life.mark(request)
    except ToolError as error:  # too large to be recorded
        return request, Deny(str(error))
    life.notify(request)
    if approve is None:
        return request, Pause()
    if inspect.iscoroutinefunction(approve):
        return request, AwaitableAnswer(approve, request.call)
    return request, approve(request.call)


class AwaitableAnswer:
    """The answer of an asynchronous approver. It is called when it is awaited: a cancelled caller never awaits it."""

    def __init__(self, approve: Callable[[PendingCall], Coroutine[object, object, object]], call: PendingCall) -> None:
        self._approve = approve
        self._call = call

    def __await__(self) -> Generator[Any, object, object]:
        return self._approve(self._call).__await__()


def conclude(request: ApprovalRequest, answer: object, life: "CallLife") -> Decision:
    """Record the decision in an answer, and return the one that counts.

    Raises:
        CallInterrupted: The call waits for a later decision.
        NotApprovedError: It would have to wait, and cannot.
    """
    decision = request.decision(answer)
    if isinstance(decision, Pause) and not life.can_wait:
        message = f"{request.call.tool} was not approved: its approver left the decision for later"
        raise NotApprovedError(message)
    decision = life.keep(request, decision)
    if isinstance(decision, Pause):
        raise CallInterrupted
    return decision


def late_decision(tool: str, life: "CallLife") -> Pause:
    """Return the decision about a call whose approver did not answer in time.

    Raises NotApprovedError if it cannot wait.
    """
    if not life.can_wait:
        message = f"{tool} was not approved: there was no answer within {life.approval_seconds:g} s"
        raise NotApprovedError(message)
    return Pause()


def _with_all_fields(value: Any) -> Any:  # noqa: ANN401 - any value
    """Return a value with every field of its records, including those its own serialization leaves out."""
    cls = cast("Any", type(value))
    if cls is dict:
        return {key: _with_all_fields(item) for key, item in value.items()}
    if cls in (list, tuple, set, frozenset):
        return [_with_all_fields(item) for item in value]
    fields = getattr(cls, "__pydantic_fields__", None)
    if getattr(cls, "__pydantic_root_model__", False):
        return _with_all_fields(value.root)
    if isinstance(fields, dict):
        extra: dict[str, Any] = getattr(value, "__pydantic_extra__", None) or {}
        declared: dict[str, Any] = {}
        for name, field in cast("dict[str, Any]", fields).items():
            alias = field.validation_alias or field.alias
            declared[alias if isinstance(alias, str) else name] = _with_all_fields(getattr(value, name))
        return {**declared, **_with_all_fields(extra)}
    if is_dataclass(cls):
        return {field.name: _with_all_fields(getattr(value, field.name)) for field in dataclass_fields(cls)}
    return value


@contextlib.contextmanager
def refuse_on_failure(tool: str, reraise: tuple[type[BaseException], ...]) -> Generator[None]:
    """Turn an exception of the approver into a refusal; it is logged, and the model does not see it.

    Exceptions of the types in `reraise` are raised unchanged.
    """
    try:
        yield
    except reraise:
        raise
    except Exception as error:  # the approver is foreign code and may raise anything
        log_error(f"asking for approval of {tool} failed", error)
        message = f"{tool} was not approved: its approver failed (the log of 'ez_ptc.tools' has the error)"
        raise NotApprovedError(message) from error
