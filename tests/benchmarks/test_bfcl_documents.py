import json
import sys
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.bfcl.__main__ import main
from benchmarks.bfcl.documents import Answer, Document, Question
from benchmarks.bfcl.documents_main import check_documents
from benchmarks.bfcl.documents_providers import FORMATS, Requests, asked, parameters_in
from benchmarks.bfcl.documents_run import Checker, imported
from benchmarks.bfcl.documents_schema import DocumentError, json_schema, parameters_schema
from benchmarks.bfcl.documents_truth import arguments_of, contradictions, is_open
from ez_ptc.formats.catalog import format_named

BOOKING = Document(
    "hotel.book",
    "Book a room.",
    {
        "type": "dict",
        "properties": {
            "city": {"type": "String", "description": "Where."},
            "nights": {"type": "integer", "enum": ["1", "2", "any"], "default": "any"},
            "price": {"type": "float", "description": "At most.", "default": None},
            "beds": {"type": "ArrayList", "items": {"type": "dict", "properties": {"wide": {"type": "Boolean"}}}},
        },
        "required": ["city", "beds"],
    },
)
RIGHT: dict[str, Any] = {"city": ["Rome", "Roma"], "nights": ["", 2], "price": [None], "beds": [[{"wide": [True]}]]}


@pytest.fixture(scope="module")
def requests() -> Requests:
    return Requests()


@pytest.mark.parametrize(
    ("part", "schema"),
    [
        ({"type": "dict", "properties": {}}, {"type": "object", "properties": {}}),
        ({"type": "HashMap"}, {"type": "object"}),
        ({"type": "float"}, {"type": "number"}),
        ({"type": "long", "description": "Of Java."}, {"type": "integer", "description": "Of Java."}),
        ({"type": "tuple", "items": {"type": "char"}}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "any", "description": "Whatever."}, {"description": "Whatever."}),
        ({"type": ""}, {}),
        ({"type": ["String", "none"]}, {"type": ["string", "null"]}),
        ({"properties": {"a": "bool"}}, {"type": "object", "properties": {"a": {"type": "boolean"}}}),
        ({"items": [{"type": "int"}]}, {"type": "array", "prefixItems": [{"type": "integer"}]}),
        ({"anyOf": [{"type": "dict"}, {"type": "bool"}]}, {"anyOf": [{"type": "object"}, {"type": "boolean"}]}),
        (
            {"type": "dict", "additionalProperties": {"type": "double"}},
            {"type": "object", "additionalProperties": {"type": "number"}},
        ),
        ({"type": "dict", "required": ["a"]}, {"type": "object", "required": ["a"]}),
    ],
)
def test_foreign_type_words_become_json_schema_types(part: dict[str, Any], schema: dict[str, Any]) -> None:
    assert json_schema(part) == schema


@pytest.mark.parametrize(
    ("part", "schema"),
    [
        ({"type": "boolean", "enum": ["True", "false"]}, {"type": "boolean", "enum": [True, False]}),
        ({"type": "integer", "enum": ["1", 1, "2"]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "float", "enum": ["0.5", 1]}, {"type": "number", "enum": [0.5, 1]}),
        ({"type": "integer", "enum": ["1", "any"]}, {"type": ["integer", "string"], "enum": [1, "any"]}),
        ({"type": "integer", "enum": ["Group A"]}, {"type": "string", "enum": ["Group A"]}),
        ({"type": "integer", "enum": [1, "None"]}, {"type": ["integer", "null"], "enum": [1, None]}),
        ({"type": "string", "enum": ["True", 2]}, {"type": "string", "enum": ["True", "2"]}),
        ({"type": "string", "enum": []}, {"type": "string"}),
        (
            {"type": "array", "items": {"type": "integer"}, "enum": ["1", "2"]},
            {"type": "array", "items": {"type": "integer", "enum": [1, 2]}},
        ),
        ({"type": "array", "enum": ["a"]}, {"type": "array", "items": {"enum": ["a"]}}),
    ],
)
def test_word_choices_are_read_and_unknown_types_widened(part: dict[str, Any], schema: dict[str, Any]) -> None:
    assert json_schema(part) == schema


