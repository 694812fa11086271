"""The arguments of one call, checked against a function's parameters and made into the types that it asks for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import ValidationError

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.complaints import Complaints, Field

__all__ = ["ArgumentBinder", "BoundCall"]


@dataclass(frozen=True, slots=True)
class BoundCall:
    """What to call the function with: `function(*call.args, **call.kwargs)`."""

    args: tuple[object, ...]
    kwargs: dict[str, object]


@dataclass(frozen=True, slots=True)
class ArgumentBinder:
    """Binds the arguments of a call to the parameters of one function.

    `fields` are its parameters in order, `positional` the names of those that may be passed by position, `nullable`
    those that become None when they are left out although they have no default. `by_position_only` has those that must
    be passed by position, with their defaults. `validate` is pydantic's validation of a dict of all arguments.
    """

    tool: str
    fields: Mapping[str, Field]
    positional: tuple[str, ...]
    by_position_only: Mapping[str, object]
    nullable: tuple[str, ...]
    validate: Callable[[dict[str, Any]], dict[str, Any]]

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> BoundCall:
        """Check and convert what a caller passed by position and by name.

        Every parameter may be passed by name. Raises `ArgumentsError` that names everything that is wrong at once.
        """
        values: dict[str, object] = dict(zip(self.positional, args, strict=False))
        if kwargs:
            if values and not values.keys().isdisjoint(kwargs):
                self._refuse(args, kwargs)
            values.update(kwargs)
        if len(args) > len(self.positional) or not values.keys() <= self.fields.keys():
            self._refuse(args, kwargs)
        try:
            values = self.validate(values)
        except ValidationError as error:
            self._refuse(args, kwargs, error)
        for name in self.nullable:
            values.setdefault(name, None)
        return self._bound(values) if self.by_position_only else BoundCall((), values)

    def _bound(self, values: dict[str, object]) -> BoundCall:
        last = max((number for number, name in enumerate(self.by_position_only) if name in values), default=-1)
        names = list(self.by_position_only)[: last + 1]
        args = tuple(values.pop(name, self.by_position_only[name]) for name in names)
        return BoundCall(args, values)

    def _refuse(
        self, args: Sequence[object], kwargs: Mapping[str, object], error: ValidationError | None = None
    ) -> NoReturn:
        # This is the slow way out, where a call may still be mended before it is refused.
        complaints = Complaints(self.fields)
        values = complaints.of_names(self.positional, args, kwargs)
        if error is None:
            try:
                self.validate(values)
            except ValidationError as found:
                error = found
        if error is not None:
            complaints.of_values(error, values)
        problems = complaints.problems()
        message = f"{self.tool}: {'; '.join(problems)}"
        raise ArgumentsError(message, problems=problems) from None
