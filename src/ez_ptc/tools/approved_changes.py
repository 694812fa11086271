"""A call that its approver has changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ez_ptc.schema.arguments.replacement import detached
from ez_ptc.tools.approval import Question

if TYPE_CHECKING:
    from ez_ptc.schema.arguments.binder import BoundCall
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["RawCall"]


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as it came: what is bound again where the approver has changed a part of it."""

    args: Sequence[object]
    kwargs: Mapping[str, object]
    context: object

    def changed(
        self, tool: "Definition", bound: "BoundCall", question: Question, instead: Mapping[str, object]
    ) -> "BoundCall":
        """Bind the call with other arguments; those that were not changed stay what they were when they were shown.

        Binding their JSON would not always make them again: validators would change them once more.
        """
        raw = {**dict(zip(tool.binder.positional, self.args, strict=False)), **self.kwargs}
        stays = {name for name, value in instead.items() if name in raw and value == question.shown.get(name, raw)}
        arguments = {name: raw[name] if name in stays else value for name, value in instead.items()}
        made = tool.binder.bind((), detached(arguments), context=self.context)
        before, _ = tool.arguments_of(bound)
        stays &= before.keys()
        named = zip(tool.binder.by_position_only, made.args, strict=False)
        return replace(
            made,
            args=tuple(before[name] if name in stays else value for name, value in named),
            kwargs={name: before[name] if name in stays else value for name, value in made.kwargs.items()},
        )