@pytest.mark.parametrize(
    ("part", "schema"),
    [
        ({"type": "integer", "default": "3"}, {"type": "integer", "default": 3}),
        ({"type": "boolean", "default": "false"}, {"type": "boolean", "default": False}),
        ({"type": "string", "default": True}, {"type": "string", "default": "True"}),
        ({"type": "string", "default": "None"}, {"type": "string", "default": "None"}),
        ({"type": "integer", "default": "None"}, {"type": ["integer", "null"], "default": None}),
        ({"type": "any", "default": None}, {"default": None}),
        (
            {"type": "string", "enum": ["a"], "default": None},
            {"type": ["string", "null"], "enum": ["a", None], "default": None},
        ),
        (
            {"type": "float", "description": "How much.", "default": "dontcare"},
            {"type": "number", "description": 'How much. Default: "dontcare".'},
        ),
        (
            {"type": "string", "enum": ["a"], "default": ""},
            {"type": "string", "enum": ["a"], "description": 'Default: "".'},
        ),
        (
            {"type": "tuple", "items": {"type": "string"}, "default": [None]},
            {"type": "array", "items": {"type": "string"}, "description": "Default: [null]."},
        ),
    ],
)
def test_default_is_read_makes_nullable_or_is_described(part: dict[str, Any], schema: dict[str, Any]) -> None:
    assert json_schema(part) == schema


@pytest.mark.parametrize(
    ("parameters", "required"),
    [
        ({"properties": {"a": {"type": "any"}, "b": {"type": "any", "optional": True}}, "required": ["a", "b"]}, ["a"]),
        ({"properties": {"a": {"type": "any", "optional": "yes"}}, "required": ["a"]}, None),
        ({"properties": {"a": {"type": "any", "optional": False}}, "required": ["a"]}, ["a"]),
        ({"properties": {"a": {"type": "any"}}, "required": ["a"], "optional": ["a"]}, None),
        ({"properties": {"a": {"type": "any", "required": True}}}, ["a"]),
        ({"properties": {"a": {"type": "any"}}, "optional": []}, None),
    ],
)
def test_optional_parameter_is_recognized_in_several_places(
    parameters: dict[str, Any], required: list[str] | None
) -> None:
    schema = parameters_schema({"type": "dict", **parameters})
    assert schema.get("required") == required
    assert not any("optional" in each for each in (schema, *schema["properties"].values()))


def test_the_parameters_are_an_object_that_takes_no_others() -> None:
    assert parameters_schema({"type": "dict", "properties": {}}) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"type": "Widget"}, "'Widget'"),
        ({"type": "dict", "properties": {"a": {"type": "money"}}}, "'money'"),
        ({"type": "dict", "properties": {"a": 3}}, "not by 3"),
        ({"type": "integer", "minimum": "one"}, "no JSON Schema"),
    ],
)
def test_meaningless_text_is_refused_instead_of_guessed(part: dict[str, Any], said: str) -> None:
    with pytest.raises(DocumentError, match=said):
        json_schema(part)


VALUES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "1", "true", "None", "NaN", "[1]", ""])
LEAVES = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "float", "boolean", "tuple", "dict", "any", "char", "HashMap"])},
    optional={"enum": st.lists(VALUES, max_size=4), "default": VALUES | st.lists(VALUES, max_size=2)},
)
PARTS = st.recursive(
    LEAVES,
    lambda inner: (
        st.fixed_dictionaries(
            {"type": st.just("dict"), "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3)},
            optional={"required": st.lists(st.sampled_from("abc"), unique=True), "default": VALUES},
        )
        | st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={"default": VALUES})
    ),
    max_leaves=6,
)


@given(PARTS)
def test_any_document_becomes_schema_accepting_its_examples(part: dict[str, Any]) -> None:
    before = json.dumps(part)
    schema = json_schema(part)
    jsonschema_rs.meta.validate(schema)
    assert json.dumps(part) == before
    validator = jsonschema_rs.validator_for(schema)
    assert all(validator.is_valid(value) for value in schema.get("enum", []))
    assert "default" not in schema or validator.is_valid(schema["default"])


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"city": ["Rome", "Roma"]}, {"city": "Rome"}),
        ({"nights": ["", 2]}, {}),
        ({"nights": [2, ""]}, {"nights": 2}),
        ({"city": ["", "Rome"]}, {"city": "Rome"}),
        ({"city": [""]}, {"city": ""}),
        ({"city": []}, {}),
        ({"price": [None]}, {"price": None}),
        ({"beds": [[{"wide": ["", True]}, {"wide": [False]}]]}, {"beds": [{}, {"wide": False}]}),
        ({"beds": [{"size": {"width": 2}}]}, {"beds": {"size": {"width": 2}}}),
    ],
)
def test_first_right_value_is_passed_and_empty_text_omitted(options: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert arguments_of(options, BOOKING.parameters) == arguments


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        ({"city": 5}, "type", "city is of another type than String: 5"),
        ({"price": True}, "type", "price is of another type than float: True"),
        ({"beds": [{"wide": 1}]}, "type", "beds[0].wide is of another type than Boolean: 1"),
        ({"nights": 3}, "choice", "nights is none of the choices: 3"),
        ({"town": "Rome"}, "unknown", "town is unknown"),
    ],
)
def test_call_contradicting_its_document_is_recognized(change: dict[str, Any], kind: str, text: str) -> None:
    arguments = arguments_of(RIGHT, BOOKING.parameters) | {"nights": 2}
    assert contradictions(arguments, BOOKING.parameters) == []
    (found,) = contradictions({**arguments, **change}, BOOKING.parameters)
    assert (found.kind, found.text) == (kind, text)


