"""The border to a provider's server: what is accepted of its responses.

Every HTTP client of a provider has a hook here, which sees each response before its body is read, and before a redirect
is followed. A redirect to another origin is not followed: the key and the conversation were meant for the configured
server. The body is decompressed here in bounded steps, because a kilobyte of gzip can be a megabyte, and is ended at
`MAX_ANSWER_BYTES`.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final, cast

import httpx2

from ez_ptc.errors import ProviderError, RedirectRefusedError
from ez_ptc.providers._http import exhaust
from ez_ptc.redaction.sources import visible_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

__all__ = ["MAX_ANSWER_BYTES", "client_hooks", "raise_for_redirect", "sync_client_hooks"]

MAX_ANSWER_BYTES: Final = 64 << 20
"""Of a whole answer or a stream: more than any provider sends, pictures included."""

_REFUSED: Final = "ez_ptc_refused_redirect"
_STEP_BYTES: Final = 1 << 20
_GZIP: Final = zlib.MAX_WBITS | 16


def client_hooks() -> dict[str, list[Callable[..., Any]]]:
    """Return the event hooks of an asynchronous HTTP client."""

    async def ask_plainly(request: httpx2.Request) -> None:
        request.headers["accept-encoding"] = "gzip, deflate"

    async def check(response: httpx2.Response) -> None:
        _check(response)

    return {"request": [ask_plainly], "response": [check]}


def sync_client_hooks() -> dict[str, list[Callable[..., Any]]]:
    """Same as `client_hooks`, for a blocking client."""

    def ask_plainly(request: httpx2.Request) -> None:
        request.headers["accept-encoding"] = "gzip, deflate"

    return {"request": [ask_plainly], "response": [_check]}


def raise_for_redirect(response: httpx2.Response, address: str) -> None:
    """Raise RedirectRefusedError if a response is a redirect that was not followed; `address` is the server's."""
    target: object = response.extensions.get(_REFUSED)
    if target is not None:
        message = (
            f"{address} answered with a redirect to {target}, which was not followed: the key and the conversation are "
            "for the configured server only; if that is its new address, configure it as base_url"
        )
        raise RedirectRefusedError(message)


def _check(response: httpx2.Response) -> None:
    """Keep a redirect to another origin from being followed, and bound the body."""
    if response.has_redirect_location:
        sent, location = response.request.url, response.headers["location"]
        try:
            target = sent.join(location)
            is_same = (target.scheme, target.host, target.port) == (sent.scheme, sent.host, sent.port)
            visible = visible_url(str(target))
        except (httpx2.InvalidURL, ValueError):
            is_same, visible = False, "an invalid address"
        if not is_same:
            # The client follows what has a location, and the SDKs would send the request again after an exception.
            del response.headers["location"]
            response.headers["x-should-retry"] = "false"
            response.extensions[_REFUSED] = visible
    encodings = [name.strip().lower() for name in response.headers.get("content-encoding", "").split(",")]
    encodings = [name for name in encodings if name not in {"", "identity"}]
    if encodings:
        del response.headers["content-encoding"]
    response.headers.pop("content-length", None)
    response.stream = _BoundedStream(cast("Any", response.stream), encodings)


class _BoundedStream(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """A response's bytes, decompressed, at most `MAX_ANSWER_BYTES`. Raises ProviderError for more."""

    def __init__(self, stream: Any, encodings: list[str]) -> None:  # noqa: ANN401 - a stream of either kind
        self._stream = stream
        self._encodings = encodings
        self._left = MAX_ANSWER_BYTES
        self._decoder: Any = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks: AsyncIterator[bytes] = self._stream.__aiter__()
        try:
            async for chunk in chunks:
                for piece in self._pieces(chunk):
                    yield piece
        finally:
            await exhaust(chunks)

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            yield from self._pieces(chunk)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        for piece in self._decoded(chunk) if self._encodings else [chunk]:
            self._left -= len(piece)
            if self._left < 0:
                message = f"the answer has more than {MAX_ANSWER_BYTES >> 20} MiB: is that the address of an API?"
                raise ProviderError(message)
            yield piece

    def _decoded(self, chunk: bytes) -> Iterator[bytes]:
        if self._decoder is None:
            self._decoder = self._make_decoder(chunk)
        try:
            piece = b""
            # Some of the output may wait though all of the input was read.
            while (chunk or len(piece) == _STEP_BYTES) and not self._decoder.eof:
                piece = self._decoder.decompress(chunk, _STEP_BYTES)
                chunk = self._decoder.unconsumed_tail
                yield piece
        except zlib.error as error:
            message = f"the answer cannot be decompressed: {error}"
            raise ProviderError(message) from error

    def _make_decoder(self, chunk: bytes) -> Any:  # noqa: ANN401 - zlib's class has no public name
        if self._encodings == ["gzip"]:
            return zlib.decompressobj(_GZIP)
        if self._encodings == ["deflate"]:
            # With zlib's header, as the standard says, or without, as some servers do.
            is_zlib = chunk[0] & 0x0F == 8 and (len(chunk) < 2 or int.from_bytes(chunk[:2]) % 31 == 0)  # noqa: PLR2004 - RFC 1950
            return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
        message = f"expected an answer in gzip or deflate, got {', '.join(self._encodings)[:100]!r}"
        raise ProviderError(message)
