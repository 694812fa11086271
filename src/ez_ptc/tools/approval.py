"""A person's approval of a call, before it has any effect."""

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

__all__ = ["Approve", "Question", "asking", "not_answered", "someone_to_ask"]

_REASON_WIDTH: Final = 500

Approve = Callable[[ToolCall], Any]
"""Asks a person about a call.

Its `arguments` are what will run, as JSON: checked, converted, with defaults and without what the host adds. True runs
it; a dict runs it with these arguments instead, as does True after its `arguments` were changed, and they are checked
again. Text refuses it and is the reason, and anything else refuses it. It may be asynchronous where the call is
awaited. What it raises refuses the call, and is logged and not told to the model.
"""


def someone_to_ask(tool: str, approve: Approve | None) -> Approve:
    """Return the approver, or raise ToolError if there is none."""
    if approve is None:
        message = f"{tool} requires approval, but no approver is set: pass approve=... to the call, registry or Toolkit"
        raise ToolError(message)
    return approve


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked about a call that is bound: `call` is theirs to change, `shown` says what it was."""

    call: ToolCall
    shown: dict[str, object]
    defaults: frozenset[str]

    @classmethod
    def about(cls, tool: "Definition", bound: "BoundCall") -> "Question":
        """Ask about exactly what will run. What is shown of it is JSON, and shares nothing with it."""
        given, defaults = tool.arguments_of(bound)
        values = {**given, **defaults}
        in_order = dict.fromkeys([*tool.parameters["properties"], *values])
        shown: dict[str, object] = {name: _as_shown(values[name]) for name in in_order if name in values}
        return cls(ToolCall("", tool.name, copy.deepcopy(shown)), shown, frozenset(defaults))

    def decided(self, answer: object) -> dict[str, object] | None:
        """Return the arguments to run the call with instead, or None to run it as it is.

        Raises ToolError, whose message a model may read, for anything but a yes.
        """
        if answer is True:
            answer = self.call.arguments
        if isinstance(answer, dict):
            instead = cast("dict[str, object]", answer)
            return None if instead == self.shown else {k: v for k, v in instead.items() if not self._is_default(k, v)}
        reason = safe_line(answer.strip(), _REASON_WIDTH) if isinstance(answer, str) else ""
        message = f"{self.call.name} was not approved{f': {reason}' if reason else ''}"
        raise ToolError(message)

    def _is_default(self, name: str, value: object) -> bool:
        # It need not be of the type that the parameter asks for, and the function has it anyway.
        return name in self.defaults and value == self.shown[name]


def _as_shown(value: object) -> object:
    """Return a value as JSON with all that its records have: how they are written elsewhere may leave fields out."""
    from ez_ptc.formats.content import as_json

    return as_json(_by_fields(value))


def _by_fields(value: Any) -> Any:  # noqa: ANN401 - any value
    kind = cast("Any", type(value))
    if kind is dict:
        return {key: _by_fields(each) for key, each in value.items()}
    if kind in (list, tuple, set, frozenset):
        return [_by_fields(each) for each in value]
    fields = getattr(kind, "__pydantic_fields__", None)
    if getattr(kind, "__pydantic_root_model__", False):
        return _by_fields(value.root)
    if isinstance(fields, dict):
        names = {name: _name_in_json(name, info) for name, info in cast("dict[str, Any]", fields).items()}
        others: dict[str, Any] = getattr(value, "__pydantic_extra__", None) or {}
        return {**{names[name]: _by_fields(getattr(value, name)) for name in names}, **_by_fields(others)}
    if is_dataclass(kind):
        return {each.name: _by_fields(getattr(value, each.name)) for each in dataclass_fields(kind)}
    return value


def _name_in_json(name: str, info: Any) -> str:  # noqa: ANN401 - what pydantic knows of a field
    alias = info.validation_alias or info.alias
    return alias if isinstance(alias, str) else name


@contextlib.contextmanager
def asking(tool: str, reraise: tuple[type[BaseException], ...]) -> Generator[None]:
    """Turn a failure of the approver into a refusal. Its error is logged and not shown to the model.

    Exceptions of the kinds in `reraise` are raised as they are.
    """
    try:
        yield
    except reraise:
        raise
    except Exception as error:  # the approver is foreign code and may raise anything
        log_error(f"asking about {tool} failed", error)
        message = f"{tool} was not approved: its approver failed (the log of 'ez_ptc.tools' has the error)"
        raise ToolError(message) from error


def not_answered(tool: str, seconds: float | None) -> ToolError:
    """Return the error of a call whose approver has not answered in time."""
    return ToolError(f"{tool} was not approved: there was no answer within {seconds:g} s")
