"""Schemas made at random, each with a value that it allows."""

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]
Pair = tuple[Schema, Any]

MANY_UNIONS: tuple[Schema, dict[str, Any]] = (
    {"type": "object", "properties": {f"p{at}": {"type": ["string", "integer"]} for at in range(17)}},
    {f"p{at}": at for at in range(17)},
)
"""A tool's parameters that are more unions than Anthropic takes in strict mode, with arguments."""

_NAMES = st.sampled_from(["a", "b", "c d", "größe", "type", "$ref", "x-1"])
_TEXTS = st.text(alphabet="abc xyz0", max_size=5)
_NOTES: dict[str, st.SearchStrategy[Any]] = {
    "description": st.sampled_from(["What it is.", "Why"]),
    "title": st.just("Title"),
    "x-extra": st.just({"deep": [1]}),
    "deprecated": st.booleans(),
    "examples": st.just(["one", 2]),
    "default": st.sampled_from([None, 1, "x", [1], {"a": 1}]),
}


@st.composite
def noted(draw: st.DrawFn, pairs: st.SearchStrategy[Pair]) -> Pair:
    """A schema with annotations, which change nothing."""
    schema, value = draw(pairs)
    notes = draw(st.fixed_dictionaries({}, optional=_NOTES))
    return {**schema, **notes}, value


@st.composite
def texts(draw: st.DrawFn) -> Pair:
    """A string and its constraints."""
    value = draw(_TEXTS)
    optional = {
        "minLength": st.integers(0, len(value)),
        "maxLength": st.integers(len(value), 9),
        "pattern": st.sampled_from(["^[a-z 0]*$", "^(?!q)"]),
        "contentEncoding": st.just("base64"),
        "contentMediaType": st.just("text/plain"),
        "enum": st.just([value, "other", ""]),
    }
    return {"type": "string", **draw(st.fixed_dictionaries({}, optional=optional))}, value


@st.composite
def numbers(draw: st.DrawFn) -> Pair:
    """A number and its bounds."""
    kind = draw(st.sampled_from(["integer", "number"]))
    value = draw(st.integers(-9, 9))
    optional = {
        "minimum": st.integers(-20, value),
        "exclusiveMaximum": st.integers(value + 1, 20),
        "multipleOf": st.just(1),
        "enum": st.just([value, 50]),
    }
    return {"type": kind, **draw(st.fixed_dictionaries({}, optional=optional))}, value


def constants() -> st.SearchStrategy[Pair]:
    """A value that is the only one, or one of several."""
    values = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), _TEXTS)
    return st.one_of(
        values.map(lambda value: ({"const": value}, value)),
        values.map(lambda value: ({"enum": [value, "zz", 77]}, value)),
        st.booleans().map(lambda value: ({"type": "boolean"}, value)),
        st.just(({"type": "null"}, None)),
    )


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    """A list of one schema, or a tuple of several."""
    pairs = draw(st.lists(inner, min_size=1, max_size=3))
    if draw(st.booleans()):
        schema, value = pairs[0]
        count = draw(st.integers(0, 3))
        return {"type": "array", "items": schema, "maxItems": 3}, [value] * count
    keyword = draw(st.sampled_from(["prefixItems", "items"]))
    schema = {"type": "array", keyword: [each for each, _ in pairs], "minItems": len(pairs), "maxItems": len(pairs)}
    return schema, [value for _, value in pairs]


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    """An object, all of whose properties have a value, required or not."""
    pairs = draw(st.dictionaries(_NAMES, inner, min_size=1, max_size=3))
    required = draw(st.lists(st.sampled_from(sorted(pairs)), unique=True))
    schema: Schema = {"type": "object", "properties": {name: schema for name, (schema, _) in pairs.items()}}
    schema |= {"required": required} if required or draw(st.booleans()) else {}
    schema |= draw(
        st.fixed_dictionaries({}, optional={"additionalProperties": st.booleans(), "minProperties": st.just(1)})
    )
    return schema, {name: value for name, (_, value) in pairs.items()}


@st.composite
def unions(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    """A union in one of its spellings, with a value of one of its members."""
    (schema, value), (other, _) = draw(inner), draw(inner)
    return draw(
        st.sampled_from(
            [
                ({"anyOf": [schema, other]}, value),
                ({"anyOf": [other, schema], "description": "Either."}, value),
                ({"anyOf": [schema, {"type": "null"}]}, value),
                ({**schema, "nullable": True} if "type" in schema else schema, value),
                ({"allOf": [schema]}, value),
                ({"allOf": [schema, {"description": "Both."}]}, value),
                ({"type": ["string", "null", "integer"], "minLength": 0}, None),
            ]
        )
    )


def _wider(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    return st.one_of(arrays(inner), objects(inner), unions(inner))


PAIRS = st.recursive(
    noted(st.one_of(texts(), numbers(), constants())), lambda inner: noted(_wider(inner)), max_leaves=8
)


@st.composite
def tools(draw: st.DrawFn) -> tuple[Schema, dict[str, Any]]:
    """A tool's parameters, some of them behind a `$ref`, with arguments that they allow."""
    schema, value = draw(objects(PAIRS))
    keyword = draw(st.sampled_from(["$defs", "definitions"]))
    moved = draw(st.lists(st.sampled_from(sorted(schema["properties"])), unique=True))
    definitions = {f"D{at}": schema["properties"][name] for at, name in enumerate(moved)}
    for at, name in enumerate(moved):
        schema["properties"][name] = {"$ref": f"#/{keyword}/D{at}", "description": "Elsewhere."}
    return {**schema, keyword: definitions} if definitions else schema, value
