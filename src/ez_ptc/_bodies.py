"""Bodies of HTTP responses, which cost a bounded amount: compression, charsets and line ends."""

import codecs
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import anyio

__all__ = ["ENCODINGS", "Decompressor", "LineEnds", "exhaust", "safe_charset"]

ENCODINGS: Final = ("gzip", "deflate")
"""What a request may ask for, and a body may be in."""

_OTHER_ENCODINGS: Final = frozenset({"br", "compress", "zstd"})

# Decoding takes time in proportion to the text, and gives text. Of the others that Python has, some do not: punycode
# takes quadratic time.
_CHARSETS: Final = frozenset(
    {"ascii", "big5", "big5hkscs", "cp437", "cp850", "cp866", "cp932", "cp949", "cp950", "euc_jp", "euc_kr", "gb18030"}
    | {"gb2312", "gbk", "koi8_r", "koi8_u", "mac_roman", "shift_jis", "utf_16", "utf_16_be", "utf_16_le", "utf_32"}
    | {"utf_32_be", "utf_32_le", "utf_8", "utf_8_sig", "latin_1", "iso8859_1"}
    | {f"cp125{number}" for number in range(9)}
    | {f"iso8859_{number}" for number in (*range(2, 12), 13, 14, 15, 16)}
)
_STEP_BYTES: Final = 1 << 20
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_GZIP: Final = zlib.MAX_WBITS | 16


def safe_charset(name: str | None) -> str:
    """Return the charset of a response, if it decodes bytes to text in linear time, and else UTF-8."""
    try:
        if name is not None and codecs.lookup(name).name.replace("-", "_") in _CHARSETS:
            return name
    except (LookupError, ValueError):
        pass
    return "utf-8"


class Decompressor:
    """Decompresses a body in bounded steps, since a kilobyte of gzip can be a megabyte.

    `encoding` is its `Content-Encoding`, and `error` makes what is raised about it.
    """

    def __init__(self, encoding: str, error: type[Exception]) -> None:
        names = [name.strip().lower() for name in encoding.split(",")]
        self._encodings = [name for name in names if name not in {"", "identity"}]
        self._error = error
        self._decoder: Any = None

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what a chunk of the body adds to its content, at most a megabyte at a time."""
        if not self._encodings:
            yield chunk
            return
        if not chunk:
            return
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
            raise self._error(message) from error

    def _make_decoder(self, chunk: bytes) -> Any:  # noqa: ANN401 - zlib's class has no public name
        if self._encodings == ["gzip"]:
            return zlib.decompressobj(_GZIP)
        if self._encodings == ["deflate"]:
            # With zlib's header, as the standard says, or without, as some servers do.
            is_zlib = chunk[0] & 0x0F == 8 and (len(chunk) < 2 or int.from_bytes(chunk[:2]) % 31 == 0)  # noqa: PLR2004 - RFC 1950
            return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
        # Another server's text is not quoted, because it may repeat a credential.
        name = next((name for name in self._encodings if name in _OTHER_ENCODINGS), "another encoding")
        message = f"expected an answer in gzip or deflate, got {name}"
        raise self._error(message)


class LineEnds:
    """Rewrites the chunks of an event stream: without a byte order mark, and with LF at the end of each line.

    By the WHATWG's standard (html.spec.whatwg.org, "Parsing an event stream"), a stream may have the mark, and lines
    may end in LF, CR or CRLF. The MCP SDK misses the first event after the mark, and delays an event before a CR.
    """

    def __init__(self) -> None:
        self._start: bytes | None = b""
        self._is_after_cr = False

    def feed(self, chunk: bytes) -> bytes:
        """Return a chunk in that form; a line that ends in it is complete."""
        if self._start is not None:
            self._start += chunk
            if len(self._start) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(self._start):
                return b""
            chunk, self._start = self._start.removeprefix(_BYTE_ORDER_MARK), None
        if self._is_after_cr and chunk:
            chunk, self._is_after_cr = chunk.removeprefix(b"\n"), False
        self._is_after_cr = self._is_after_cr or chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


async def exhaust(chunks: AsyncIterator[object]) -> None:
    """End nested generators: closing the outermost would leave the others to the garbage collector, which cannot await.

    A cancelled reader ends itself.
    """
    with anyio.CancelScope() as scope:
        scope.cancel()
        async for _ in chunks:
            pass
