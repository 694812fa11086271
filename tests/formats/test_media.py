"""Images, documents, audio and videos that are shown to a model: what each provider is sent, or why it is not."""

from collections.abc import Callable
from typing import Any

import pytest

from ez_ptc.errors import ProviderError
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.gemini import messages as gemini_turns
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import (
    Answer,
    AudioMessage,
    DocumentMessage,
    Entry,
    ImageMessage,
    MediaMessage,
    MessageRole,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
    VideoMessage,
)
from tests.formats.gemini.bodies import check as check_gemini
from tests.formats.openai_types import check_chat, check_responses
from tests.providers.anthropic.refusals import problems

_Json = dict[str, Any]

ASKED = TextMessage("What is it?")
IMAGE = ImageMessage(b"\x89PNG")
PDF = DocumentMessage(b"%PDF-1.7", name="plan.pdf")
NOTES = DocumentMessage("Ä".encode(), media_type="text/markdown", name="notes.md")
LINKED = DocumentMessage(url="https://example.org/a.pdf")
EMBEDDED = DocumentMessage(url="data:text/plain;base64,SGk=", media_type="text/plain")
SHEET = DocumentMessage(b"PK", media_type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
SOUND = AudioMessage(b"RIFF")
SONG = AudioMessage(b"fLaC", media_type="audio/flac")
RADIO = AudioMessage(url="https://example.org/a.mp3", media_type="audio/mpeg")
FILM = VideoMessage(url="https://example.org/film.mp4")


def _prompt(*entries: Entry) -> Prompt:
    return Prompt(model="gemini-3.8-flash", entries=(ASKED, *entries))


def sent_to_anthropic(*entries: Entry) -> list[_Json]:
    body = anthropic_turns.request(_prompt(*entries))
    assert problems(body) == []
    return body["messages"][0]["content"][1:]


def sent_to_responses(*entries: Entry) -> list[_Json]:
    body = responses_turns.request(_prompt(*entries))
    check_responses(body)
    return body["input"][0]["content"][1:]


def sent_to_chat(*entries: Entry) -> list[_Json]:
    body = openai_turns.request(_prompt(*entries))
    check_chat(body)
    return body["messages"][0]["content"][1:]


def sent_to_gemini(*entries: Entry) -> list[_Json]:
    body = gemini_turns.request(_prompt(*entries))
    check_gemini(body)
    return body["contents"][0]["parts"][1:]


def sent_to_mistral(*entries: Entry) -> list[_Json]:
    from mistralai.client.models import ChatCompletionRequest

    body = openai_turns.request(_prompt(*entries), server="api.mistral.ai")
    request = ChatCompletionRequest.model_validate(body)
    assert "UNKNOWN" not in request.model_dump_json()
    return body["messages"][0]["content"][1:]


def test_anthropic_reads_pdf_files_and_texts() -> None:
    pdf, notes, linked, embedded = sent_to_anthropic(PDF, NOTES, LINKED, EMBEDDED)

    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="}
    assert pdf == {"type": "document", "source": source, "title": "plan.pdf"}
    source = {"type": "text", "media_type": "text/plain", "data": "Ä"}
    assert notes == {"type": "document", "source": source, "title": "notes.md"}
    assert linked == {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}
    assert embedded["source"] == {"type": "text", "media_type": "text/plain", "data": "Hi"}


def test_responses_read_files_of_any_type() -> None:
    assert sent_to_responses(PDF, SHEET, LINKED, EMBEDDED) == [
        {"type": "input_file", "filename": "plan.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="},
        {"type": "input_file", "filename": "document.xlsx", "file_data": f"data:{SHEET.media_type};base64,UEs="},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        {"type": "input_file", "filename": "document.txt", "file_data": "data:text/plain;base64,SGk="},
    ]


def test_chat_completions_read_files_and_hear_wav_and_mp3() -> None:
    assert sent_to_chat(PDF, SOUND, AudioMessage(b"ID3", media_type="audio/mpeg")) == [
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
    ]


def test_gemini_takes_them_all() -> None:
    assert sent_to_gemini(PDF, SONG, RADIO, FILM) == [
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0xLjc="}},
        {"inlineData": {"mimeType": "audio/flac", "data": "ZkxhQw=="}},
        {"fileData": {"fileUri": "https://example.org/a.mp3", "mimeType": "audio/mpeg"}},
        {"fileData": {"fileUri": "https://example.org/film.mp4", "mimeType": "video/mp4"}},
    ]


def test_mistral_reads_documents_and_hears_audio() -> None:
    assert sent_to_mistral(PDF, LINKED, SOUND, RADIO) == [
        {
            "type": "document_url",
            "document_url": "data:application/pdf;base64,JVBERi0xLjc=",
            "document_name": "plan.pdf",
        },
        {"type": "document_url", "document_url": "https://example.org/a.pdf"},
        {"type": "input_audio", "input_audio": "UklGRg=="},
        {"type": "input_audio", "input_audio": "https://example.org/a.mp3"},
    ]


@pytest.mark.parametrize(
    ("send", "media", "problem"),
    [
        (sent_to_anthropic, SOUND, r"Anthropic does not take audio \(audio/wav, 4 bytes\): say it as text"),
        (sent_to_anthropic, FILM, "Anthropic does not take a video"),
        (sent_to_anthropic, SHEET, "Anthropic does not take a document .*, only the bytes of a text, and PDF files"),
        (
            sent_to_anthropic,
            DocumentMessage(url="https://example.org/a.txt", media_type="text/plain"),
            "only the bytes",
        ),
        (sent_to_responses, SOUND, "OpenAI's Responses API does not take audio"),
        (sent_to_responses, FILM, "OpenAI's Responses API does not take a video"),
        (sent_to_chat, LINKED, "Completions API does not take a document .* by its address, only its bytes"),
        (sent_to_chat, SONG, "does not take audio .*, only the bytes of WAV and MP3 files"),
        (sent_to_chat, RADIO, "does not take audio .*, only the bytes of WAV and MP3 files"),
        (sent_to_chat, FILM, r"Completions API does not take a video \(video/mp4, 'https://example.org/film.mp4'\)"),
        (sent_to_mistral, FILM, "Mistral does not take a video"),
    ],
)
def test_unsupported_media_error_names_type_and_provider(
    send: Callable[[Entry], object], media: Entry, problem: str
) -> None:
    with pytest.raises(ProviderError, match=problem):
        send(media)


@pytest.mark.parametrize("kind", [MediaMessage, DocumentMessage])
def test_assistant_media_is_refused_if_only_users_may_send(kind: type[MediaMessage]) -> None:
    shown = kind(b"%PDF", role=MessageRole.ASSISTANT)
    for send in (sent_to_chat, sent_to_responses):
        with pytest.raises(ProviderError, match=f"does not accept {kind.__name__} from the assistant"):
            send(shown)


def test_mistral_gets_assistant_message_between_result_and_image() -> None:
    asked = Answer(messages=(ToolCallMessage("draw", "callAAAA1", {}),))
    entries = (ASKED, asked, ToolResultMessage("callAAAA1", "done", tool_name="draw"), IMAGE)
    body = openai_turns.request(Prompt(model="m", entries=entries), server="api.mistral.ai")

    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
