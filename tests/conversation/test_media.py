"""Images, documents, audio and videos in a conversation: what they are made of, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from ez_ptc.conversation import media
from ez_ptc.conversation.builder import llm
from ez_ptc.messages import AudioMessage, DocumentMessage, ImageMessage, MediaMessage, Message, VideoMessage

PIXEL = b"\x89PNG\r\n\x1a\n" + b"pixel"
PDF = b"%PDF-1.7 plan"


def shown(step: str, source: bytes | str, **options: Any) -> Message:
    [message] = getattr(llm(), step)(source, **options).messages
    return message


def test_image_accepts_bytes_file_or_url(tmp_path: Path) -> None:
    (tmp_path / "pixel").write_bytes(PIXEL)
    wanted = ImageMessage(data=PIXEL, media_type="image/png")
    assert llm().image(PIXEL).messages == [wanted]
    assert llm().image(tmp_path / "pixel").messages == [wanted]
    assert llm().image(str(tmp_path / "pixel")).messages == [wanted]
    assert llm().image("https://example.org/a.png").messages == [ImageMessage(url="https://example.org/a.png")]
    assert llm().image(b"BM", media_type="image/bmp").messages == [ImageMessage(data=b"BM", media_type="image/bmp")]


def test_document_gets_its_file_name(tmp_path: Path) -> None:
    (tmp_path / "plan.pdf").write_bytes(PDF)
    (tmp_path / "notes.md").write_text("# Notes")
    assert llm().document(tmp_path / "plan.pdf").messages == [DocumentMessage(PDF, name="plan.pdf")]
    assert llm().document(PDF, name="Plan").document(PDF).messages == [
        DocumentMessage(PDF, name="Plan"),
        DocumentMessage(PDF),
    ]
    [notes] = llm().document(str(tmp_path / "notes.md")).messages
    assert notes == DocumentMessage(b"# Notes", media_type="text/markdown", name="notes.md")
    assert llm().document(b"Notes").messages == [DocumentMessage(b"Notes", media_type="text/plain")]


@pytest.mark.parametrize(
    ("step", "start", "media_type"),
    [
        ("image", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("image", b"GIF89a", "image/gif"),
        ("image", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ("document", PDF, "application/pdf"),
        ("audio", b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        ("audio", b"ID3\4", "audio/mpeg"),
        ("audio", b"\xff\xfb\x90", "audio/mpeg"),
        ("audio", b"\0\0\0\x20ftypM4A ", "audio/mp4"),
        ("video", b"\0\0\0\x20ftypisom", "video/mp4"),
        ("video", b"\0\0\0\x20ftypqt  ", "video/quicktime"),
        ("video", b"\x1aE\xdf\xa3", "video/webm"),
    ],
)
def test_media_type_is_read_from_first_bytes(step: str, start: bytes, media_type: str) -> None:
    message = shown(step, start)
    assert isinstance(message, MediaMessage)
    assert (message.data, message.media_type) == (start, media_type)


@pytest.mark.parametrize(
    ("step", "address", "made"),
    [
        ("document", "https://example.org/a.docx?x=1", "application/vnd.openxmlformats-officedocument"),
        ("document", "https://example.org/a", "application/pdf"),
        ("image", "https://example.org/a.JPG", "image/jpeg"),
        ("audio", "gs://bucket/a.mp3", "audio/mpeg"),
        ("video", "https://example.org/a.pdf", "video/mp4"),
        ("video", "data:video/webm;base64,AAAA", "video/webm"),
    ],
)
def test_media_type_is_read_from_url(step: str, address: str, made: str) -> None:
    message = shown(step, address)
    assert isinstance(message, MediaMessage)
    assert message.url == address
    assert message.media_type.startswith(made)


@pytest.mark.parametrize(
    ("step", "source", "options", "problem"),
    [
        ("image", b"RIFF\0\0\0\0WAVE", {}, r"expected an image \(gif, jpeg, png, webp\), got bytes of audio/wav: set"),
        ("document", b"\0\1", {}, "expected a document .*, got b'"),
        ("document", b"\xff\xfe", {}, "expected a document"),
        ("audio", PDF, {}, "expected audio .*, got bytes of application/pdf"),
        ("video", b"?", {}, r"expected a video .*media_type='video/mp4'"),
        (
            "image",
            PIXEL,
            {"media_type": "application/pdf"},
            "expected the media type of an image, got 'application/pdf'",
        ),
        ("document", PDF, {"media_type": "application/pdf\r\nX: y"}, "expected the media type of a document"),
        ("audio", "data:text/plain;base64,AAAA", {}, "expected the URL of audio, got one of 'text/plain'"),
    ],
)
def test_other_media_type_is_refused(step: str, source: bytes | str, options: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        shown(step, source, **options)


def test_other_file_type_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"expected an image .*, got 'a.png'"):
        llm().image(tmp_path / "a.png")
    with pytest.raises(FileNotFoundError):
        llm().video(tmp_path / "b.mp4")


def test_oversized_media_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MAX_FILE_BYTES", len(PDF) - 1)
    (tmp_path / "plan.pdf").write_bytes(PDF)
    for source in (PDF, tmp_path / "plan.pdf"):
        with pytest.raises(ValueError, match="expected at most 12 bytes, got more: give a URL"):
            llm().document(source)
    assert llm().document(PDF[:-1]).messages == [DocumentMessage(PDF[:-1])]


def test_all_media_types_can_be_combined() -> None:
    asked = llm().image(PIXEL).audio(b"ID3").video(b"\0\0\0\x20ftypisom").document("https://example.org/a.pdf")
    kinds = [ImageMessage, AudioMessage, VideoMessage, DocumentMessage]
    assert [type(message) for message in asked.messages] == kinds


@pytest.mark.parametrize("step", ["image", "audio", "document", "video"])
def test_content_in_place_of_a_path_is_not_repeated(step: str) -> None:
    with pytest.raises(OSError, match="expected a path or a URL, got 'eeee") as failure:
        getattr(llm(), step)("e" * 300_000)
    assert len(str(failure.value)) < 300
