"""The table of the fields in events of each kind, checked whenever events are read.

A hash tells of later changes, and not of the writer, which may be no library at all. So all layers above read fields
of the right types. A new field is an entry here and needs a new version of the file, in `storage/tables.py`: then
libraries without it refuse such files.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import CoreConfig, SchemaValidator, ValidationError, core_schema

from ez_ptc.schema.annotations.progress import MAX_PROGRESS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core import CoreSchema

    from ez_ptc.journal.chain import Event

__all__ = ["EVENT_FIELDS", "RESULT_FIELDS", "find_event_problem", "find_result_problem"]

YEAR_9999: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_PATH: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")
_MAX_CLOCK: Final = 1 << 63
_OPTIONAL: Final = "?"

_strict: Final = CoreConfig(strict=True)
_any: Final = core_schema.any_schema()
_text: Final = core_schema.str_schema()
_flag: Final = core_schema.bool_schema()
_seconds: Final = core_schema.float_schema(ge=0, allow_inf_nan=False)
_optional_text: Final = core_schema.nullable_schema(_text)
_texts: Final = core_schema.list_schema(_text)
_object: Final = core_schema.dict_schema(_text, _any)
_place: Final = core_schema.union_schema([_text, core_schema.int_schema(ge=0)])
_amount: Final = core_schema.float_schema(ge=0, le=MAX_PROGRESS)


def _fields(fields: Mapping[str, CoreSchema], *, is_closed: bool = False) -> CoreSchema:
    """Return the schema of an object; names of optional fields end with a question mark."""
    return core_schema.typed_dict_schema(
        {
            name.removesuffix(_OPTIONAL): core_schema.typed_dict_field(schema, required=not name.endswith(_OPTIONAL))
            for name, schema in fields.items()
        },
        extra_behavior="forbid" if is_closed else "ignore",
        config=_strict,  # that of the validator does not reach into an object
    )


def _pairs(first: CoreSchema, second: CoreSchema) -> CoreSchema:
    # JSON has lists where Python has tuples.
    return core_schema.list_schema(core_schema.tuple_schema([first, second], strict=False))


_any_event: Final[Mapping[str, CoreSchema]] = {
    "schedule?": _pairs(_text, core_schema.int_schema()),
    "versions?": _fields({"library": _text, "interpreter": _text}),
    "tool?": _text,
}
_decision: Final[Mapping[str, CoreSchema]] = {**_any_event, "by?": _optional_text}
_call: Final[Mapping[str, CoreSchema]] = {
    **_any_event,
    "tool": _text,
    "arguments": _object,
    "passed?": core_schema.dict_schema(_text, _place),
    "line?": core_schema.int_schema(),
    "output?": _text,
    "sealed?": _pairs(_place, _text),
    "secrets?": _texts,
    "schema?": core_schema.nullable_schema(_object),
}
_ending: Final[Mapping[str, CoreSchema]] = {
    **_any_event,
    "state": core_schema.literal_schema(["paused", "outcome_unknown", "done", "failed"]),
    "lost?": _flag,
    "abandoned?": _text,
    "by?": _optional_text,
}

EVENT_FIELDS: Final[Mapping[str, CoreSchema]] = {
    "start": _fields(
        {
            **_any_event,
            "program": _text,
            "library?": _text,
            "interpreter?": _text,
            "imports": _texts,
            "tools": core_schema.dict_schema(_text, core_schema.union_schema([_text, _object])),
            "limits": _object,
            "clock_ns": core_schema.nullable_schema(core_schema.int_schema(ge=0, lt=_MAX_CLOCK)),
            "repairs?": _optional_text,
            "scheduled?": _flag,
            "source_rules?": _any,  # `RunRecord.source_rules` says which version of the library knows them
            "caller?": core_schema.nullable_schema(_fields({"principal": _optional_text, "context": _optional_text})),
            "continues?": _fields({"run": _text, "reread": _flag}),
            "key?": _text,
            "keys?": _text,
            "results?": core_schema.nullable_schema(_texts),
            "session?": _text,
            "owner?": _text,
        }
    ),
    "claim": _fields({**_any_event, "owner?": _text}),
    "pending": _fields(_call),
    "intent": _fields({**_call, "repeatable": _flag, "cleared?": _optional_text, "repeated_key?": _optional_text}),
    "decision": core_schema.tagged_union_schema(
        {
            "approve": _fields(
                {
                    **_decision,
                    "arguments": core_schema.nullable_schema(_object),
                    "remember": core_schema.nullable_schema(core_schema.literal_schema(["run"])),
                    "by": _optional_text,
                }
            ),
            "deny": _fields({**_decision, "reason": _optional_text, "by": _optional_text}),
            "did_not_happen": _fields(_decision),
        },
        discriminator="decision",
    ),
    "result": _fields(
        {
            **_any_event,
            "tool": _text,
            "kind": core_schema.literal_schema(["v", "m", "s", "e"]),
            "error": _optional_text,
            "duration_ms": _seconds,
            "source?": _optional_text,
            "returned?": _flag,
            "by?": _optional_text,
            "settled?": _flag,
        }
    ),
    "progress": _fields(
        {
            "calls": core_schema.dict_schema(
                core_schema.str_schema(pattern=f"^{_PATH.pattern}$"),
                _fields(
                    {
                        "tool": _text,
                        "line": core_schema.int_schema(),
                        "done": _amount,
                        "total": core_schema.nullable_schema(_amount),
                        "message": _optional_text,
                    }
                ),
            )
        }
    ),
    "picture": _fields(_any_event),
    "pause": _fields(_ending),
    "end": _fields(_ending),
}
"""The schema of the data of each kind of event."""

RESULT_FIELDS: Final = _fields(
    {
        "output": _text,
        "error_output?": _text,
        "return_value?": _any,
        "described?": _text,
        "success": _flag,
        "error?": _optional_text,
        "is_denied?": _flag,
        "status": core_schema.literal_schema(["done", "failed", "paused"]),
        "duration_ms?": _seconds,
        "images": core_schema.list_schema(core_schema.bytes_schema()),  # of versions without events for them
        "pictures?": core_schema.list_schema(core_schema.bytes_schema()),
        "appended?": core_schema.list_schema(core_schema.literal_schema(["output", "error_output"])),
        "truncated?": core_schema.dict_schema(_text, core_schema.int_schema()),
        "max_text?": _any,
    },
    is_closed=True,
)
"""The schema of a result, which is the payload of an event that ends an execution."""

_validators: Final = {name: SchemaValidator(schema, _strict) for name, schema in EVENT_FIELDS.items()}
_result_validator: Final = SchemaValidator(RESULT_FIELDS, _strict)


def find_event_problem(event: Event) -> str | None:
    """Return the problem of an event's kind, path, time, program or data, or None."""
    validator = _validators.get(event.kind)
    if validator is None:
        return "its kind is unknown"
    is_of_run = event.kind in {"start", "claim", "progress", "picture", "pause", "end"}
    if event.path if is_of_run else not _PATH.fullmatch(event.path):
        return "its path is wrong"
    if not 0 <= event.time < YEAR_9999:
        return "its time is wrong"
    if event.kind == "start":
        try:
            (event.payload or b"").decode()
        except UnicodeDecodeError:
            return "its program is not UTF-8"
    if validator.isinstance_python(event.data):
        return None
    return _explain(validator, event.data)


def find_result_problem(fields: object) -> str | None:
    """Return the problem of the fields of a result, or None."""
    return None if _result_validator.isinstance_python(fields) else _explain(_result_validator, fields)


def _explain(validator: SchemaValidator, fields: object) -> str:
    try:
        validator.validate_python(fields)
    except ValidationError as error:
        first: Any = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "all of it"
        return f"its field {place} is wrong: {first['msg']}"
    return "its fields are wrong"
