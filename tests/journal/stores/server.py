"""A PostgreSQL server of one's own: on loopback, in a temporary folder, as an ordinary user.

    python -m tests.journal.stores.server COMMAND…

runs a command with its address in EZ_PTC_TEST_POSTGRES. Where PostgreSQL is not installed, it says so and runs nothing.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["PostgresServer", "find_programs", "run_server"]

_DEBIAN: Final = Path("/usr/lib/postgresql")
_OLDEST: Final = 15
_SETTINGS: Final = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
log_min_messages = warning
"""


def find_programs() -> Path | None:
    """Return the folder of initdb and postgres, in version 15 or later, or None."""
    versions = [path for path in _DEBIAN.glob("*/bin") if path.parent.name.isdigit()]
    usable = [path for path in versions if int(path.parent.name) >= _OLDEST and (path / "initdb").exists()]
    if usable:
        return max(usable, key=lambda path: int(path.parent.name))
    found = shutil.which("initdb")
    return Path(found).parent if found else None


class PostgresServer:
    """A server with a database `test`; its address has a password, which must be shown nowhere."""

    def __init__(self, folder: Path, programs: Path, *, primary: PostgresServer | None = None) -> None:
        """Make its files in a folder; with a primary, as its standby."""
        self._programs, self._data = programs, folder / "data"
        # initdb refuses root.
        self._user = "nobody" if os.getuid() == 0 else None
        folder.chmod(0o755)
        self._data.mkdir(mode=0o700)
        if self._user:
            shutil.chown(self._data, self._user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: Final[int] = free.getsockname()[1]
        data = "-D", str(self._data), "--no-sync"
        if primary is None:
            self._run("initdb", *data, "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C")
        else:
            source = f"host=127.0.0.1 port={primary.port} user=test"
            self._run("pg_basebackup", *data, "-d", source, "--write-recovery-conf", "--checkpoint=fast")
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(f"{_SETTINGS}port = {self.port}\n")
        self.start()
        if primary is None:
            self.execute("CREATE DATABASE test", database="postgres")
        else:
            primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            primary.execute("SELECT pg_reload_conf()")

    def address(self, database: str = "test", user: str = "test") -> str:
        """Return the URL of a database."""
        return f"postgresql://{user}:s3cret@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        log = str(self._data / "log")
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", "60", "-l", log, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: "fast" ends its connections, "immediate" is a crash."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", "60", "-m", mode, "stop")

    def promote(self) -> None:
        """Make a primary of a standby."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-t", "60", "promote")

    def kill(self) -> None:
        """Kill the server's first process, as the kernel does when memory is short."""
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")

    def execute(self, statement: str, *values: object, database: str = "test") -> list[tuple[Any, ...]]:
        """Execute a statement in a connection of its own; return its rows."""
        import psycopg

        with psycopg.connect(self.address(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        group = pwd.getpwnam(self._user).pw_gid if self._user else None
        options: dict[str, Any] = {"user": self._user, "group": group, "extra_groups": []} if self._user else {}
        subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/", timeout=120, **options
        )


@contextlib.contextmanager
def run_server() -> Generator[PostgresServer | None]:
    """Return a context with a server, or with None where PostgreSQL is not installed."""
    programs = find_programs()
    if programs is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="ez-ptc-postgres-") as folder:
        server = PostgresServer(Path(folder), programs)
        try:
            yield server
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                server.stop("immediate")


def main(command: list[str]) -> int:
    """Run a command with a server."""
    with run_server() as server:
        if server is None:
            print("skipped: PostgreSQL 15 or later is not installed here (apt-get install postgresql)")  # noqa: T201 - for people
            return 0
        environment = {**os.environ, "EZ_PTC_TEST_POSTGRES": server.address()}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
