"""The shop over HTTP, on real sockets, and requests to it that are written by hand."""

import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ez_ptc.mcp.server.admission import AllowList
from ez_ptc.mcp.server.http import HttpSettings, http_server, open_listeners
from ez_ptc.mcp.server.serving import McpServer
from tests.mcp.servers.shop import toolkit

TOKEN = "a-token-of-many-characters"
BEARER = f"Bearer {TOKEN}"
ALLOWED = AllowList.of(["shop.example", "proxy.example:8443"], ["https://shop.example", "http://[2001:DB8::1]:8080"])
MAX_SECONDS = 30
ADMITTED = 200
# The names of an address that the sockets can be bound by; each is the same loopback address for the kernel.
LOOPBACK = {
    "127.0.0.1": "127.0.0.1",
    "127.0.0.2": "127.0.0.2",
    "127.1": "127.0.0.1",
    "0x7f000001": "127.0.0.1",
    "2130706433": "127.0.0.1",
    "127.255.255.254": "127.255.255.254",
    "::1": "::1",
    "0:0:0:0:0:0:0:1": "::1",
    "::ffff:127.0.0.1": "127.0.0.1",
    "::FFFF:7f00:2": "127.0.0.2",
}
INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }
)


@dataclass(frozen=True)
class Served:
    """A server's address, port and the name of its address in Host."""

    address: str
    port: int

    @property
    def host(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    def status(self, *headers: str, target: str = "/mcp", method: str = "POST", version: str = "1.1") -> int:
        """Return the status of the response to a request with these headers, in this order."""
        lines = [f"{method} {target} HTTP/{version}", *headers, "Content-Type: application/json", "Connection: close"]
        lines += ["Accept: application/json, text/event-stream", f"Content-Length: {len(INITIALIZE)}", "", INITIALIZE]
        with socket.create_connection((self.address, self.port), MAX_SECONDS) as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1"))
            received = connection.recv(65_536)
            while b"\r\n" not in received and (more := connection.recv(65_536)):
                received += more
        return int(received.split(b" ", 2)[1])


@contextmanager
def served(settings: HttpSettings, shop: McpServer | None = None) -> Generator[Served]:
    """Serve the shop, or another server, on a free port."""
    settings = replace(settings, port=0)
    listeners = open_listeners(settings)
    server = http_server((shop or toolkit.as_mcp_server()).server, settings, listeners)
    thread = threading.Thread(target=server.run, args=(listeners,))
    thread.start()
    try:
        address, port = str(listeners[0].getsockname()[0]), int(listeners[0].getsockname()[1])
        address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
        yield Served(address, port)
    finally:
        server.should_exit = True
        thread.join(MAX_SECONDS)
        for listener in listeners:
            listener.close()
    assert not thread.is_alive()
