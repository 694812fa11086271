"""The address of a journal on a server, without its password wherever it is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ez_ptc.errors import JournalError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Address"]

_SCHEMA: Final = re.compile(r"-c\s*search_path=([\w,]+)")
# A dead server is noticed within 30 seconds, wherever the user's address says nothing else.
_DEFAULTS: Final[dict[str, Any]] = {
    "application_name": "ez-ptc",
    "connect_timeout": "10",
    "keepalives_count": "3",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "tcp_user_timeout": "30000",
}


@dataclass(frozen=True)
class Address:
    """A server, a database and a role. `name` is shown to users; the parameters may have a password."""

    name: str
    parameters: Mapping[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read an URL as libpq does. Raises JournalError, without any of the URL, if that is not possible."""
        message = (
            "expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE as the address of the journal, got another form: "
            "write special characters of the password as percent escapes, such as %40 for @"
        )
        authority, *_ = re.split(r"[/?]", url.partition("://")[2], maxsplit=1)
        # Else libpq would take a part of the password for the host, and show it.
        if url.count("@") != authority.count("@") or authority.count("@") > 1:
            raise JournalError(message)
        try:
            parameters = conninfo_to_dict(url)
        except psycopg.Error:  # its text may have a part of the password
            raise JournalError(message) from None
        # Without an @, the password is where a port is expected, and would be shown as one.
        if not re.fullmatch(r"[0-9]{0,5}(,[0-9]{0,5})*", str(parameters.get("port") or "")):
            raise JournalError(message)
        return cls(_name_of(parameters), {**_DEFAULTS, **parameters, "client_encoding": "utf8"})

    def scrub(self, text: str) -> str:
        """Return a server's message on one line, without the password."""
        for secret in ("password", "sslpassword"):
            if self.parameters.get(secret):
                text = text.replace(str(self.parameters[secret]), "***")
        return "; ".join(line.strip() for line in text.splitlines() if line.strip())[:500]


def _name_of(parameters: Mapping[str, Any]) -> str:
    """Return the address without its password and most options."""
    user = f"{quote(parameters['user'])}@" if parameters.get("user") else ""
    hosts = [f"[{host}]" if ":" in host else quote(host, safe="") for host in parameters.get("host", "").split(",")]
    ports = [f":{port}" if port else "" for port in str(parameters.get("port") or "").split(",")]
    servers = ",".join(host + port for host, port in zip(hosts, ports * len(hosts), strict=False))
    schema = _SCHEMA.search(str(parameters.get("options", "")))
    tenant = f"?options=-csearch_path%3D{schema[1]}" if schema else ""
    return f"postgresql://{user}{servers}/{parameters.get('dbname', '')}{tenant}"
