"""Core schemas whose validation takes time and memory in proportion to the value.

Theory of operation. Pydantic tries every branch of a union at every level, so the cost of nested unions grows
exponentially with the depth of a value: 140 characters can take hours, with an error for each path. Four measures
bound it, and a limit of CPU time (`run_within`) ends the rest:

- A union within another one (or within itself) is validated once for each value. `_Repeated` replaces it, keeps the
  outcome, and returns it to every branch that asks. It has a validator of its own, so that an inner value does not
  count when pydantic compares the outer branches. If many errors say that a value fits no branch, they become one.
- A list or a dict stops at its first wrong item (`fail_fast`). All errors are collected again if they are few.
- A list is not made of a network of addresses, whose few characters may stand for 2**128 of them.
- Members of a set and keys of a dict are checked before pydantic adds them. Hashes of numbers are predictable, and
  adding thousands of equal ones takes quadratic time.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from time import thread_time
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import CoreSchema, PydanticCustomError, SchemaValidator, core_schema

from ez_ptc.schema.arguments.core_schemas import Node, inner_schemas, map_inner_schemas, map_schemas, wrapped_schema

__all__ = ["Bounds", "TooCostlyError", "run_within"]

R = TypeVar("R")

# The maximum depth of nested unions; each level takes about 15 KB of the thread's stack.
_MAX_LEVELS: Final = 32
# The number of steps between two readings of the clock.
_STEPS: Final = 8
_MAX_ERRORS: Final = 10
_MAX_COLLISIONS: Final = 50
# As many as the elements that a program's value may have.
_MAX_ADDRESSES: Final = 500_000
_METERED: Final = frozenset({"dataclass", "model", "tagged-union", "typed-dict", "union"})
_UNIONS: Final = frozenset({"tagged-union", "union"})
# What pydantic makes of anything that has items.
_ITERATED: Final = frozenset(
    {"counter", "deque", "frozenset", "generator", "list", "named-tuple", "ordered-dict", "set", "tuple"}
)
_FAIL_FAST: Final = frozenset({"dict", "frozenset", "list", "set", "tuple"})
# Types whose hashes cannot be chosen by an attacker.
_HASHED_AT_RANDOM: Final = frozenset({"bool", "bytes", "date", "datetime", "none", "str", "time", "timedelta", "url"})
_SCALARS: Final = _HASHED_AT_RANDOM.union(
    ("any", "complex", "decimal", "enum", "float", "fraction", "int"),
    ("is-instance", "is-subclass", "literal", "multi-host-url", "uuid"),
)
# Types whose members' hashes a model cannot choose.
_SAFE_KEYS: Final = _HASHED_AT_RANDOM | {"enum", "literal"}
# The keys of an inner schema in a wrapping one.
_INNER: Final = ("schema", "lax_schema", "python_schema")
_CONTAINERS: Final = (dict, list, tuple)


class TooCostlyError(Exception):
    """Validating a value took more time than its size justifies."""


@dataclass(slots=True)
class _Run:
    """One validation: its time limit, and the outcomes for values that several branches ask for.

    `ends_at` is on the clock of `time.thread_time`, the CPU time of this thread. That includes full garbage
    collections, which are not the value's fault: a run that meets one gets its `seconds` again, once.
    """

    ends_at: float
    seconds: float
    collections: int
    known: dict[tuple[int, int], tuple[object, object, Exception | None]] = field(
        default_factory=dict[tuple[int, int], tuple[object, object, Exception | None]]
    )
    level: int = 0
    steps: int = 0

    def step(self) -> None:
        """Count a step. At the end of the time, raises TooCostlyError, which no union takes for a wrong branch."""
        self.steps += 1
        if self.steps % _STEPS == 0 and thread_time() > self.ends_at:
            if self.seconds == 0 or _full_collections() == self.collections:
                raise TooCostlyError
            self.ends_at, self.seconds = thread_time() + self.seconds, 0


_RUN: Final[ContextVar[_Run | None]] = ContextVar("ez_ptc_validation", default=None)


def run_within(seconds: float, function: Callable[[Any], R], value: object) -> R:
    """Call a validating function with a limit of CPU time, or with the rest of an enclosing call's.

    Raises TooCostlyError at the limit.
    """
    outer = _RUN.get()
    ends_at = thread_time() + seconds
    if outer is not None:
        ends_at, seconds = min(ends_at, outer.ends_at), min(seconds, outer.seconds)
    token = _RUN.set(_Run(ends_at, seconds, _full_collections()))
    try:
        return function(value)
    finally:
        _RUN.reset(token)


def _full_collections() -> int:
    return gc.get_stats()[-1]["collections"]


def _run() -> _Run:
    run = _RUN.get()
    if run is None:
        message = "validators that repeat or are metered are called by run_within"
        raise RuntimeError(message)
    return run


@dataclass(frozen=True, slots=True)
class _Nested:
    """A nested union: its schema, and the names of its branches."""

    union: Node
    expected: str


class _Repeated:
    """Validates a value once for all branches that ask for it."""

    def __init__(self, nested: _Nested) -> None:
        self.nested = nested
        self.validate: Callable[[object], object] | None = None

    def __repr__(self) -> str:  # pydantic's name for it in errors
        return self.nested.expected

    def __call__(self, value: object) -> object:
        validate = cast("Callable[[object], object]", self.validate)
        if type(value) not in _CONTAINERS:
            return validate(value)
        known = _run().known
        remembered = known.get((id(self), id(value)))
        if remembered is None:
            # Keeping the value prevents the reuse of its id.
            remembered = known[id(self), id(value)] = (value, *self._try(validate, value))
        _, outcome, refusal = remembered
        if refusal is not None:
            raise refusal.with_traceback(None)
        return outcome

    def _try(self, validate: Callable[[object], object], value: object) -> tuple[object, Exception | None]:
        run = _run()
        run.step()
        if run.level == _MAX_LEVELS:
            return None, PydanticCustomError("too_deep", "should not be nested so deeply")
        run.level += 1
        try:
            return validate(value), None
        except ValidationError as error:
            if error.error_count() <= _MAX_ERRORS:
                return None, error
            return None, PydanticCustomError("no_branch", "fits no type", {"expected": self.nested.expected})
        finally:
            run.level -= 1


class Bounds:
    """Makes bounded validators of one core schema, and estimates the cost of values.

    `weight` is the maximum cost of a list or dict, and `branches` that of any other value, both without inner values
    and roughly in microseconds. `repeats` says whether all validators need `run_within`.
    """

    def __init__(self, schema: CoreSchema) -> None:
        self._root = cast("Node", schema)
        self._definitions: dict[str, Node] = {
            definition["ref"]: definition for definition in self._root.get("definitions", ())
        }
        # The schema of all arguments together is validated once, so only the others count.
        record = self._root["schema"] if self._root["type"] == "definitions" else self._root
        nodes: list[Node] = []
        pending = [*inner_schemas(record), *self._definitions.values()]
        while pending:
            nodes.append(pending.pop())
            pending.extend(inner_schemas(nodes[-1]))
        unions = [node for node in nodes if self._is_branching(node)]
        self._nested = self._within_others(unions)
        self.repeats = bool(self._nested)
        most = max((len(node["choices"]) for node in unions), default=1)
        repeated = max(1, len({id(item) for item in self._nested.values()}))
        self.weight = repeated * max(map(self._cost, nodes), default=1)
        self.branches = max(most * repeated, max(map(_members, nodes), default=1))

    def validator(self, *, fail_fast: bool, metered: bool = False) -> Callable[[Any], Any]:
        """Return a bounded validation function.

        `run_within` limits its time if `metered`, or if the schema `repeats`. `fail_fast` is as in pydantic.
        """
        changer = _Changer(self._nested, self._definitions, fail_fast=fail_fast, metered=metered)
        return changer.validator(self._root)

    def _is_branching(self, node: Node) -> bool:
        if node["type"] != "union":
            return False
        choices = map(_schema_of, node["choices"])
        compound = (any(inner["type"] not in _SCALARS for inner in self._value_schemas(choice)) for choice in choices)
        return sum(compound) > 1

    def _value_schemas(self, node: Node, seen: frozenset[str] = frozenset()) -> Iterator[Node]:
        """Yield the schemas of values behind references, defaults, validators and unions."""
        type_ = node["type"]
        if type_ == "definition-ref":
            ref = node["schema_ref"]
            if ref not in seen and ref in self._definitions:
                yield from self._value_schemas(self._definitions[ref], seen | {ref})
        elif type_ in _UNIONS:
            choices: Any = node["choices"]
            for choice in choices.values() if type_ == "tagged-union" else choices:
                yield from self._value_schemas(_schema_of(choice), seen)
        elif type_ == "chain":
            yield from self._value_schemas(node["steps"][0], seen)
        elif "fields" not in node and (inner := next((node[key] for key in _INNER if key in node), None)) is not None:
            yield from self._value_schemas(inner, seen)
        else:
            yield node

    def _cost(self, node: Node) -> int:
        # Wrapping schemas cost no more than the wrapped one, which is visited separately.
        opened = self._value_schemas(node) if node["type"] in _UNIONS else (node,)
        return sum(_members(item) + len(item.get("fields", ())) for item in opened)

    def _within_others(self, unions: list[Node]) -> dict[int, _Nested]:
        """Return the nested unions by the ids of their schemas; equal ones are one."""
        if len(unions) < (1 if self._definitions else 2):
            return {}
        below: set[int] = set()  # the ids of all schemas within unions, including those behind references
        pending = [inner for union in unions for inner in inner_schemas(union)]
        while pending:
            inner = pending.pop()
            if id(inner) in below:
                continue
            below.add(id(inner))
            pending.extend(inner_schemas(inner))
            if inner["type"] == "definition-ref" and inner["schema_ref"] in self._definitions:
                pending.append(self._definitions[inner["schema_ref"]])
        nested_unions: list[_Nested] = []
        by_id: dict[int, _Nested] = {}
        for union in unions:
            if id(union) not in below:
                continue
            same = next((item for item in nested_unions if item.union["choices"] == union["choices"]), None)
            if same is None:
                same = _Nested(union, " | ".join(dict.fromkeys(map(_name, self._value_schemas(union)))))
                nested_unions.append(same)
            by_id[id(union)] = same
        return by_id


class _Changer:
    """Changes one core schema so that its validation is bounded."""

    def __init__(
        self, nested: Mapping[int, _Nested], definitions: Mapping[str, Node], *, fail_fast: bool, metered: bool
    ) -> None:
        repeated = {id(item): _Repeated(item) for item in nested.values()}
        self._repeated = {number: repeated[id(item)] for number, item in nested.items()}
        self._definitions = definitions
        self._fail_fast = fail_fast
        self._metered = metered
        self._changed: list[Node] = [map_schemas(definition, self._change) for definition in definitions.values()]

    def validator(self, root: Node) -> Callable[[Any], Any]:
        """Return the validation function of the whole schema."""
        for repeated in set(self._repeated.values()):
            union = {key: value for key, value in repeated.nested.union.items() if key != "ref"}
            repeated.validate = self._make_validator(self._union(union))
        inner = root["schema"] if root["type"] == "definitions" else root
        return self._make_validator(map_schemas(inner, self._change))

    def _make_validator(self, schema: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - a core schema
        root = core_schema.definitions_schema(schema, cast("Any", self._changed)) if self._changed else schema
        try:
            # Otherwise pydantic would use the nested models' own validators, which are not bounded.
            return SchemaValidator(root, _use_prebuilt=False).validate_python
        except TypeError:  # pydantic-core before 2.30 has no prebuilt validators
            return SchemaValidator(root).validate_python

    def _change(self, node: Node) -> Node:
        if self._metered and node["type"] in _METERED and id(node) not in self._repeated:
            inner = self._bound_node({key: value for key, value in node.items() if key != "ref"})
            return _before(_count, inner, node.get("ref"))
        return self._bound_node(node)

    def _bound_node(self, node: Node) -> Node:
        if (repeated := self._repeated.get(id(node))) is not None:
            return cast("Node", core_schema.no_info_plain_validator_function(repeated, ref=node.get("ref")))
        if node["type"] == "union":
            return self._union(node)
        hashed = node.get("items_schema") if node["type"] in ("set", "frozenset") else node.get("keys_schema")
        if self._fail_fast and node["type"] in _FAIL_FAST:
            node = {**node, "fail_fast": True}
        checks: list[Callable[[object], object]] = [_refuse_networks] if node["type"] in _ITERATED else []
        if hashed is not None and wrapped_schema(hashed)["type"] not in _SAFE_KEYS:
            # The hashes are checked before pydantic adds the values.
            checks.append(_Keys(lambda: self._make_validator(self._list_of(hashed))))
        if not checks:
            return map_inner_schemas(node, self._change)
        inner = map_inner_schemas({key: value for key, value in node.items() if key != "ref"}, self._change)
        for check in checks[:-1]:
            inner = _before(check, inner, None)
        return _before(checks[-1], inner, node.get("ref"))

    def _list_of(self, node: Node) -> CoreSchema:
        return core_schema.list_schema(map_schemas(node, self._change), fail_fast=True)

    def _union(self, node: Node) -> Node:
        return map_inner_schemas({**node, "choices": list(self._choices(node))}, self._change)

    def _choices(self, union: Node, seen: frozenset[str] = frozenset()) -> Iterator[Any]:
        """Yield the choices of a union, with those of nested unions, to be compared with each other."""
        for choice in union["choices"]:
            schema = _schema_of(choice)
            ref: str = schema.get("schema_ref", "")
            target = self._definitions.get(ref, schema)
            if id(target) in self._repeated and ref not in seen:
                yield from self._choices(target, seen | {ref})
            else:
                yield choice


class _Keys:
    """Refuses values with so many equal hashes that adding them as keys takes long."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._make = make
        self._make_validator: Callable[[Any], Any] | None = None

    def __repr__(self) -> str:  # pydantic's name for it in errors
        return "keys"

    def __call__(self, value: object) -> object:
        if not isinstance(value, dict | list | tuple | set | frozenset):
            return value
        keys = list(cast("Iterable[object]", value))
        if len(keys) <= _MAX_COLLISIONS:
            return cast("object", value)
        if self._make_validator is None:
            self._make_validator = self._make()
        try:
            hashes = list(map(hash, self._make_validator(keys)))
        except (ValidationError, TypeError):  # a key is wrong or not hashable, and reported as such
            return cast("object", value)
        ((_, most),) = Counter(hashes).most_common(1)
        if most > _MAX_COLLISIONS:
            error_type = "hash_collisions"
            message = "should have fewer values that Python's dicts and sets cannot tell apart by their hashes"
            raise PydanticCustomError(error_type, message)
        return cast("object", value)


def _count(value: object) -> object:
    _run().step()
    return value


def _refuse_networks(value: object) -> object:
    """Return a value to take the items of; refuse a network of too many addresses."""
    if isinstance(value, IPv4Network | IPv6Network) and value.num_addresses > _MAX_ADDRESSES:
        error_type = "large_network"
        message = "Input should be a list, not a network of {addresses} addresses"
        raise PydanticCustomError(error_type, message, {"addresses": f"{value.num_addresses:,}"})
    return value


def _before(function: Callable[[object], object], schema: Node, ref: str | None) -> Node:
    """Return a schema that first calls a function with each value."""
    before = core_schema.no_info_before_validator_function(function, cast("CoreSchema", schema), ref=ref)
    return cast("Node", before)


def _members(node: Node) -> int:
    """Return the cost of a value outside an enumeration: the error names all members."""
    return 1 + len(node.get("members", node.get("expected", ()))) // 2


def _schema_of(choice: Any) -> Node:  # noqa: ANN401 - a core schema, or one with its name
    return cast("Node", choice[0] if isinstance(choice, tuple) else choice)


def _name(node: Node) -> str:
    cls = node.get("cls")
    return cls.__name__ if isinstance(cls, type) else str(node["type"])
