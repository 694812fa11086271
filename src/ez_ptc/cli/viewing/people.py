"""Who asks for a page: a person with a token, named by the token or by a trusted proxy.

A request is answered if its Host and Origin are the server's own and it has one of the tokens. The name of the token is
who decides. With a header for users, a proxy that has logged people in may name them instead: its address is the only
one from which the header is taken, and a request with that header from anywhere else is refused as forged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.mcp.server.admission import Refusal, read_address
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.mcp.server.admission import Admission

__all__ = ["People", "UserHeader"]

_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class UserHeader:
    """The header in which a proxy names the person, and the addresses of such proxies."""

    name: bytes
    proxies: frozenset[str]

    @classmethod
    def of(cls, name: str, addresses: list[str]) -> UserHeader:
        """Return a header from its options. Raises ValueError for an invalid name or address."""
        if not name.isascii() or not name.replace("-", "").isalnum():
            message = f"--user-header: expected the name of a header, such as X-User, got {safe_repr(name)}"
            raise ValueError(message)
        if not addresses:
            message = "--user-header needs --trust-proxy ADDRESS: anyone could write the header"
            raise ValueError(message)
        return cls(name.lower().encode(), frozenset(map(_address, addresses)))

    def name_in(self, scope: Mapping[str, Any]) -> str | Refusal | None:
        """Return the name in a request, or None if it has no such header; a Refusal if it is not from a proxy."""
        values = [value for name, value in scope["headers"] if name.lower() == self.name]
        if not values:
            return None
        client = scope.get("client")
        if client is None or _address(client[0]) not in self.proxies:
            return Refusal(403, "the header for users is taken from the trusted proxy only")
        name = values[0].decode("utf-8", "replace").strip()
        if len(values) > 1 or not 0 < len(name) <= _MAX_NAME or not name.isprintable():
            return Refusal(400, "expected one header for users, with a printable name of at most 200 characters")
        return name


@dataclass(frozen=True, slots=True)
class People:
    """The people of one server: a rule of admission for each name."""

    admissions: tuple[tuple[str, Admission], ...]
    header: UserHeader | None = None

    def refuse_address(self, scope: Mapping[str, Any]) -> Refusal | None:
        """Return why a request is refused from any person, or None."""
        return self.admissions[0][1].refuse_address(scope)

    def caller(self, scope: Mapping[str, Any]) -> str | Refusal:
        """Return the name of the person who sends a request, or why it is refused."""
        named = None
        if self.header is not None:
            named = self.header.name_in(scope)
        if isinstance(named, Refusal):
            return named
        refusals: list[Refusal] = []
        for name, admission in self.admissions:
            refusal = admission.refuse(scope)
            if refusal is None:
                return named or name
            refusals.append(refusal)
        return refusals[0]


def _address(text: str) -> str:
    """Return the one spelling of an address. Raises ValueError for anything else."""
    try:
        return read_address(text)
    except ValueError:
        message = f"--trust-proxy: expected an IP address, got {safe_repr(text)}"
        raise ValueError(message) from None
