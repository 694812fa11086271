"""Calls whose arguments the approver has changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ez_ptc.schema.arguments.replacement import detach
from ez_ptc.tools.approval_requests import ApprovalRequest, is_same

if TYPE_CHECKING:
    from ez_ptc.schema.bound_call import BoundCall
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["RawCall"]


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call's arguments before binding, kept for binding again if the approver changes some of them."""

    args: Sequence[object]
    kwargs: Mapping[str, object]
    context: object

    def rebind(
        self, tool: "Definition", bound: "BoundCall", request: ApprovalRequest, arguments: Mapping[str, object]
    ) -> "BoundCall":
        """Bind the call with the approver's arguments; unchanged ones keep the values that were approved.

        Binding the JSON of an unchanged value need not restore it: a validator could change it a second time.
        """
        raw = {**dict(zip(tool.binder.positional, self.args, strict=False)), **self.kwargs}
        unchanged = {
            name
            for name, value in arguments.items()
            if name in raw and name in request.original and is_same(value, request.original[name])
        }
        merged = {name: raw[name] if name in unchanged else value for name, value in arguments.items()}
        rebound = tool.binder.bind((), detach(merged), context=self.context)
        before, _ = tool.arguments_of(bound)
        unchanged &= before.keys()
        named = zip(tool.binder.by_position_only, rebound.args, strict=False)
        return rebound._replace(
            args=tuple(before[name] if name in unchanged else value for name, value in named),
            kwargs={name: before[name] if name in unchanged else value for name, value in rebound.kwargs.items()},
        )
