"""Where credentials are: in URLs, headers, command lines and environments."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ez_ptc.redaction.redactor import REMOVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "ORDINARY_HEADERS",
    "secrets_in_command",
    "secrets_in_headers",
    "secrets_in_url",
    "secrets_in_variables",
    "visible_url",
]

ORDINARY_HEADERS: Final = frozenset(
    {"accept", "accept-encoding", "accept-language", "connection", "content-length", "content-type", "host"}
    | {"traceparent", "tracestate", "transfer-encoding", "user-agent"}
)
"""Headers that clients always send; the others may be credentials."""

_SECRET_NAME: Final = re.compile(
    r"key|token|secret|passw|passphrase|pass(?![a-z])|pwd|auth|cred|bearer|cookie|session|dsn|sign|private|conn|webhook|pat\b|_pat|jwt",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(r"-{0,2}(?P<name>[A-Za-z_][\w.-]*)\s*[=:]\s*(?P<value>.+)", re.DOTALL)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+")
_PREFIX: Final = re.compile(
    r"(sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[a-z]|AKIA|ASIA|AIza|eyJ|hf|npm|pypi|r8|key)[-_A-Z0-9a-z]"
)
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_MIN_KEY: Final = 16


def secrets_in_url(url: str) -> Iterator[str]:
    """Yield the password, or the name without one, the values of the query, and parts of the path that are keys."""
    try:
        parts = urlsplit(url)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
    except ValueError:  # it is no URL, and its user will hear of that
        yield url
        return
    if password:
        yield from (password, f"{user}:{password}")
    elif user:
        yield user
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if "version" not in name.lower():
            yield value
    yield from (unquote(segment) for segment in parts.path.split("/") if _is_key(unquote(segment)))


def visible_url(url: str) -> str:
    """Return a URL for messages: without user, password, query, fragment and keys in its path."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return REMOVED
    path = "/".join(REMOVED if _is_key(unquote(segment)) else segment for segment in parts.path.split("/"))
    if parts.scheme and host:
        return f"{parts.scheme}://{host}{path}"
    return path


def secrets_in_headers(headers: Iterable[tuple[str, str]], ordinary: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the values of headers other than the ordinary ones, as a whole and in the parts that are credentials."""
    for name, value in headers:
        lower = name.lower()
        if lower in ORDINARY_HEADERS or lower in ordinary:
            continue
        yield value
        if lower == "cookie":
            yield from (cookie.partition("=")[2].strip() for cookie in value.split(";"))
            continue
        scheme, _, credentials = value.partition(" ")
        yield credentials.strip()
        if scheme.lower() == "basic":
            try:
                pair = base64.b64decode(credentials.strip(), validate=True).decode()
            except ValueError:
                continue
            yield from (pair, pair.partition(":")[2])


def secrets_in_variables(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of environment variables that are credentials, by their names or by their looks."""
    for name, value in variables.items():
        yield from _secrets_in_value(name, value)


def secrets_in_command(words: Sequence[str]) -> Iterator[str]:
    """Yield the credentials in a command line: of options and variables with such names, and what looks like one."""
    name = ""
    for word in words:
        named = _NAMED.fullmatch(word)
        if named is not None and not _URL.match(word):
            yield from _secrets_in_value(named["name"], named["value"])
        else:
            yield from _secrets_in_value(name, word)
        name = ""
        if word.startswith("-") and named is None:
            name = word


def _secrets_in_value(name: str, value: str) -> Iterator[str]:
    value = value.strip().strip("'\"")
    for url in _URL.findall(value):
        yield from secrets_in_url(url)
    # As in "Server=db;Password=…", and in "Authorization: Bearer …", which an option has.
    for word in re.split(r"[;,\s]+", value):
        named = _NAMED.fullmatch(word)
        if named is not None and _SECRET_NAME.search(named["name"]):
            yield named["value"]
        if _is_key(word):
            yield word
    if not _SECRET_NAME.search(name) or _URL.match(value):
        return
    yield value
    header = _NAMED.fullmatch(value)
    if header is not None and name.lower() != "cookie":
        yield from secrets_in_headers([(header["name"], header["value"])])
    else:
        yield from secrets_in_headers([(name, value)])


def _is_key(text: str) -> bool:
    """Return whether a text looks like a key: long, of one piece, and no word, number or path."""
    if _UUID.fullmatch(text) or (len(text) >= _MIN_KEY and _PREFIX.match(text)):
        return True
    longest = max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="")
    if len(longest) < _MIN_KEY or quote(text, safe="+=:@") != text:
        return False
    return any(map(str.isdigit, longest)) and any(map(str.isalpha, longest))
