"""A secret is known by its type, whatever serializes it, checks it or describes it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Generic, NamedTuple, NewType, TypeVar

import pytest
import typing_extensions
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    Json,
    PlainSerializer,
    PlainValidator,
    RootModel,
    Secret,
    SecretBytes,
    SecretStr,
    SerializeAsAny,
    WithJsonSchema,
    WrapSerializer,
    field_serializer,
    model_serializer,
)
from pydantic_core import core_schema

from ez_ptc import Sensitive, ez_tool, tool
from ez_ptc.schema.annotations.secret_types import has_secrets

T = TypeVar("T")

_MASK = "*" * 10


def _reveal(secret: Secret[str] | SecretStr | SecretBytes) -> object:
    return secret.get_secret_value()


def _keep(value: object) -> object:
    return value


_SERIALIZED = Annotated[Secret[str], PlainSerializer(_reveal)]
# Neither the validator nor the serializer of the type itself is left.
_ERASED = Annotated[str, Sensitive, PlainValidator(_keep), PlainSerializer(_keep)]


class _Opaque:
    pass


class _Record(BaseModel):
    pin: _ERASED
    name: str = ""
    card: SecretStr = SecretStr("")


class _FieldSerializer(BaseModel):
    pin: Secret[str]
    name: str = ""

    @field_serializer("pin")
    def _reveal(self, pin: Secret[str]) -> str:
        return pin.get_secret_value()


class _ModelSerializer(BaseModel):
    pin: SecretStr
    name: str = ""

    @model_serializer
    def _reveal(self) -> dict[str, str]:
        return {"name": self.pin.get_secret_value()}


class _Undescribed(BaseModel):
    model_config = ConfigDict(json_schema_extra=lambda schema: schema.clear())
    pin: SecretStr
    name: str = ""


class _Renamed(BaseModel):
    model_config = ConfigDict(alias_generator=str.upper)
    pin: _ERASED
    name: str = ""


class _Tree(BaseModel):
    branches: "list[_Tree]" = []
    pin: _ERASED = ""
    name: str = ""


class _Page(BaseModel, Generic[T]):
    pin: T
    name: str = ""


class _Root(RootModel[_SERIALIZED]):
    pass


@dataclasses.dataclass
class _Dataclass:
    pin: _ERASED
    name: str = ""
    again: dataclasses.InitVar[_SERIALIZED | None] = None


class _TypedDict(typing_extensions.TypedDict):
    pin: typing_extensions.Required[_ERASED]
    name: typing_extensions.NotRequired[str]


class _Pair(NamedTuple):
    pin: _ERASED
    name: str = ""


class _Subclass(Secret[str]):
    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(cls, json_schema_input_schema=core_schema.str_schema())


_ALIAS = typing_extensions.TypeAliasType("_ALIAS", _SERIALIZED)
_NEW: Any = NewType("_NEW", SecretStr)
_WHOLE: dict[str, Any] = {
    "serialized": _SERIALIZED,
    "serialized for JSON": Annotated[Secret[str], PlainSerializer(_reveal, return_type=str, when_used="json")],
    "wrapped": Annotated[Secret[str], WrapSerializer(lambda secret, _: _reveal(secret))],
    "erased": _ERASED,
    "text": Annotated[SecretStr, PlainSerializer(_reveal)],
    "bytes": Annotated[SecretBytes, PlainSerializer(_reveal)],
    "validated": Annotated[SecretStr, PlainValidator(SecretStr)],
    "unwrapped": Annotated[Secret[str], AfterValidator(_reveal), PlainSerializer(_keep)],
    "described as another": Annotated[SecretStr, BeforeValidator(_keep, json_schema_input_type=str)],
    "described by hand": Annotated[SecretStr, WithJsonSchema({"type": "string"})],
    "described by a function": Annotated[SecretStr, Field(json_schema_extra=lambda schema: schema.clear())],
    "subclass": _Subclass,
    "union": int | _SERIALIZED,
    "optional": int | None | _SERIALIZED,
    "alias": _ALIAS,
    "new type": Annotated[_NEW, WithJsonSchema({"type": "string"})],
    "instance": Annotated[str, Sensitive(), WithJsonSchema({})],
    "root": _Root,
    "dict": dict[str, _SERIALIZED],
    "keys": dict[_SERIALIZED, int],
    "tuple": tuple[int, _SERIALIZED],
    "JSON": Json[_SERIALIZED],
    "named tuple": _Pair,
    "undescribed record": _Undescribed,
    "record described by hand": Annotated[_Record, WithJsonSchema({"type": "object"})],
    "records by name": Mapping[str, _Record],
    "deep": dict[str, list[tuple[_Record, ...]]],
}
_RECORDS: dict[str, Any] = {
    "record": _Record,
    "field serializer": _FieldSerializer,
    "model serializer": _ModelSerializer,
    "generic": _Page[_SERIALIZED],
    "dataclass": _Dataclass,
    "typed dict": _TypedDict,
    "either": _Record | _TypedDict,
    "any": SerializeAsAny[_Record],
}


def _tool_of(annotation: object, decorate: Callable[[Any], Any] = ez_tool) -> Any:  # noqa: ANN401 - a tool
    def unlock(code: object) -> str:
        """Unlock."""
        return str(code)

    unlock.__annotations__["code"] = annotation
    return decorate(unlock)


@pytest.mark.parametrize("name", _WHOLE)
def test_secret_is_masked_whatever_handles_it(name: str) -> None:
    secrets = _tool_of(_WHOLE[name]).definition.secrets
    assert secrets.is_secret("code")
    assert secrets.mask("code", "sesame") == _MASK
    assert "sesame" not in str(secrets.mask("code", {"pin": "sesame", "it": [["sesame"]]}))


@pytest.mark.parametrize("name", _RECORDS)
def test_field_beside_a_secret_is_shown(name: str) -> None:
    secrets = _tool_of(_RECORDS[name]).definition.secrets
    assert secrets.is_secret("code")
    assert secrets.mask("code", {"pin": "sesame", "name": "Ada"}) == {"pin": _MASK, "name": "Ada"}


def test_items_and_aliases_are_masked_one_by_one() -> None:
    items = _tool_of(Sequence[_SERIALIZED]).definition.secrets
    assert items.mask("code", ["sesame", "other"]) == [_MASK, _MASK]
    renamed = _tool_of(list[_Renamed]).definition.secrets
    assert renamed.mask("code", [{"PIN": "sesame", "NAME": "Ada"}]) == [{"PIN": _MASK, "NAME": "Ada"}]
    tree = {"pin": "sesame", "name": "Ada"}
    secrets = _tool_of(_Tree).definition.secrets
    masked = {"pin": _MASK, "name": "Ada"}
    assert secrets.mask("code", {**tree, "branches": [tree]}) == {**masked, "branches": [masked]}


def test_secret_of_a_class_in_a_function_is_masked() -> None:
    SecretText = _ERASED  # noqa: N806 - a type

    class Local(typing_extensions.TypedDict):
        pin: "SecretText"
        name: str

    @ez_tool
    def unlock(code: Local) -> str:
        """Unlock."""
        return str(code)

    masked = unlock.definition.secrets.mask("code", {"pin": "sesame", "name": "Ada"})
    assert masked == {"pin": _MASK, "name": "Ada"}


def test_secret_of_an_undescribable_type_is_masked() -> None:
    with pytest.warns(UserWarning, match="describes code as a string"):
        secrets = _tool_of(Annotated[_Opaque, Sensitive], tool).definition.secrets
    assert secrets.is_secret("code")
    assert secrets.mask("code", "sesame") == _MASK


@pytest.mark.parametrize("annotation", [int, str, "int", list[dict[str, Any]], Annotated[str, "Secret"], _Page[int]])
def test_other_types_have_no_secrets(annotation: object) -> None:
    assert not has_secrets(annotation)


class _Login(BaseModel):
    user: str
    token: SecretStr | None = None
    key: SecretStr = SecretStr("hunter2")


class _Deployment(BaseModel):
    target: _Login
    fallback: _Login | None = None


def test_null_default_of_a_secret_stays_in_the_schema() -> None:
    @ez_tool
    def deploy(login: _Login, deployment: _Deployment | None = None) -> str:
        """Deploy."""
        return f"{login} {deployment}"

    records = {**deploy.parameters["$defs"], **deploy.parameters["properties"]}
    fields = {**records["_Login"]["properties"], **records["deployment"]["properties"]}
    defaults = {name: schema["default"] for name, schema in fields.items() if "default" in schema}
    assert defaults == {"token": None, "fallback": None}
