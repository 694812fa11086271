"""Approval of a call, before it has any effect."""

import contextlib
import copy
from collections.abc import Callable, Generator
from dataclasses import dataclass, is_dataclass
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.errors import ToolError
from ez_ptc.messages import ToolCall
from ez_ptc.schema.safe_repr import safe_line
from ez_ptc.tools.failures import log_error

if TYPE_CHECKING:
    from ez_ptc.schema.arguments.binder import BoundCall
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["ApprovalRequest", "Approve", "refuse_on_failure", "require_approver", "unanswered_error"]

_MAX_REASON_LENGTH: Final = 500

Approve = Callable[[ToolCall], Any]
"""Decides about a call; it may be asynchronous if the call is awaited.

The call's `arguments` are exactly what will run, as JSON: checked, converted, with defaults, without `Context` values.
Return True to run the call, or a dict of other arguments to run it with; changing `arguments` in place and returning
True does the same. Changed arguments are checked again. Return text to refuse with a reason; any other value refuses
too. An exception refuses the call; it is logged, and the model does not see it.
"""


def require_approver(tool: str, approve: Approve | None) -> Approve:
    """Return the approver, or raise ToolError if there is none."""
    if approve is None:
        message = f"{tool} requires approval, but no approver is set: pass approve=... to the call, registry or Toolkit"
        raise ToolError(message)
    return approve


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A bound call as the approver sees it.

    The approver may change `call`; `original` keeps the arguments as they were, and `defaults` the names of those that
    the caller did not pass.
    """

    call: ToolCall
    original: dict[str, object]
    defaults: frozenset[str]

    @classmethod
    def of_call(cls, tool: "Definition", bound: "BoundCall") -> "ApprovalRequest":
        """Return a request that shows exactly what will run, as JSON that shares nothing with it."""
        from ez_ptc.formats.content import as_json

        passed, defaults = tool.arguments_of(bound)
        values = {**passed, **defaults}
        in_order = dict.fromkeys([*tool.parameters["properties"], *values])
        original: dict[str, object] = {
            name: as_json(_with_all_fields(values[name])) for name in in_order if name in values
        }
        return cls(ToolCall("", tool.name, copy.deepcopy(original)), original, frozenset(defaults))

    def changed_arguments(self, answer: object) -> dict[str, object] | None:
        """Return the arguments to run the call with instead, or None to run it unchanged.

        Raises ToolError, with a message for the model, if the answer is not an approval.
        """
        if answer is True:
            answer = self.call.arguments
        if isinstance(answer, dict):
            arguments = cast("dict[str, object]", answer)
            if arguments == self.original:
                return None
            # A default need not have its parameter's type, and the function gets it in any case.
            return {
                name: value
                for name, value in arguments.items()
                if not (name in self.defaults and value == self.original[name])
            }
        message = f"{self.call.name} was not approved"
        reason = isinstance(answer, str) and safe_line(answer.strip(), _MAX_REASON_LENGTH)
        if reason:
            message += f": {reason}"
        raise ToolError(message)


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
        raise ToolError(message) from error


def unanswered_error(tool: str, seconds: float | None) -> ToolError:
    """Return the error of a call whose approver did not answer in time."""
    return ToolError(f"{tool} was not approved: there was no answer within {seconds:g} s")
