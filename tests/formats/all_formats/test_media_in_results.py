"""Results of calls that are made of parts: what each provider is sent of them, by the types of its own SDK."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from pydantic import TypeAdapter

from ez_ptc import ez_tool
from ez_ptc.formats import mcp
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.anthropic import tools as anthropic
from ez_ptc.formats.content import as_json, as_text, deliverable_result
from ez_ptc.formats.gemini import messages as gemini_turns
from ez_ptc.formats.media import MAX_MEDIA_BYTES, MAX_PARTS
from ez_ptc.formats.mistral import tools as mistral
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_chat import tools as openai
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import (
    Answer,
    AudioMessage,
    DocumentMessage,
    ImageMessage,
    MediaMessage,
    TextMessage,
    ToolCall,
    ToolCallMessage,
    ToolResult,
    ToolResultMessage,
    VideoMessage,
)
from tests.formats.openai_types import check_chat, check_responses
from tests.providers.anthropic.refusals import problems

_Json = dict[str, Any]

IMAGE = ImageMessage(b"\x89PNG")
PDF = DocumentMessage(b"%PDF-1.7", name="plan.pdf")
NOTES = DocumentMessage("Ä".encode(), media_type="text/plain")
SOUND = AudioMessage(b"RIFF", media_type="audio/wav")
FILM = VideoMessage(url="https://example.org/film.mp4")
CALL = ToolCall("call_1", "draw", {})


@ez_tool
def draw() -> list[str | MediaMessage]:
    """Draw a picture."""
    return ["Here it is:", IMAGE]


def prompt(*parts: object, model: str = "m") -> Prompt:
    asked = Answer(messages=(ToolCallMessage("draw", "call_1", {}),))
    result = ToolResultMessage("call_1", parts, tool_name="draw")
    return Prompt(model=model, entries=(TextMessage("Draw!"), asked, result), tools=(draw,))


def anthropic_content(*parts: object) -> list[_Json]:
    body = anthropic_turns.request(prompt(*parts))
    assert problems(body) == []
    return body["messages"][-1]["content"][0]["content"]


def responses_output(*parts: object) -> list[_Json]:
    body = responses_turns.request(prompt(*parts))
    check_responses(body)
    return body["input"][-1]["output"]


def gemini_response(*parts: object, model: str = "gemini-3.8-flash") -> _Json:
    from google.genai import types

    body = gemini_turns.request(prompt(*parts, model=model))
    response = body["contents"][-1]["parts"][0]["functionResponse"]
    types.FunctionResponse.model_validate(response)
    return response


def chat_content(*parts: object, server: str = "api.openai.com") -> str:
    body = openai_turns.request(prompt(*parts), server=server)
    check_chat(body)
    return body["messages"][-1]["content"]


def mistral_content(*parts: object) -> list[_Json]:
    from mistralai.client.models import ToolMessage

    body = openai_turns.request(prompt(*parts), server="api.mistral.ai")
    ToolMessage.model_validate(body["messages"][-1])
    return body["messages"][-1]["content"]


def test_anthropic_gets_text_images_and_documents_in_their_order() -> None:
    text, image, pdf, notes = anthropic_content("Here:", IMAGE, PDF, NOTES)

    assert text == {"type": "text", "text": "Here:"}
    assert image == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="}
    assert pdf == {"type": "document", "source": source, "title": "plan.pdf"}
    assert notes == {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Ä"}}


def test_responses_get_text_images_and_files_in_their_order() -> None:
    assert responses_output("Here:", IMAGE, PDF, DocumentMessage(url="https://example.org/a.pdf")) == [
        {"type": "input_text", "text": "Here:"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"},
        {"type": "input_file", "filename": "plan.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
    ]


def test_gemini_gets_images_and_documents_beside_the_text() -> None:
    response = gemini_response("Here:", IMAGE, {"size": 4}, PDF)

    assert response["response"] == {"output": 'Here:\n{"size":4}'}
    assert response["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0xLjc="}},
    ]


def test_mistral_gets_text_images_documents_and_audio() -> None:
    assert mistral_content("Here:", IMAGE, PDF, SOUND) == [
        {"type": "text", "text": "Here:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        {
            "type": "document_url",
            "document_url": "data:application/pdf;base64,JVBERi0xLjc=",
            "document_name": "plan.pdf",
        },
        {"type": "input_audio", "input_audio": "UklGRg=="},
    ]
    [message] = mistral.results([(CALL, ToolResult(success=True, output=IMAGE))])
    assert message["content"][0]["type"] == "image_url"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (lambda: anthropic_content(IMAGE, SOUND)[1]["text"], "Anthropic does not take audio (audio/wav, 4 bytes)"),
        (lambda: responses_output(IMAGE, FILM)[1]["text"], "OpenAI's Responses API does not take a video (video/mp4,"),
        (
            lambda: gemini_response(IMAGE, SOUND)["response"]["output"],
            "Gemini does not take audio (audio/wav, 4 bytes)",
        ),
        (lambda: gemini_response(IMAGE, model="gemini-2.5-pro")["response"]["output"], "a model before Gemini 3 does"),
        (lambda: chat_content("Here:", IMAGE), "OpenAI's Chat Completions API does not take an image (image/png,"),
        (lambda: chat_content(PDF, server="localhost"), "does not take a document (application/pdf, 8 bytes) in the"),
        (lambda: mistral_content(IMAGE, FILM)[1]["text"], "Mistral does not take a video (video/mp4, 'https://examp"),
    ],
)
def test_unsupported_media_is_named_with_its_position(sent: Callable[[], str], said: str) -> None:
    text = sent()

    assert "[Left out here: " in text
    assert said in text


def test_one_image_is_a_result_as_well() -> None:
    [block] = anthropic_content(IMAGE)
    [message] = anthropic.results([(CALL, ToolResult(success=True, output=IMAGE))])

    assert message["content"][0]["content"] == [block]
    assert gemini_response(IMAGE)["response"] == {"output": ""}


def test_other_programs_get_them_as_the_protocol_has_them() -> None:
    [result] = mcp.results([(CALL, ToolResult(success=True, output=["Here:", IMAGE, SOUND, PDF, FILM]))])
    text, image, sound, pdf, film = result["content"]

    assert (text, result["isError"]) == ({"type": "text", "text": "Here:"}, False)
    assert image == {"type": "image", "mimeType": "image/png", "data": "iVBORw=="}
    assert sound == {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="}
    assert pdf["resource"] == {"uri": "attachment:document", "mimeType": "application/pdf", "blob": "JVBERi0xLjc="}
    assert "MCP does not take a video" in film["text"]
    assert "outputSchema" not in mcp.describe(draw)


def test_a_failed_call_has_only_its_error() -> None:
    [message] = openai.results([(CALL, ToolResult(success=False, error="no ink"))])

    assert message["content"] == "no ink"


def test_text_for_people_has_a_note_for_each() -> None:
    output = ["Here:", IMAGE, FILM, 5]

    assert (
        as_text(output) == "Here:\n[image: image/png, 4 bytes]\n[video: video/mp4, 'https://example.org/film.mp4']\n5"
    )
    assert as_json({"chart": IMAGE}) == {"chart": "[image: image/png, 4 bytes]"}
    assert as_text(ImageMessage(url="data:image/png;base64,AAAA")) == "[image: image/png, 'data:image/png;base64,']"


def test_a_result_of_parts_is_bounded() -> None:
    cut = deliverable_result(
        "draw", ToolResult(success=True, output=["x" * 500, IMAGE, "y" * 500], max_text=900)
    ).output
    many = deliverable_result("draw", ToolResult(success=True, output=[IMAGE] * (MAX_PARTS + 1)))
    large = deliverable_result("draw", ToolResult(success=True, output=[ImageMessage(bytes(MAX_MEDIA_BYTES)), IMAGE]))

    first, _, last = cast("tuple[object, ...]", cut)
    assert str(first) == "x" * 500
    assert "characters left out here" in str(last)
    assert len(str(first)) + len(str(last)) <= 900
    assert "more than 200 parts" in str(many.error)
    assert "more than 33,554,432 bytes" in str(large.error)
    assert "do not call it again" in str(large.error)


def test_converted_media_stays_unchanged() -> None:
    once = deliverable_result("draw", ToolResult(success=True, output=["Here:", IMAGE, 5]))

    assert once.output == (TextMessage("Here:"), IMAGE, TextMessage("5"))
    assert deliverable_result("draw", once) == once


def test_every_result_is_accepted_by_anthropic_sdk() -> None:
    from anthropic.types import ToolResultBlockParam

    for each in (IMAGE, PDF, NOTES, SOUND, FILM, [IMAGE, " ", "Here."], DocumentMessage(url="https://a.b/c.pdf")):
        [message] = anthropic.results([(CALL, ToolResult(success=True, output=each))])
        block: Mapping[str, Any] = message["content"][0]
        TypeAdapter(ToolResultBlockParam).validate_python(block)
        assert all(part.get("text", ".").strip() for part in block["content"])
