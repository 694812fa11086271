"""Keeping credentials out of what the HTTP clients and SDKs below this library log of a server."""

from __future__ import annotations

import logging
import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from traceback import format_exception
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ez_ptc.redaction.redactor import Redactor

__all__ = ["quiet_logs", "quiet_logs_while_it_lives"]

# A search for parts takes 15 times as long as one for whole secrets, and a server may choose what an error quotes.
_MAX_TRACEBACK: Final = 1 << 15
_LIVING: Final[weakref.WeakValueDictionary[int, Redactor]] = weakref.WeakValueDictionary()
_REDACTOR: Final[ContextVar[Redactor | None]] = ContextVar("ez_ptc_log_redactor", default=None)


@contextmanager
def quiet_logs(redactor: Redactor, *libraries: str) -> Generator[None]:
    """Remove secrets from what these libraries log in this thread or task, and in tasks that it starts."""
    for logger in _loggers(libraries):
        logger.addFilter(_clean_current)  # once, however often it is added
    token = _REDACTOR.set(redactor)
    try:
        yield
    finally:
        _REDACTOR.reset(token)


def quiet_logs_while_it_lives(redactor: Redactor, *libraries: str) -> None:
    """Remove its secrets from what these libraries log anywhere in the process, as long as the redactor exists."""
    _LIVING[id(redactor)] = redactor
    for logger in _loggers(libraries):
        # It stays: to replace the list of filters could undo what another thread adds to it.
        logger.addFilter(_clean_living)


def _loggers(libraries: tuple[str, ...]) -> Iterator[logging.Logger]:
    names = [name for name in [*logging.root.manager.loggerDict] if name.partition(".")[0] in libraries]
    return map(logging.getLogger, names)


def _clean_living(record: logging.LogRecord) -> bool:
    for reference in _LIVING.valuerefs():
        redactor = reference()
        if redactor is not None:
            _clean(record, redactor)
    return True


def _clean_current(record: logging.LogRecord) -> bool:
    redactor = _REDACTOR.get()
    return redactor is None or _clean(record, redactor)


def _clean(record: logging.LogRecord, redactor: Redactor) -> bool:
    if redactor:
        text = message = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            traceback = "".join(format_exception(*record.exc_info))
            # Errors of parsers quote pieces of what a server sent, so a part of a secret is one too.
            if len(traceback) > _MAX_TRACEBACK or redactor.has_part(traceback):
                text = f"{message} ({record.exc_info[0].__name__})"
                record.exc_info = record.exc_text = None
        if (cleaned := redactor.text(text)) != message:
            record.msg, record.args = cleaned, ()
    return True
