"""A response's body as a stream that has a size, for clients of httpx2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import httpx2

from ez_ptc._bodies import ENCODINGS, Decompressor, exhaust, safe_charset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = ["ask_plainly", "bound_body"]


def ask_plainly(request: httpx2.Request) -> None:
    """Ask for a body that `bound_body` can decompress."""
    request.headers["accept-encoding"] = ", ".join(ENCODINGS)


def bound_body(response: httpx2.Response, max_bytes: int | None, too_large: Exception, error: type[Exception]) -> None:
    """Decompress a response's body in steps, and end it at `max_bytes` with `too_large`; None is without end.

    To be called before the body is read. Its charset becomes UTF-8 if Python's codec for it is slow, or gives no text.
    `error` is the class of what is raised if the body cannot be decompressed.
    """
    charset = response.charset_encoding
    # Another one stays as it was set: event streams are in UTF-8 whatever their charset.
    if charset is not None and safe_charset(charset) != charset:
        response.encoding = "utf-8"
    encoding = response.headers.pop("content-encoding", "")
    response.headers.pop("content-length", None)
    stream = cast("Any", response.stream)
    response.stream = _BoundedStream(stream, Decompressor(encoding, error), max_bytes, too_large)


class _BoundedStream(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    def __init__(
        self,
        stream: Any,  # noqa: ANN401 - a stream of either kind
        decompressor: Decompressor,
        max_bytes: int | None,
        too_large: Exception,
    ) -> None:
        self._stream = stream
        self._decompressor = decompressor
        self._left = max_bytes
        self._too_large = too_large

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
        for piece in self._decompressor.pieces(chunk):
            if self._left is not None:
                self._left -= len(piece)
                if self._left < 0:
                    raise self._too_large
            yield piece
