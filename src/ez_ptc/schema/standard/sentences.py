"""Constraints of a JSON Schema as sentences, for providers without the keyword."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

__all__ = ["cut_text", "sentences", "with_sentences", "without_surrogates"]

_MAX_LENGTH: Final = 600
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TEXTS: Final[Mapping[str, str]] = {
    "default": "Default: {}.",
    "enum": "One of: {}.",
    "format": "Format: {}.",
    "pattern": "Matches the regular expression {}",
    "minLength": "At least {} characters.",
    "maxLength": "At most {} characters.",
    "minimum": "At least {}.",
    "maximum": "At most {}.",
    "exclusiveMinimum": "More than {}.",
    "exclusiveMaximum": "Less than {}.",
    "multipleOf": "A multiple of {}.",
    "minItems": "At least {} items.",
    "maxItems": "At most {} items.",
    "minProperties": "At least {} keys.",
    "maxProperties": "At most {} keys.",
    "contentEncoding": "Encoded as {}.",
    "contentMediaType": "Content of type {}.",
    "examples": "For example: {}.",
}
_FLAGS: Final[Mapping[str, str]] = {
    "uniqueItems": "No item twice.",
    "deprecated": "Deprecated.",
    "readOnly": "Read only.",
    "writeOnly": "Write only.",
}
_LISTS: Final = frozenset({"enum", "examples"})
_WORDS: Final = frozenset({"format", "pattern", "contentEncoding", "contentMediaType"})


def sentences(keywords: Mapping[str, Any]) -> str:
    """Return keywords and their values as sentences, or as JSON if there is none for a keyword."""
    texts: list[str] = []
    for key, value in keywords.items():
        if key not in _TEXTS:
            continue
        if key in _WORDS and isinstance(value, str):
            text = value
        elif key in _LISTS and isinstance(value, list):
            text = cut_text(", ".join(map(_json, cast("list[object]", value))))
        else:
            text = _json(value)
        texts.append(_TEXTS[key].format(text))
    texts += [_FLAGS[key] for key, value in keywords.items() if key in _FLAGS and value is True]
    if rest := {key: value for key, value in keywords.items() if key not in _TEXTS and key not in _FLAGS}:
        texts.append(f"Further rules, as JSON Schema: {_json(rest)}")
    return " ".join(texts)


def with_sentences(schema: Mapping[str, Any], *texts: str) -> dict[str, Any]:
    """Return a schema with texts added to its description, each once."""
    description = schema.get("description")
    if not isinstance(description, str):
        description = ""
    for text in texts:
        if text and text not in description:
            description = f"{description} {text}" if description else text
    if description:
        return {**schema, "description": description}
    return dict(schema)


def without_surrogates(text: str) -> str:
    """Return text that can be encoded as UTF-8: a lone surrogate becomes the replacement character."""
    return _SURROGATE.sub("�", text)


def _json(value: object) -> str:
    return cut_text(json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str))


def cut_text(text: str) -> str:
    """Return text of at most 600 characters, with an ellipsis for the rest."""
    if len(text) <= _MAX_LENGTH:
        return text
    return f"{text[: _MAX_LENGTH - 1]}…"
