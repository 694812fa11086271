"""Keeping credentials in URLs out of what HTTP clients, and the SDKs above them, log and say of their requests."""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from ez_ptc.redaction.redactor import REMOVED
from ez_ptc.redaction.sources import visible_url

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

__all__ = ["CompletedAddress", "quiet_url"]

_COMPLETE: Final = "ez_ptc_complete"


class CompletedAddress:
    """A server's URL: an SDK gets `visible`, without credentials, and `complete` adds these to each of its requests.

    With `is_endpoint`, requests to other paths below the URL get none.
    """

    def __init__(self, url: str, *, is_endpoint: bool = False) -> None:
        import httpx2

        self.visible: Final = _visible(url)
        self._is_endpoint: Final = is_endpoint
        # The SDK explains what is wrong with an invalid one.
        self._urls: Final = (httpx2.URL(url), httpx2.URL(self.visible)) if self.visible != url else None

    def complete(self, request: httpx2.Request) -> None:
        """Add the URL's credentials to a request before it is sent; redirected ones have what the server chose."""
        if self._urls is not None and _COMPLETE not in request.extensions:
            self._add_credentials(request, *self._urls)
        request.extensions[_COMPLETE] = True
        request.url = quiet_url(request.url, visible_url)

    def _add_credentials(self, request: httpx2.Request, url: httpx2.URL, visible: httpx2.URL) -> None:
        sent = request.url
        path, visible_path, sent_path = map(_path, (url, visible, sent))
        rest = sent_path.removeprefix(visible_path)
        if not sent_path.startswith(visible_path) or (sent.scheme, sent.netloc) != (visible.scheme, visible.netloc):
            return
        if rest and (self._is_endpoint or not rest.startswith(b"/")):
            return
        target = path + rest
        if not rest:
            target = url.raw_path.partition(b"?")[0]
        if query := b"&".join(piece for piece in (url.query, sent.query) if piece):
            target += b"?" + query
        request.url = sent.copy_with(raw_path=target)
        if url.userinfo:
            credentials = b":".join(map(unquote_to_bytes, (url.userinfo + b":").split(b":", 2)[:2]))
            request.headers["authorization"] = "Basic " + base64.b64encode(credentials).decode()


def _visible(url: str) -> str:
    """Return the URL without credentials, or as it is if it has none or no client could send to it."""
    import httpx2

    visible = visible_url(url)
    try:
        is_usable = bool(httpx2.URL(url).host) and visible != REMOVED
        # A query may go to the end of paths, and a fragment is never sent.
        return visible if is_usable and httpx2.URL(visible) != httpx2.URL(url) else url
    except httpx2.InvalidURL:
        return url


def _path(url: httpx2.URL) -> bytes:
    return url.raw_path.partition(b"?")[0].rstrip(b"/")


def quiet_url(url: Any, clean: Callable[[str], str]) -> Any:  # noqa: ANN401 - an URL of httpx or httpx2, of any version
    """Return a copy of a client's URL: the same address for its transport, with a text and `repr` made by `clean`.

    Clients log the text of each request's URL. What is derived from the copy is an ordinary URL.
    """
    plain: Any = url.copy_with()
    copy = _quiet_class(plain.__class__)(plain)
    copy.clean = clean
    return copy


@cache
def _quiet_class(url_class: Any) -> Any:  # noqa: ANN401 - as above
    def write_text(url: Any) -> str:  # noqa: ANN401 - as above
        text: str = url.clean(url_class.__str__(url))
        return text

    def write_repr(url: Any) -> str:  # noqa: ANN401 - as above
        return f"{url_class.__name__}({str(url)!r})"

    def join(url: Any, other: object) -> Any:  # noqa: ANN401 - as above
        return url_class(url).join(other)

    return type("QuietURL", (url_class,), {"__str__": write_text, "__repr__": write_repr, "join": join})
