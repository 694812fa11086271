"""`ez-ptc view`: serve the runs of a journal, or write the page of one to a file."""

from __future__ import annotations

import hashlib
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ez_ptc._extras import import_extra
from ez_ptc.cli.chat import data_folder
from ez_ptc.cli.run import CommandError
from ez_ptc.cli.runs.opening import find_run_id, login_name, open_journal, write_file
from ez_ptc.cli.serving.tokens import keep_token, token_path
from ez_ptc.cli.terminal import printable
from ez_ptc.cli.viewing.application import ViewerApplication
from ez_ptc.cli.viewing.people import People, UserHeader
from ez_ptc.conversation.saving.history import History
from ez_ptc.journal.stores.addresses import is_address
from ez_ptc.mcp.server.admission import AllowList
from ez_ptc.mcp.server.http import HttpSettings, admission_of, app_server, base_url, open_listeners
from ez_ptc.view.run_list import run_link

if TYPE_CHECKING:
    import socket

    from ez_ptc.journal.journal import Journal

__all__ = ["DEFAULT_JOURNAL", "ViewOptions", "serve_pages", "write_page"]

DEFAULT_JOURNAL: Final = Path("runs.db")
"""The journal of the command without `--journal`."""

_INSTEAD: Final = "set XDG_DATA_HOME to another folder"


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """The command's options: where pages are served, and to whom."""

    host: str = "127.0.0.1"
    port: int = 8400
    users: tuple[str, ...] = ()
    user_header: str | None = None
    trust_proxy: tuple[str, ...] = ()
    allow_host: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()
    history: Path | None = None

    def people(self, listeners: list[socket.socket], tokens: dict[str, str]) -> People:
        """Return who may ask for pages, by their tokens. Raises ValueError for options that are refused."""
        header = None
        if self.user_header is not None:
            header = UserHeader.of(self.user_header, list(self.trust_proxy))
        elif self.trust_proxy:
            message = "--trust-proxy is about the header in which a proxy names people: add --user-header NAME"
            raise ValueError(message)
        allowed = AllowList.of(self.allow_host, self.allow_origin)
        settings = {name: HttpSettings(self.host, self.port, token, allowed=allowed) for name, token in tokens.items()}
        admissions = tuple((name, admission_of(setting, listeners)) for name, setting in settings.items())
        return People(admissions, header)


def serve_pages(journal_path: str | None, run: str | None, options: ViewOptions) -> int:
    """Serve the pages until the process is interrupted, and return 0; each person's address is on standard error.

    Without the path of a journal it is runs.db; with a history, this file may be missing.

    Raises:
        CommandError: The journal or the run is missing, or the options are refused.
        MissingExtraError: The extra `cli` is not installed.
    """
    import_extra("uvicorn", extra="cli")
    with ExitStack() as stack:
        history = None
        if options.history is not None:
            if not options.history.is_file():
                message = f"no history at {options.history}: ez-ptc chat --history FILE writes one"
                raise CommandError(message)
            history = stack.enter_context(History(options.history))
        journal = None
        if history is None or journal_path is not None or run is not None or DEFAULT_JOURNAL.is_file():
            journal = stack.enter_context(open_journal(journal_path or str(DEFAULT_JOURNAL)))
        path = "/"
        if journal is not None and run is not None:
            path = run_link(find_run_id(journal, run))
        try:
            _serve(journal, history, path, options)
        except (ValueError, OSError) as error:
            message = f"cannot serve {options.history if journal is None else journal.name}: {error}"
            raise CommandError(message) from error
    return 0


def _serve(journal: Journal | None, history: History | None, path: str, options: ViewOptions) -> None:
    listeners = open_listeners(HttpSettings(options.host, options.port))
    try:
        tokens = {name: _token_of(name, journal, options) for name in options.users or (login_name(),)}
        people = options.people(listeners, tokens)
        server = app_server(ViewerApplication(journal, people, history))
        for name, token in tokens.items():
            address = f"{base_url(listeners)}{path}#token={token}"
            print(f"for {printable(name)}: {printable(address)}", file=sys.stderr, flush=True)
        server.config.timeout_graceful_shutdown = 1  # pages wait for events
        server.run(sockets=listeners)
    finally:
        for listener in listeners:
            listener.close()


def _token_of(name: str, journal: Journal | None, options: ViewOptions) -> str:
    """Return the token of a person for the pages of a journal at an address, from that person's file."""
    if journal is None:
        source = str((options.history or Path()).resolve())
    elif is_address(journal.name):
        source = journal.name
    else:
        source = str(journal.path.resolve())
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    path = token_path(data_folder() / "tokens", f"view-{digest}", source, f"{options.host}:{options.port}")
    return keep_token(path, instead=_INSTEAD)


def write_page(journal_path: str | None, run: str, file: Path) -> int:
    """Write the page of a run to a file, and return 0. Raises CommandError if the run is missing, or the file fails."""
    with open_journal(journal_path or str(DEFAULT_JOURNAL)) as journal:
        page = journal.run(find_run_id(journal, run)).to_html()
    write_file(file, page)
    return 0
