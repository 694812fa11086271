"""Which HTTP requests reach a served toolkit: a check of their Host, Origin and token, without I/O.

Any web page can send requests to a server on its reader's machine, and by DNS rebinding under a name of its own. Hence
no address replaces a check, loopback included:

- Host is the address that the connection arrived at, with its port; or, there, `localhost` or the name that was bound;
  or an entry of the list. It stands in the request once, and a request without it is refused.
- Origin, which browsers send, is the page's own server at one of these addresses, or an entry of its list.
- Authorization has the token, once, unless the server was started without one. Such a server serves programs of this
  machine only, so a request that a proxy has forwarded is refused.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Admission", "AllowList", "Refusal", "is_loopback", "read_address"]

_HOST: Final = re.compile(
    r"(?P<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9_.-]{0,252}[a-z0-9_])?)(?::(?P<port>[0-9]{1,5}))?"
)
_ORIGIN: Final = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>.+)")
_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65_535
# Written by proxies, with `-` or `_`: the request comes from somewhere else than its connection says.
_FORWARDED: Final = re.compile(
    rb"(x-)?forwarded(-.*)?|via|.*-(real|client|connecting|originating|remote)-ip|(x-)?client-ip|x-remote-(addr|user)"
    rb"|.*-(client|socket|user|remote)-?ip|.*-viewer-address|cdn-loop|max-forwards|x-original-.*|x-real-.*|x-rewrite-.*"
    rb"|x-proxyuser-.*|x-host|x-http-host-override|x-(url-)?(scheme|proto|ssl|port)(-.*)?|front-end-https"
    rb"|x-goog-(iap|authenticated)-.*|(cf|cloudfront|fastly|fly|ngrok|tailscale)-.*"
    rb"|x-(amzn?|appengine|arr|azure|cloud|envoy|fd|ms-client-principal|nf|vercel)-.*"
)
_SAME_SITE: Final = frozenset({b"same-origin", b"none"})


class _HostAndPort(NamedTuple):
    """A name in lower case or an address, and a port or None."""

    name: str
    port: int | None


class Refusal(NamedTuple):
    """The status and the text of the response to a request that is not admitted."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class AllowList:
    """The names and origins by which clients may reach a server, in addition to those of its own address.

    Attributes:
        hosts: Values of Host: a name or an address, for any port, or `name:port` for one.
        origins: Values of Origin, such as `https://shop.example`.
    """

    hosts: frozenset[_HostAndPort] = frozenset()
    origins: frozenset[str] = frozenset()

    @classmethod
    def of(cls, hosts: Iterable[str] | str, origins: Iterable[str] | str) -> AllowList:
        """Return the list of what a user writes. Raises ValueError for an entry that no request could have."""
        return cls(
            frozenset(_checked_host(host) for host in _items(hosts)),
            frozenset(_checked_origin(origin) for origin in _items(origins)),
        )

    def __bool__(self) -> bool:
        return bool(self.hosts or self.origins)


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules of one server.

    Attributes:
        token: The bearer token that every request needs, or None.
        allowed: The hosts and origins in addition to the server's own.
        bound_name: The name that the server was bound by, if it is no address.
    """

    token: str | None = field(repr=False)
    allowed: AllowList = field(default_factory=AllowList)
    bound_name: str | None = None

    def refuse(self, scope: Mapping[str, Any]) -> Refusal | None:
        """Return why the request of an ASGI scope is refused, or None if it is admitted."""
        return self.refuse_address(scope) or self._refuse_caller(_Headers(scope))

    def refuse_address(self, scope: Mapping[str, Any]) -> Refusal | None:
        """Same as `refuse`, but for the token: only by what is called, and from which page."""
        headers = _Headers(scope)
        host = headers.host()
        if host is None or not str(scope.get("path", "")).startswith("/"):
            return Refusal(400, "expected one Host header, and a request target that begins with a slash")
        is_own = self._is_own(host, scope)
        if not is_own and not {host, _HostAndPort(host.name, None)} & self.allowed.hosts:
            return Refusal(421, f"not served under this name; if it is right, allow it: --allow-host {_written(host)}")
        if not self._has_allowed_origin(headers, host if is_own else None):
            return Refusal(403, "web pages of this origin may not call; if it should, allow it: --allow-origin")
        return None

    def _refuse_caller(self, headers: _Headers) -> Refusal | None:
        if self.token is None:
            if headers.is_forwarded():
                return Refusal(403, "a server without a token answers no forwarded requests: start it with a token")
            return None
        # Compared in constant time, so that the token cannot be guessed byte by byte.
        received = headers.only(b"authorization") or b""
        if not hmac.compare_digest(received, f"Bearer {self.token}".encode()):
            return Refusal(401, "expected the header Authorization: Bearer TOKEN, with the token of this server")
        return None

    def _is_own(self, host: _HostAndPort, scope: Mapping[str, Any]) -> bool:
        """Return whether a Host is an address of the server's, as the connection knows it."""
        server = scope.get("server")
        if not server or (host.port or _PORTS["http"]) != server[1]:
            return False
        address = _canonical_address(str(server[0]))
        names = {address, self.bound_name}
        if is_loopback(address):
            names.add("localhost")
        return host.name in names

    def _has_allowed_origin(self, headers: _Headers, own: _HostAndPort | None) -> bool:
        received = headers.all(b"origin")
        if not received:
            # Pages may send some requests without it, and browsers say then where these come from.
            return all(value in _SAME_SITE for value in headers.all(b"sec-fetch-site"))
        if len(received) > 1:
            return False
        origin = _canonical_origin(received[0].decode("latin-1"))
        if origin is None:
            return False
        is_own = own is not None and origin == _canonical_origin(f"http://{_written(own)}")
        return is_own or origin in self.allowed.origins


