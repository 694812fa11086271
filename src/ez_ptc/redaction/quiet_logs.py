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
    living = [reference() for reference in _LIVING.valuerefs()]
    return _clean(record, [redactor for redactor in living if redactor])


def _clean_current(record: logging.LogRecord) -> bool:
    redactor = _REDACTOR.get()
    return not redactor or _clean(record, [redactor])


def _clean(record: logging.LogRecord, redactors: list[Redactor]) -> bool:
    if not redactors:
        return True
    text = message = record.getMessage()
    if record.stack_info and _is_unsafe(record.stack_info, redactors):
        record.stack_info = None
    # Another filter of ours may have dropped the exception. Handlers show no attribute with an underscore.
    name = vars(record).get("_ez_ptc_error", "traceback left out")
    if record.exc_info and record.exc_info[0]:
        name = vars(record)["_ez_ptc_error"] = record.exc_info[0].__name__
        try:
            record.exc_text = record.exc_text or "".join(format_exception(*record.exc_info)).removesuffix("\n")
        except Exception:  # noqa: BLE001 - foreign code: the notes of an exception may raise anything when they are read
            text = f"{message} ({name})"
        # Handlers that show variables would read credentials in its frames. Formatters print the text.
        record.exc_info = None
    if record.exc_text is not None and _is_unsafe(record.exc_text, redactors):
        record.exc_text = None
        text = f"{message} ({name})"
    for redactor in redactors:
        text = redactor.text(text)
    if text != message:
        record.msg, record.args = text, ()
    return True


def _is_unsafe(traceback: str, redactors: list[Redactor]) -> bool:
    # Errors of parsers quote pieces of what a server sent, so a part of a secret is one too.
    return len(traceback) > _MAX_TRACEBACK or any(redactor.has_part(traceback) for redactor in redactors)
