"""Twins: types that pydantic takes, in place of types that it refuses or describes otherwise than we do.

Before Python 3.12 pydantic refuses `typing.TypedDict`, which most people use. Its twin is the same class made with
typing_extensions; what contains it (a generic, a dataclass, a named tuple) has a twin then as well.
"""

import dataclasses
import sys
import typing
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, NotRequired, Required, TypeVar, Union, cast

import typing_extensions
from pydantic import WrapValidator

__all__ = ["is_named_tuple", "is_record", "is_typed_dict", "twin"]

_TYPED_DICT_IS_TAKEN: Final = sys.version_info >= (3, 12)
_QUALIFIERS: Final = (Required, NotRequired, typing_extensions.ReadOnly)


def twin(annotation: object, *, namespace: dict[str, Any], records: bool = False) -> Any:  # noqa: ANN401 - any form of type
    """Return the annotation, or its twin where pydantic would not take it as it is.

    What a dataclass's or named tuple's twin validates becomes a value of the class itself. With `records`, each of them
    has a twin: the dict that a reader sees, good for describing only. `namespace` has names that annotations within
    classes may use where their modules do not know them.
    """
    if _TYPED_DICT_IS_TAKEN and not records:
        return annotation
    return _Twins(namespace, records=records).of(annotation)


def is_typed_dict(kind: object) -> bool:
    """Whether a type is a TypedDict class, by `typing` or by typing_extensions."""
    return typing.is_typeddict(kind) or typing_extensions.is_typeddict(kind)


def is_named_tuple(kind: object) -> bool:
    """Whether a type is a named tuple class."""
    fields: object = getattr(kind, "_fields", None)
    return isinstance(kind, type) and issubclass(kind, tuple) and fields is not None


def is_record(kind: object) -> bool:
    """Whether a type has named fields: a TypedDict, a dataclass, a named tuple or a pydantic model."""
    cls: object = typing.get_origin(kind) or kind
    tests = (is_typed_dict, dataclasses.is_dataclass, is_named_tuple, _is_model)
    return isinstance(cls, type) and any(test(cast("object", cls)) for test in tests)


def _is_model(kind: object) -> bool:
    return hasattr(kind, "model_fields")


