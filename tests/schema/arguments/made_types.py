"""Types of parameters, made at random: recursive, unions of many, strict, with keys, sets and constraints."""

import dataclasses
import datetime as dt
import enum
import fractions
import ipaddress
import random
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import attrs
import msgspec
import typing_extensions
from pydantic import AnyUrl, ByteSize, ConfigDict, Field, Json, SecretStr, StringConstraints, create_model
from pydantic.errors import PydanticSchemaGenerationError

__all__ = ["KEYS", "made_type"]

KEYS = ("of", "left", "right", "items", "a", "b", "k", "v")
"""The names of the fields of records."""


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Right(enum.Flag):
    READ = 1
    WRITE = 2


SCALARS: tuple[Any, ...] = (
    *(int, float, str, bool, Decimal, bytes, None, complex, fractions.Fraction, uuid.UUID, Path, AnyUrl, SecretStr),
    *(dt.date, dt.datetime, dt.time, dt.timedelta, ipaddress.IPv4Network, ByteSize),
    *(Color, Level, Right, Any, Json[list[int]], re.Pattern[str], Literal["a", "b", 1]),
    Annotated[int, Field(ge=0, le=10, multiple_of=2)],
    Annotated[str, StringConstraints(pattern=r"^(a+)+$")],
    Annotated[str, StringConstraints(pattern=re.compile("(a|aa)+$", re.IGNORECASE))],
    Annotated[str, StringConstraints(min_length=2, strip_whitespace=True, to_lower=True)],
    Annotated[Decimal, Field(max_digits=5, decimal_places=2)],
    Annotated[list[int], Field(min_length=1, max_length=5)],
)
HASHABLE: tuple[Any, ...] = (
    *(int, float, str, Decimal, uuid.UUID, Color, bytes, fractions.Fraction, dt.timedelta, complex),
    *(tuple[int, ...], frozenset[int], Literal[1, 2]),
)
CONFIGS = (ConfigDict(), ConfigDict(extra="forbid"), ConfigDict(extra="ignore"), ConfigDict(strict=True))


def made_type(chance: random.Random) -> Any:  # noqa: ANN401 - any form of type
    """Return a type for a parameter."""
    maker = _Maker(chance)
    return maker.recursive() if chance.random() < 0.35 else maker.made(chance.choice((1, 2, 3)))


class _Maker:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._number = 0

    def made(self, depth: int) -> Any:  # noqa: ANN401 - any form of type
        choose = self._chance.choice
        if depth == 0:
            return choose(SCALARS)
        makers: list[Callable[[int], Any]] = [
            lambda _: choose(SCALARS),
            lambda _: set[choose(HASHABLE)],
            lambda depth: list[self.made(depth)],
            lambda depth: dict[choose((str, *HASHABLE)), self.made(depth)],
            lambda depth: tuple[self.made(depth), self.made(depth)],
            lambda depth: Union[self.made(depth), None],  # noqa: UP007 - the members are known at run time only
            self._union,
            self._union,
            self._record,
            self._record,
            lambda _: self.recursive(),
        ]
        return choose(makers)(depth - 1)

    def _union(self, depth: int) -> Any:  # noqa: ANN401 - any form of type
        members = tuple(self.made(depth) for _ in range(self._chance.choice((2, 2, 3, 6, 20))))
        return Union[members]  # noqa: UP007 - the members are known at run time only

    def _record(self, depth: int) -> Any:  # noqa: ANN401 - any form of type
        chance = self._chance
        many = [f"field_{number}" for number in range(chance.choice((0, 0, 0, 20)))]
        names = [*chance.sample(KEYS, chance.choice((1, 2, 3))), *many]
        fields = {name: self.made(depth) for name in names}
        makers = (self._model, self._dataclass, self._typed_dict, self._attrs, self._struct)
        return chance.choice(makers)(fields, chance.random() < 0.5)

    def _name(self) -> str:
        self._number += 1
        return f"Made{self._number}"

    def _model(self, fields: Mapping[str, Any], optional: bool) -> Any:  # noqa: ANN401 - any form of type
        entries: Any = {name: (kind, None) if optional else kind for name, kind in fields.items()}
        try:
            return create_model(self._name(), __config__=self._chance.choice(CONFIGS), **entries)
        except PydanticSchemaGenerationError:  # it knows nothing of attrs and msgspec
            return self._dataclass(fields, optional)

    def _dataclass(self, fields: Mapping[str, Any], optional: bool) -> Any:  # noqa: ANN401 - any form of type
        entries: Iterable[Any] = (
            (name, kind, dataclasses.field(default=None)) if optional else (name, kind) for name, kind in fields.items()
        )
        return dataclasses.make_dataclass(self._name(), entries)

    def _typed_dict(self, fields: Mapping[str, Any], optional: bool) -> Any:  # noqa: ANN401 - any form of type
        made: Any = typing_extensions.TypedDict
        return made(self._name(), dict(fields), total=not optional)

    def _attrs(self, fields: Mapping[str, Any], optional: bool) -> Any:  # noqa: ANN401 - any form of type
        none: dict[str, Any] = {"default": None} if optional else {}
        return attrs.make_class(self._name(), {name: attrs.field(type=kind, **none) for name, kind in fields.items()})

    def _struct(self, fields: Mapping[str, Any], optional: bool) -> Any:  # noqa: ANN401 - any form of type
        entries: Any = [(name, kind, None) if optional else (name, kind) for name, kind in fields.items()]
        return msgspec.defstruct(self._name(), entries)

    def recursive(self) -> Any:  # noqa: ANN401 - any form of type
        """Return a union of models that have one another in their fields."""
        chance = self._chance
        names = [self._name() for _ in range(chance.choice((2, 2, 3, 6)))]
        union = f"{' | '.join(names)} | {chance.choice(('str', 'int', 'float | str', 'bool | None'))}"
        models: dict[str, Any] = {}
        for name in names:
            keys = chance.sample(KEYS, chance.choice((1, 2, 3)))
            kinds = {key: chance.choice((union, f"list[{union}]", f"dict[str, {union}]", "str")) for key in keys}
            kinds |= {"op": f"Literal[{name!r}]"} if chance.random() < 0.3 else {}
            models[name] = self._model(kinds, chance.random() < 0.5)
        for model in models.values():
            model.model_rebuild(_types_namespace={**models, "Literal": Literal})
        return Union[(*models.values(), str)]
