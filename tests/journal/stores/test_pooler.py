"""A pooler before the server: one that lends connections for a transaction each cannot hold the locks of runs."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Journal, JournalError, Toolkit
from tests.journal.programs import Effects
from tests.journal.stores.server import PostgresServer

_SETTINGS = """
[databases]
* = host=127.0.0.1 port={server} user=test
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = any
pool_mode = {mode}
unix_socket_dir =
ignore_startup_parameters = extra_float_digits,options
"""


@contextlib.contextmanager
def _pooler(folder: Path, server: PostgresServer, mode: str) -> Generator[int]:
    """Return a context with the port of a PgBouncer."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed here (apt-get install pgbouncer)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    settings = folder / "pgbouncer.ini"
    settings.write_text(_SETTINGS.format(server=server.port, port=port, mode=mode))
    # It refuses root, too, and nobody may not look into the folders of tests.
    options: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
    with settings.open() as opened:
        process = subprocess.Popen(
            [program, "-q", f"/proc/self/fd/{opened.fileno()}"],
            pass_fds=[opened.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **options,
        )
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        yield port
    finally:
        process.kill()
        process.wait(60)


def test_pooler_of_transactions_is_refused(server: PostgresServer, tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    for mode in ("transaction", "session"):
        with _pooler(tmp_path, server, mode) as port:
            address = f"postgresql://test:s3cret@127.0.0.1:{port}/test"
            with Journal(address) as journal, Toolkit(effects.tools(), journal=journal) as toolkit:
                if mode == "session":
                    assert toolkit.execute("print(effect('a'))").output == "a!\n"
                else:
                    with pytest.raises(JournalError, match="is behind a pooler that lends connections for a"):
                        toolkit.execute("print(effect('b'))")
    assert effects.lines() == {"effect a": 1}