class _Twins:
    def __init__(self, namespace: dict[str, Any], *, records: bool) -> None:
        self._namespace = namespace
        self._records = records
        self._known: dict[object, Any] = {}

    def of(self, annotation: Any) -> Any:  # noqa: ANN401 - any form of type
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        kind = origin if isinstance(origin, type) else annotation
        if isinstance(annotation, typing_extensions.TypeAliasType):
            return self._remembered(annotation, self._alias)
        if is_typed_dict(kind):
            return self._remembered(annotation, self._typed_dict)
        if is_named_tuple(kind) or (dataclasses.is_dataclass(kind) and not hasattr(kind, "__pydantic_fields__")):
            return self._remembered(annotation, self._class)
        if not arguments or origin is Literal:
            return annotation
        return self._generic(annotation, origin, arguments)

    def _remembered(self, annotation: Any, make: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - any form of type
        if annotation not in self._known:
            self._known[annotation] = annotation
            self._known[annotation] = make(annotation)
        return self._known[annotation]

    def _alias(self, alias: typing_extensions.TypeAliasType) -> object:
        value: object = alias.__value__
        changed = self.of(value)
        return alias if changed is value else changed

    def _generic(self, annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - any form of type
        inner = arguments[:1] if origin is Annotated else arguments
        changed: tuple[Any, ...] = tuple(map(self.of, inner))
        if all(new is old for new, old in zip(changed, inner, strict=True)):
            return annotation
        if origin is Annotated:
            return Annotated[changed[0], *arguments[1:]]
        if origin in (Union, UnionType):
            return Union[changed]  # noqa: UP007 - the members are known at run time only
        return origin[changed[0] if len(changed) == 1 else changed]

    def _typed_dict(self, annotation: Any) -> Any:  # noqa: ANN401 - any form of type
        cls = typing.get_origin(annotation) or annotation
        made = _empty_typed_dict(cls)
        self._known[annotation] = made
        hints = self._hints(annotation)
        return _filled(made, {name: self._entry(cls, name, hint) for name, hint in hints.items()})

    def _entry(self, cls: Any, name: str, hint: Any) -> Any:  # noqa: ANN401 - any form of type
        if typing.get_origin(hint) in _QUALIFIERS:
            return self.of(hint)
        return Required[self.of(hint)] if name in cls.__required_keys__ else NotRequired[self.of(hint)]

    def _class(self, annotation: Any) -> Any:  # noqa: ANN401 - any form of type
        cls = typing.get_origin(annotation) or annotation
        made = _empty_typed_dict(cls)
        if self._records:
            self._known[annotation] = made
        hints = self._hints(annotation)
        changed = {name: self.of(hints.get(name, Any)) for name in _field_names(cls, init=not self._records)}
        if self._records:
            return _filled(made, {name: Required[hint] for name, hint in changed.items()})
        if all(changed[name] is hints.get(name, Any) for name in changed):
            return annotation
        optional = _names_with_default(cls)
        entries = {name: NotRequired[hint] if name in optional else Required[hint] for name, hint in changed.items()}
        return Annotated[_filled(made, entries), WrapValidator(_Builder(cls))]

    def _hints(self, annotation: Any) -> dict[str, Any]:  # noqa: ANN401 - any form of type
        cls = typing.get_origin(annotation) or annotation
        try:
            hints = typing.get_type_hints(cls, include_extras=True)
        except NameError:  # a class that is local to a function: its module does not know its neighbours
            hints = typing.get_type_hints(cls, localns=self._namespace, include_extras=True)
        parameters: tuple[TypeVar, ...] = getattr(cls, "__parameters__", ())
        given = dict(zip(parameters, typing.get_args(annotation), strict=False))
        return {name: _substituted(hint, given) for name, hint in hints.items()} if given else hints


class _Builder:
    """Turns the fields that a twin has validated into a value of the class."""

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __call__(self, value: object, validate: Callable[[object], dict[str, object]]) -> object:
        return value if isinstance(value, self._cls) else self._cls(**validate(value))


def _empty_typed_dict(cls: type) -> Any:  # noqa: ANN401 - a class that is made at run time
    made: Any = typing_extensions.TypedDict(cls.__name__, {})  # pyright: ignore[reportArgumentType] - named at run time
    made.__module__, made.__qualname__ = cls.__module__, cls.__qualname__
    document = cls.__doc__
    generated = document is None or document.startswith(f"{cls.__name__}(")
    made.__doc__ = None if generated else document
    if (config := getattr(cls, "__pydantic_config__", None)) is not None:
        made.__pydantic_config__ = config
    return made


def _filled(made: Any, entries: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a class that is made at run time
    # Filled in place, because its own entries may refer to it.
    made.__annotations__ = dict(entries)
    made.__required_keys__ = frozenset(name for name, hint in entries.items() if typing.get_origin(hint) is Required)
    made.__optional_keys__ = frozenset(entries) - made.__required_keys__
    return made


def _field_names(cls: Any, *, init: bool) -> list[str]:  # noqa: ANN401 - a dataclass or a named tuple
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls) if field.init or not init]
    return list(cls._fields)


def _names_with_default(cls: Any) -> set[str]:  # noqa: ANN401 - a dataclass or a named tuple
    if not dataclasses.is_dataclass(cls):
        return set(cls._field_defaults)
    missing = dataclasses.MISSING
    fields = dataclasses.fields(cls)
    return {each.name for each in fields if each.default is not missing or each.default_factory is not missing}


def _substituted(hint: Any, given: Mapping[TypeVar, Any]) -> Any:  # noqa: ANN401 - any form of type
    if isinstance(hint, TypeVar):
        return given.get(hint, hint)
    parameters: tuple[TypeVar, ...] = getattr(hint, "__parameters__", ())
    if not parameters or isinstance(hint, type):
        return hint
    return hint[tuple(given.get(each, each) for each in parameters)]
