"""What Gemini is sent and answers, for its tests; and what it refuses."""

from typing import Any

from ez_ptc import ez_tool
from ez_ptc.formats.describable import ToolShape
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Entry, TextMessage

__all__ = ["MODEL", "ODD", "asking", "call", "check", "get_weather", "refusal", "response"]

MODEL = "gemini-3.8-flash"


@ez_tool
def get_weather(location: str, unit: str = "celsius") -> str:
    """Say what the weather is like."""
    return f"sunny in {location}, in {unit}"


# As another program may describe it, which knows nothing of what Gemini takes.
_FREE = {"type": "object", "properties": {"where": {"type": "object", "additionalProperties": {"type": "integer"}}}}
ODD = ToolShape("shop/find order", "Find something.", _FREE)


def asking(*entries: Entry, **changes: Any) -> Prompt:
    """Return a prompt with both tools."""
    given: dict[str, Any] = {"model": MODEL, "tools": (get_weather, ODD), **changes}
    return Prompt(entries=entries or (TextMessage("Hello"),), **given)


def response(*parts: dict[str, Any], finish: str | None = "STOP", **others: Any) -> dict[str, Any]:
    """Return a response that has these parts."""
    ending = {} if finish is None else {"finishReason": finish}
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **ending, "index": 0}], **others}


def call(location: str, **others: Any) -> dict[str, Any]:
    """Return the part that is a call."""
    return {"functionCall": {"name": "get_weather", "args": {"location": location}, **others}}


def check(request: dict[str, Any]) -> None:
    """Check a request with the SDK's types, which know no other fields than theirs, and for what Gemini refuses."""
    from google.genai import types

    known: dict[str, Any] = {
        "systemInstruction": types.Content,
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }
    for key, kind in known.items():
        if key in request:
            kind.model_validate(request[key])
    for content in request["contents"]:
        types.Content.model_validate(content)
    for tool in request.get("tools", ()):
        types.Tool.model_validate(tool)
    assert request.keys() <= {*known, "contents", "tools"}
    assert refusal(request) is None


def refusal(request: dict[str, Any]) -> str | None:
    """Return why Gemini refuses the order of a request's contents, or None where it takes them."""
    contents: list[dict[str, Any]] = request.get("contents", [])
    if not contents or not all(content["parts"] for content in contents):
        return "contents.parts must not be empty."
    asked: list[str] = []
    for content in contents:
        answered = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        if answered != asked:
            return (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        asked = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
        if asked and content["role"] != "model":
            return "Function calls come from the model."
    return "The last turn has no function response." if asked else None
