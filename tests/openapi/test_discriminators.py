"""Discriminators of OpenAPI: which schema a value has, and what extends a base schema."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ez_ptc import Tool
from ez_ptc.openapi import ApiRequest, ApiResponse, openapi_tools
from tests.openapi.api import document

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def an_object(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


CARD = an_object("kind", "number", kind=TEXT, number=TEXT)
CASH = an_object("kind", kind=TEXT, currency=TEXT)
BASE = {**an_object("kind", kind=TEXT, amount=NUMBER), "discriminator": {"propertyName": "kind"}}


def extension(base: str, **properties: Schema) -> Schema:
    return {"allOf": [ref(base), {"type": "object", "properties": properties}]}


def pay_tool(
    schema: Schema, sent: list[object] | None = None, parameters: Sequence[Schema] = (), /, **schemas: Schema
) -> Tool[..., Any]:
    def send(request: ApiRequest) -> ApiResponse:
        if sent is not None:
            sent.append(json.loads(request.content or b"null"))
        return ApiResponse(204)

    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    paths = {"/pay": {"post": {"operationId": "pay", "requestBody": body, "parameters": [*parameters]}}}
    (tool,) = openapi_tools(document(paths, components={"schemas": schemas}), client=send)
    return tool


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
@pytest.mark.parametrize("target", ["#/components/schemas/Card", "Card"])
def test_mapping_chooses_the_branch_of_a_union(keyword: str, target: str) -> None:
    mapping = {"credit": target, "debit": target, "cash": "Cash"}
    union = {keyword: [ref("Card"), ref("Cash")], "discriminator": {"propertyName": "kind", "mapping": mapping}}
    sent: list[object] = []
    tool = pay_tool(union, sent, Card=CARD, Cash=CASH)

    assert "{kind: 'credit' | 'debit', number: str} | {kind: 'cash', currency?: str}" in tool.signature
    for value in ({"kind": "debit", "number": "4"}, {"kind": "cash"}):
        assert tool.execute(body=value).success, value
    assert sent == [{"kind": "debit", "number": "4"}, {"kind": "cash"}]
    assert tool.execute(body={"kind": "credit"}).error == "pay: 'body.number' is missing"
    assert "must be 'credit' | 'debit' | 'cash', got str 'gold'" in (tool.execute(body={"kind": "gold"}).error or "")


def test_branch_without_a_mapping_takes_the_other_names() -> None:
    discriminator = {"propertyName": "kind", "mapping": {"card": "Card"}}
    tool = pay_tool({"oneOf": [ref("Card"), ref("Cash")], "discriminator": discriminator}, Card=CARD, Cash=CASH)
    assert tool.execute(body={"kind": "notes"}).success
    assert tool.execute(body={"kind": "card", "number": "4"}).success
    assert not tool.execute(body={"kind": "card"}).success


@pytest.mark.parametrize("discriminator", [{"propertyName": "kind"}, {"propertyName": 3}, {}, "kind"])
def test_discriminator_without_names_lets_any_branch_fit(discriminator: object) -> None:
    tool = pay_tool({"oneOf": [ref("Card"), ref("Cash")], "discriminator": discriminator}, Card=CARD, Cash=CASH)
    assert tool.execute(body={"kind": "card", "number": "4"}).success
    assert not tool.execute(body={"number": 4}).success


def test_texts_of_a_branch_itself_count() -> None:
    card = an_object("kind", kind={"enum": ["Card"]}, number=TEXT)
    discriminator = {"propertyName": "kind", "mapping": {"card": "Card", "cash": "Cash"}}
    tool = pay_tool({"oneOf": [ref("Card"), ref("Cash")], "discriminator": discriminator}, Card=card, Cash=CASH)
    assert tool.execute(body={"kind": "Card", "number": "4"}).success


@pytest.mark.parametrize(
    "schema",
    [
        ref("Base"),
        {"allOf": [ref("Base")], "description": "What to pay with."},
        {"allOf": [ref("Base"), {"nullable": True}]},
        {"oneOf": [ref("Base"), {"type": "array", "items": ref("Base")}]},
    ],
)
@pytest.mark.parametrize("is_mapped", [True, False])
def test_base_schema_takes_what_its_extensions_have(schema: Schema, is_mapped: bool) -> None:
    base = BASE
    if is_mapped:
        base = {
            **BASE,
            "discriminator": {"propertyName": "kind", "mapping": {"Card": "Card", "Cash": ref("Cash")["$ref"]}},
        }
    sent: list[object] = []
    schemas = {"Card": extension("Base", number=TEXT), "Cash": extension("Base", currency=TEXT), "Base": base}
    tool = pay_tool(schema, sent, **schemas)

    assert "number" in tool.signature
    values = [{"kind": "Card", "amount": 3, "number": "4"}, {"kind": "Cash", "currency": "EUR"}, {"kind": "Other"}]
    assert all(tool.execute(body=value).success for value in values)
    assert sent == values
    assert not tool.execute(body={"kind": "Card", "number": 4}).success
    assert not tool.execute(body={"kind": "Cash", "amount": "much"}).success


@pytest.mark.parametrize("schema", [ref("Base"), {"type": "object", "properties": {"inner": ref("Base")}}])
def test_problem_of_the_extension_that_was_meant_is_named(schema: Schema) -> None:
    tool = pay_tool(schema, Base=BASE, Card=extension("Base", number=TEXT), Cash=extension("Base", currency=TEXT))
    values: dict[str, Schema] = {
        "number": {"kind": "Card", "number": {}},
        "amount": {"kind": "Other", "amount": {}},
        "kind": {"kind": 5},
    }
    for key, value in values.items():
        name = "inner" if "properties" in schema else "body"
        assert f"'{name}.{key}' must be" in (tool.execute(**{name: value}).error or "")


def test_base_with_texts_for_its_extensions_alone_is_none_itself() -> None:
    base = {**BASE, "properties": {"kind": {"enum": ["Card", "Cash"]}}}
    tool = pay_tool(ref("Base"), Card=extension("Base", number=TEXT), Cash=extension("Base"), Base=base)
    assert tool.signature.startswith("pay(body: {kind: 'Card', number?: str} | {kind: 'Cash'})")


def test_extension_of_an_extension_is_one_of_the_base() -> None:
    middle = {**extension("Base", number=TEXT), "discriminator": {"propertyName": "kind"}}
    tool = pay_tool(ref("Base"), Base=BASE, Card=middle, Gold=extension("Card", limit=NUMBER))
    assert "limit" in tool.signature
    assert not tool.execute(body={"kind": "Gold", "limit": "no"}).success


@pytest.mark.parametrize("empty", [{"allOf": [ref("Base")]}, {"allOf": [ref("Base")], "type": "object"}])
def test_extension_without_anything_of_its_own_is_no_circle(empty: Schema) -> None:
    tool = pay_tool(
        {"type": "array", "items": ref("Base")}, Base=BASE, Plain=empty, Card=extension("Base", number=TEXT)
    )
    assert tool.execute(body=[{"kind": "Plain", "amount": 1}, {"kind": "Card", "number": "4"}]).success
    assert not tool.execute(body=[{"kind": "Plain", "amount": "1.5"}]).success


def test_base_that_lists_its_extensions_is_no_circle() -> None:
    base = {**BASE, "oneOf": [ref("Card"), ref("Cash")]}
    tool = pay_tool(ref("Base"), Base=base, Card=extension("Base", number=TEXT), Cash=extension("Base", currency=TEXT))
    assert tool.execute(body={"kind": "Card", "number": "4"}).success
    assert not tool.execute(body={"kind": "Card", "number": 4, "currency": 4}).success


def test_an_extension_alone_is_a_plain_body() -> None:
    tool = pay_tool(ref("Card"), Base=BASE, Card=extension("Base", number=TEXT))
    assert tool.execute(body={"kind": "Card", "number": "4"}).success
    assert "number" in tool.signature


@pytest.mark.parametrize("mapping", [{"x": "Missing"}, {"x": "https://example.org/x"}, {"x": 3}, {"x": "Base"}, "x"])
def test_mapping_that_leads_nowhere_is_left_out(mapping: object) -> None:
    base = {**BASE, "discriminator": {"propertyName": "kind", "mapping": mapping}}
    assert pay_tool(ref("Base"), Base=base).execute(kind="any").success
    union = {"oneOf": [ref("Cash"), NUMBER], "discriminator": {"propertyName": "kind", "mapping": mapping}}
    assert pay_tool(union, Cash=CASH, Base=BASE).execute(body={"kind": "any"}).success


@pytest.mark.parametrize("schema", [ref("Base"), {"allOf": [ref("Base")]}, {"allOf": [ref("Base")], "title": "Money"}])
@pytest.mark.parametrize("name", ["Base", "Card"])
def test_parameter_never_changes_what_a_body_takes(schema: Schema, name: str) -> None:
    schemas = {"Base": BASE, "Card": extension("Base", number=TEXT)}
    other = {"name": "other", "in": "query", "content": {"application/json": {"schema": ref(name)}}}
    alone, _, _ = pay_tool(schema, **schemas).signature.partition(")")
    beside = pay_tool(schema, None, [other], **schemas)
    assert beside.signature.startswith(f"{alone}, other: ")
    assert not beside.execute(body={"kind": "Card", "number": 4}).success


@pytest.mark.parametrize("reference", [[], {}, 5, None, "Base", "https://example.org/x"])
def test_reference_that_is_none_drops_its_operation_alone(reference: object) -> None:
    broken: Schema = {"$ref": reference}
    discriminator = {"propertyName": "kind", "mapping": {"x": reference}}
    for schema in (broken, {"allOf": [broken]}, {"oneOf": [broken], "discriminator": discriminator}):
        body = {"content": {"application/json": {"schema": schema}}}
        paths: Schema = {"/pay": {"post": {"operationId": "pay", "requestBody": body}, "get": {"operationId": "see"}}}
        with pytest.warns(UserWarning, match="leads out of the document"):
            tools = openapi_tools(document(paths), client=lambda _: ApiResponse(204))
        assert [tool.name for tool in tools] == ["see"]


@pytest.mark.parametrize(("count", "length"), [(60, 500), (500, 50)])
def test_texts_of_a_mapping_do_not_multiply_a_schema(count: int, length: int) -> None:
    """Each branch without a text may exclude those of all others."""
    names = [f"Card{number}" for number in range(count)]
    mapping = {f"{number:0{length}}": "Card0" for number in range(60)}
    union = {"oneOf": list(map(ref, names)), "discriminator": {"propertyName": "kind", "mapping": mapping}}
    tool = pay_tool(union, **{name: an_object("kind", kind=TEXT) for name in names})
    assert len(json.dumps(tool.parameters)) < 100_000
    assert tool.execute(body={"kind": "any"}).success