def test_a_missing_parameter_contradicts_the_document() -> None:
    (found,) = contradictions({"city": "Rome"}, BOOKING.parameters)
    assert (found.kind, found.text) == ("missing", "beds is missing")


@pytest.mark.parametrize(
    ("part", "opened"),
    [
        ({"type": "string"}, False),
        ({"type": "any"}, True),
        ({"type": "dict"}, True),
        ({"type": "dict", "properties": {}}, True),
        ({"type": "dict", "properties": {"a": {"type": "array", "items": {"type": "any"}}}}, True),
        ({"type": "dict", "properties": {"a": {"type": "array", "items": {"type": "long"}}}}, False),
    ],
)
def test_a_document_is_open_where_anything_may_be_passed(part: dict[str, Any], opened: bool) -> None:
    assert is_open({"type": "dict", "properties": {"a": part}}) is opened


@pytest.mark.security
@pytest.mark.sampled(every=0)
def test_valid_document_is_imported_exported_and_called(requests: Requests) -> None:
    checker = Checker(requests)
    wrong = Answer(BOOKING.name, RIGHT | {"price": ["cheap"]})
    assert checker.check(Question("one", (BOOKING,), (Answer(BOOKING.name, RIGHT), wrong))) == []
    report = checker.report
    assert (report.documents, report.further, report.calls, report.valid) == (1, 0, 2, 1)
    assert (report.exports, report.refused) == (10, 0)
    assert report.contradicting == {
        "one: hotel.book: price is of another type than float: 'cheap'": frozenset({"type"})
    }


@pytest.mark.security
@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (
            Question("one", (Document("f", "d", {"type": "dict", "properties": {"a": {"type": "?"}}}),)),
            "cannot be imported",
        ),
        (Question("one", (BOOKING,), (Answer("hotel.cancel", {}),)), "no such tool"),
        (Question("one", (BOOKING, Document("hotel_book", "d", {"type": "dict"}))), "not exported to openai"),
    ],
)
def test_problem_with_question_names_the_question(requests: Requests, question: Question, problem: str) -> None:
    found = Checker(requests).check(question)
    assert any(each.startswith("one: ") and problem in each for each in found)


@pytest.mark.security
@pytest.mark.parametrize("provider", FORMATS)
def test_schema_that_provider_refuses_is_detected(requests: Requests, provider: str) -> None:
    good = imported(BOOKING).to_format(provider)
    assert requests.refusal(provider, good) is None
    assert requests.refusal(provider, good | {"surplus": 1})
    inner = good.get("function", good)
    for change in ({"name": "a b"}, {"name": ""}, {"name": None}):
        broken = inner | change
        assert requests.refusal(provider, good | {"function": broken} if "function" in good else broken)
    parameters_in(inner)["type"] = "array"
    assert requests.refusal(provider, good)


@pytest.mark.parametrize("provider", FORMATS)
def test_requested_calls_are_read_by_the_format(provider: str) -> None:
    (call,) = format_named(provider).calls(asked(provider, "f", {"a": [1]}))
    arguments = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
    assert (call.name, arguments) == ("f", {"a": [1]})


@pytest.mark.security
def test_packaged_documents_import_export_and_call_without_problem(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("bfcl_eval", reason="bfcl-eval is not installed; make bench-bfcl-documents installs it")
    assert main(["--documents", "--only", "40", "--json"]) == 0
    summary = json.loads(capfd.readouterr().out)
    assert summary["problems"] == []
    assert summary["exports"] > 6 * summary["documents"] > 0
    assert summary["valid"] + summary["contradicting"] == summary["calls"] > 0


@pytest.mark.parametrize("package", ["bfcl_eval", "mistralai"])
def test_missing_package_is_named_with_its_installer(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], package: str
) -> None:
    if package != "bfcl_eval":
        pytest.importorskip("bfcl_eval", reason="bfcl-eval is not installed; make bench-bfcl-documents installs it")
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert check_documents(1) == 2
    said = capfd.readouterr().err
    assert package.replace("_", "-") in said
    assert "make bench-bfcl-documents" in said