class _Headers:
    def __init__(self, scope: Mapping[str, Any]) -> None:
        self._items: list[tuple[bytes, bytes]] = [(name.lower(), value) for name, value in scope.get("headers", [])]

    def all(self, name: bytes) -> list[bytes]:
        """Return the values of the headers of a name."""
        return [value for key, value in self._items if key == name]

    def only(self, name: bytes) -> bytes | None:
        """Return the value of a header; None if it is missing or there are several."""
        values = self.all(name)
        return values[0] if len(values) == 1 else None

    def host(self) -> _HostAndPort | None:
        """Return the one Host, or None."""
        value = self.only(b"host")
        return _parse_host((value or b"").decode("latin-1"))

    def is_forwarded(self) -> bool:
        """Return whether a proxy has left a header."""
        return any(_FORWARDED.fullmatch(name.replace(b"_", b"-")) for name, _ in self._items)


def is_loopback(address: str) -> bool:
    """Return whether an address, as of a bound socket, is a loopback address; IPv4 in IPv6 is IPv4."""
    try:
        return ipaddress.ip_address(_canonical_address(address)).is_loopback
    except ValueError:  # a name
        return False


def _canonical_address(text: str) -> str:
    """Return the one spelling of an IP address without its zone; other texts as they are, in lower case."""
    try:
        return read_address(text)
    except ValueError:
        return text.lower()


def read_address(text: str) -> str:
    """Return the one spelling of an IP address without its zone. Raises ValueError for anything else."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)


def _parse_host(text: str) -> _HostAndPort | None:
    """Return the host and port of a Host header or an origin, or None for anything else, as with user names."""
    match = _HOST.fullmatch(text.lower())
    if match is None:
        return None
    name, port = match["name"], match["port"]
    if name.startswith("["):
        try:
            name = _canonical_address(str(ipaddress.IPv6Address(name[1:-1])))
        except ValueError:
            return None
    if port is None:
        return _HostAndPort(name, None)
    return _HostAndPort(name, int(port)) if 0 < int(port) <= _MAX_PORT else None


def _canonical_origin(text: str) -> str | None:
    """Return an origin in one spelling, or None for anything else, such as `null`."""
    match = _ORIGIN.fullmatch(text.lower())
    if match is None or (host := _parse_host(match["host"])) is None:
        return None
    if host.port == _PORTS.get(match["scheme"]):
        host = _HostAndPort(host.name, None)
    return f"{match['scheme']}://{_written(host)}"


def _written(host: _HostAndPort) -> str:
    name = host.name
    if ":" in name:
        name = f"[{name}]"
    if host.port is None:
        return name
    return f"{name}:{host.port}"


def _items(entries: Iterable[str] | str) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    return list(entries)


def _checked_host(text: str) -> _HostAndPort:
    host = _parse_host(text)
    if host is None:
        message = f"expected a host to allow as name or name:port, got {safe_repr(text)}: list each name"
        raise ValueError(message)
    return host


def _checked_origin(text: str) -> str:
    origin = _canonical_origin(text)
    if origin is None:
        message = (
            f"expected an origin to allow as scheme://host, got {safe_repr(text)}: write it as https://shop.example"
        )
        raise ValueError(message)
    return origin
