"""Checking the arguments of one call against a function's parameters, and converting them to its types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, cast

from pydantic import ValidationError

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.context import NO_CONTEXT, ContextParameter, context_arguments
from ez_ptc.schema.arguments.core_paths import Places
from ez_ptc.schema.arguments.errors import Complaints, DescribedParameter
from ez_ptc.schema.arguments.repair import Repaired, repair_values
from ez_ptc.schema.arguments.validation import ArgumentsValidation, TooCostlyError
from ez_ptc.schema.arguments.value_sizes import is_little
from ez_ptc.schema.bound_call import BoundCall

__all__ = ["ArgumentBinder"]

_TOO_COSTLY: Final = (
    "the arguments take too long to check for their size: send fewer values at a time, or nest them less deeply"
)


@dataclass(frozen=True, slots=True)
class ArgumentBinder:
    """Binds the arguments of a call to the parameters of one function.

    `fields` are its parameters in order, `positional` the names of those that may be passed by position, `nullable`
    those without a default that become None when omitted. `contexts` has the context parameters by name,
    `by_position_only` the positional-only ones. `validation` checks and converts a dict of all arguments, `places`
    knows the expected type at each path.
    """

    tool: str
    fields: Mapping[str, DescribedParameter]
    positional: tuple[str, ...]
    contexts: Mapping[str, ContextParameter]
    by_position_only: Mapping[str, object]
    nullable: tuple[str, ...]
    validation: ArgumentsValidation
    places: Places

    @property
    def takes_others(self) -> bool:
        """Never: a function names its parameters."""
        return False

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object], *, context: object = NO_CONTEXT) -> BoundCall:
        """Check and convert a caller's arguments, and add the host's context.

        Every parameter may be passed by name. Raises `ArgumentsError` with all problems, and TypeError if the host
        passes no context although one is needed.
        """
        passed = cast("dict[str, object]", kwargs)
        sentences: tuple[str, ...] = ()
        has_surplus = False
        if args:
            passed = {**dict(zip(self.positional, args, strict=False)), **kwargs}
            has_surplus = len(passed) < len(args) + len(kwargs)
        if not has_surplus and passed.keys() <= self.fields.keys():
            try:
                values = self.validation.quick(passed)
            except ValidationError as error:
                values, sentences = self._repair(args, kwargs, error)
            except TooCostlyError:
                self._refuse(_TOO_COSTLY)
            except Exception:  # noqa: BLE001 - the validators of a type are foreign code and may raise anything
                values, sentences = self._repair(args, kwargs, None)
        else:
            values, sentences = self._repair(args, kwargs, None)
        for name in self.nullable:
            values.setdefault(name, None)
        if self.contexts:
            values.update(context_arguments(self.tool, self.contexts, context))
        by_position: tuple[object, ...] = ()
        if self.by_position_only:
            last = max((number for number, name in enumerate(self.by_position_only) if name in values), default=-1)
            names = list(self.by_position_only)[: last + 1]
            by_position = tuple(values.pop(name, self.by_position_only[name]) for name in names)
        return BoundCall(by_position, values, sentences)

    def is_quick(self, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
        """Return whether `bind` takes a few milliseconds at most, and runs no foreign code."""
        return self.validation.is_ready and is_little(args, kwargs) and not self.validation.runs_code

    def _repair(
        self, args: Sequence[object], kwargs: Mapping[str, object], error: ValidationError | None
    ) -> tuple[dict[str, object], tuple[str, ...]]:
        """Repair what can be repaired. Raises ArgumentsError with all remaining problems."""
        complaints = Complaints(self.fields, self.places.names_at)
        values = complaints.of_names(self.positional, args, kwargs)
        repaired: Repaired | None = None
        try:
            repaired = self.validation.within(
                lambda given: repair_values(given, error, self.validation, self.places), values
            )
            if repaired.error is not None:
                complaints.of_values(repaired.error, repaired.values)
        except TooCostlyError:
            self._refuse(*complaints.problems(), _TOO_COSTLY)
        except Exception:  # noqa: BLE001 - the validators of a type are foreign code and may raise anything
            self._complain_of_each(complaints, values)
        problems = complaints.problems()
        if problems or repaired is None or repaired.result is None:
            self._refuse(*problems)
        return repaired.result, repaired.sentences

    def _refuse(self, *problems: str) -> NoReturn:
        message = f"{self.tool}: {'; '.join(problems)}"
        raise ArgumentsError(message, problems=problems) from None

    def _complain_of_each(self, complaints: Complaints, values: Mapping[str, object]) -> None:
        # Missing arguments have been reported; pydantic's errors about them are skipped.
        for name, value in values.items():
            try:
                repaired = repair_values({name: value}, None, self.validation, self.places)
                if repaired.error is not None:
                    complaints.of_values(repaired.error, repaired.values)
            except TooCostlyError:
                self._refuse(*complaints.problems(), _TOO_COSTLY)
            except Exception as error:  # noqa: BLE001 - the validators of a type are foreign code and may raise anything
                complaints.of_raised(name, value, error)
