"""Keeping credentials out of what the HTTP clients and SDKs below this library log of a server."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

    from ez_ptc.redaction.redactor import Redactor

__all__ = ["quiet_logs"]

_REDACTOR: Final[ContextVar[Redactor | None]] = ContextVar("ez_ptc_log_redactor", default=None)


@contextmanager
def quiet_logs(redactor: Redactor, *libraries: str) -> Generator[None]:
    """Remove secrets from what these libraries log in this thread or task, and in tasks that it starts."""
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] in libraries:
            logging.getLogger(name).addFilter(_clean_record)  # once, however often it is added
    token = _REDACTOR.set(redactor)
    try:
        yield
    finally:
        _REDACTOR.reset(token)


def _clean_record(record: logging.LogRecord) -> bool:
    redactor = _REDACTOR.get()
    if redactor:
        message = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            # Errors of parsers quote pieces of what a server sent, in which a part of a secret is not recognized.
            message = f"{message} ({record.exc_info[0].__name__})"
            record.exc_info = record.exc_text = None
        record.msg, record.args = redactor.text(message), ()
    return True
