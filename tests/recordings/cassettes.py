"""Recorded traffic of real providers, read in place from the unpacked source distributions that ship it."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import pytest

__all__ = ["VARIABLE", "Interaction", "interactions", "sse_events"]

VARIABLE: Final = "EZ_PTC_RECORDINGS"


@dataclass(frozen=True, slots=True)
class Interaction:
    """One recorded request and its response.

    Attributes:
        cassette: The file it was read from, below the folder of recordings, and its number there.
        method: The method of the request.
        uri: Its address; some cassettes have it blotted out.
        request: Its body as JSON, or None where there is none.
        status: The status of the response.
        headers: Its headers, with lower-case names; some cassettes have the values blotted out.
        body: Its body, decompressed.
    """

    cassette: str
    method: str
    uri: str
    request: Any
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_stream(self) -> bool:
        """Whether the response is server-sent events."""
        return self.body.lstrip().startswith((b"event:", b"data:"))

    @property
    def json(self) -> Any:  # noqa: ANN401 - any JSON
        """The response's body as JSON."""
        return json.loads(self.body)

    def __str__(self) -> str:
        return self.cassette


def interactions(*packages: str) -> list[Interaction]:
    """Return what the packages have recorded, or skip the test where the recordings are not here."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} names no folder with {', '.join(packages)}, unpacked: `make test-recordings` does")
    pytest.importorskip("yaml", reason="PyYAML, which reads the recordings, is not installed")
    return [each for package in packages for each in _of_package(Path(folder) / package)]


def sse_events(body: bytes) -> list[str]:
    """Return the data of server-sent events, those without any left out."""
    blocks = body.replace(b"\r\n", b"\n").split(b"\n\n")
    return [data for block in blocks if (data := _data(block.decode()))]


@cache
def _of_package(folder: Path) -> Sequence[Interaction]:
    files = sorted(path for path in folder.rglob("*.yaml*") if "cassettes" in path.parts)
    if not files:
        message = f"{folder} has no recordings: unpack the source distribution {folder.name} there"
        raise FileNotFoundError(message)
    return tuple(each for path in files for each in _of_file(path, folder.parent))


def _of_file(path: Path, folder: Path) -> Iterator[Interaction]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yaml = cast("Any", importlib.import_module("yaml"))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    recorded = cast("dict[str, Any]", yaml.load(raw, Loader=loader))
    for number, (request, response) in enumerate(_pairs(recorded)):
        headers = _headers(response["headers"])
        yield Interaction(
            cassette=f"{path.relative_to(folder)}#{number}",
            method=request["method"],
            uri=request["uri"],
            request=_json(request["body"]),
            status=response["status"]["code"],
            headers=headers,
            body=_decompressed(_bytes(response["body"]["string"])),
        )


def _pairs(recorded: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Return requests with their responses, from either of the two layouts there are."""
    if "interactions" in recorded:
        return ((each["request"], each["response"]) for each in recorded["interactions"])
    return zip(recorded["requests"], recorded["responses"], strict=True)


def _bytes(body: str | bytes | None) -> bytes:
    return body.encode() if isinstance(body, str) else body or b""


def _json(body: str | bytes | None) -> Any:  # noqa: ANN401 - any JSON
    raw = _decompressed(_bytes(body))
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return None


def _decompressed(body: bytes) -> bytes:
    """Undo the compression that a body begins with, for the headers that would name it may be blotted out."""
    if body.startswith(b"\x1f\x8b"):
        return gzip.decompress(body)
    if body.startswith((b"\x78\x9c", b"\x78\xda")):
        return zlib.decompress(body)
    return body


def _headers(recorded: Mapping[str, Any]) -> dict[str, str]:
    return {name.lower(): value if isinstance(value, str) else ", ".join(value) for name, value in recorded.items()}


def _data(block: str) -> str:
    lines = [line.removeprefix("data:").removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
    return "\n".join(lines)
