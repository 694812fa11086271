"""Definitions put where they are referred to."""

from typing import Any

from ez_ptc.schema.definitions import inline_definitions, inline_single_uses

TEA: dict[str, Any] = {"type": "object", "properties": {"grams": {"type": "integer"}}}


def test_a_definition_takes_the_place_of_its_reference() -> None:
    schema = {"properties": {"tea": {"$ref": "#/$defs/Tea", "description": "which"}}, "$defs": {"Tea": TEA}}

    assert inline_definitions(schema) == {"properties": {"tea": {**TEA, "description": "which"}}}


def test_definitions_within_definitions_are_followed() -> None:
    definitions = {"Box": {"type": "array", "items": {"$ref": "#/$defs/Tea"}}, "Tea": TEA}

    assert inline_definitions({"anyOf": [{"$ref": "#/$defs/Box"}, {"$ref": "#/$defs/Tea"}], "$defs": definitions}) == {
        "anyOf": [{"type": "array", "items": TEA}, TEA]
    }


def test_a_type_that_contains_itself_stays_a_definition() -> None:
    """Also when it does so by way of another; what it contains otherwise is inlined."""
    person = {"properties": {"home": {"$ref": "#/$defs/Home"}, "tea": {"$ref": "#/$defs/Tea"}}}
    home = {"properties": {"owner": {"$ref": "#/$defs/Person"}}}
    schema = {"$ref": "#/$defs/Person", "$defs": {"Person": person, "Home": home, "Tea": TEA}}

    assert inline_definitions(schema) == {
        "$ref": "#/$defs/Person",
        "$defs": {"Person": {"properties": {"home": {"$ref": "#/$defs/Home"}, "tea": TEA}}, "Home": home},
    }


def test_a_reference_to_elsewhere_stays() -> None:
    schema = {"items": {"$ref": "https://example.org/tea.json"}, "$defs": {"Tea": TEA}}

    assert inline_definitions(schema) == {"items": {"$ref": "https://example.org/tea.json"}}


def test_definition_used_once_replaces_its_reference() -> None:
    schema = {"properties": {"tea": {"$ref": "#/$defs/Tea", "description": "which"}}, "$defs": {"Tea": TEA}}

    assert inline_single_uses(schema) == {"properties": {"tea": {**TEA, "description": "which"}}}


def test_a_definition_used_twice_stays() -> None:
    both = {"tea": {"$ref": "#/$defs/Tea"}, "other": {"$ref": "#/$defs/Tea"}}

    assert inline_single_uses({"properties": both, "$defs": {"Tea": TEA}}) == {
        "properties": both,
        "$defs": {"Tea": TEA},
    }


def test_a_definition_used_by_an_unusual_keyword_too_stays() -> None:
    schema: dict[str, Any] = {"items": {"$ref": "#/$defs/Tea"}, "if": {"const": ["#/$defs/Tea"]}, "$defs": {"Tea": TEA}}

    assert inline_single_uses(schema)["$defs"] == {"Tea": TEA}


def test_recursive_definition_stays_but_single_uses_are_inlined() -> None:
    person: dict[str, Any] = {"properties": {"home": {"$ref": "#/$defs/Home"}, "tea": {"$ref": "#/$defs/Tea"}}}
    home = {"properties": {"owner": {"$ref": "#/$defs/Person"}}}
    schema: dict[str, Any] = {
        "items": {"$ref": "#/$defs/Person"},
        "$defs": {"Person": person, "Home": home, "Tea": TEA},
    }

    assert inline_single_uses(schema) == {
        "items": {"$ref": "#/$defs/Person"},
        "$defs": {"Person": {"properties": {"home": home, "tea": TEA}}},
    }


def test_a_definition_that_is_only_a_reference_is_followed() -> None:
    definitions: dict[str, Any] = {"Drink": {"$ref": "#/$defs/Tea"}, "Tea": TEA}

    assert inline_single_uses({"items": {"$ref": "#/$defs/Drink"}, "$defs": definitions}) == {"items": TEA}


def test_definition_overriding_its_siblings_stays() -> None:
    schema: dict[str, Any] = {"items": {"$ref": "#/$defs/Tea", "type": "array"}, "$defs": {"Tea": TEA}}

    assert inline_single_uses(schema) == {"items": {"$ref": "#/$defs/Tea", "type": "array"}, "$defs": {"Tea": TEA}}
