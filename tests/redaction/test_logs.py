"""Logs of the libraries below this one: without its credentials, and otherwise as they were."""

import base64
import json
import logging
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.redaction.quiet_logs import quiet_logs, quiet_logs_while_it_lives
from ez_ptc.redaction.redactor import MIN_SECRET, Redactor

SECRET = "sk-live/4f0c+d81é2ab97730"
LOGGER = "quiet_library.client"
ENCODED = base64.b64encode(f"user:{SECRET}".encode()).decode()
QUOTES = {
    "whole": SECRET,
    "beginning": SECRET[:12] + "...",
    "middle": f"...{SECRET[8:17]}...",
    "end": f"...{SECRET[-8:]}'",
    "capitals": SECRET[:12].upper(),
    "json": json.dumps(f"{SECRET[:19]}"),
    "percent": "sk-live%2F4f0c",
    "base64": f"Basic {ENCODED[10:30]}...",
}


@contextmanager
def quiet(redactor: Redactor, *, is_current: bool) -> Generator[None]:
    logging.getLogger(LOGGER)
    if is_current:
        with quiet_logs(redactor, "quiet_library"):
            yield
    else:
        quiet_logs_while_it_lives(redactor, "quiet_library")
        yield


def fail(text: str) -> None:
    raise ConnectionError(text) from ValueError("a cause")


def log_failure(text: str) -> None:
    try:
        fail(text)
    except ConnectionError:
        logging.getLogger(LOGGER).debug("Encountered %s", "an error", exc_info=True)


@pytest.mark.parametrize("is_current", [False, True])
@pytest.mark.parametrize("text", ["no secret: sk-live is a prefix", "a short part: /4f0c+d", ""])
def test_traceback_without_a_secret_stays_whole(caplog: pytest.LogCaptureFixture, text: str, is_current: bool) -> None:
    caplog.set_level(logging.DEBUG)
    with quiet(Redactor([SECRET]), is_current=is_current):
        log_failure(text)
    assert "Encountered an error" in caplog.text
    assert "ValueError: a cause" in caplog.text
    assert f"ConnectionError: {text}".rstrip(": ") in caplog.text
    assert "in log_failure" in caplog.text


@pytest.mark.parametrize("is_current", [False, True])
@pytest.mark.parametrize("quote", QUOTES)
def test_traceback_with_a_part_of_a_secret_is_left_out(
    caplog: pytest.LogCaptureFixture, quote: str, is_current: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    with quiet(Redactor([SECRET]), is_current=is_current):
        log_failure(f"expected JSON, got {QUOTES[quote]}")
    assert caplog.messages == ["Encountered an error (ConnectionError)"]
    assert "Traceback" not in caplog.text


def test_huge_traceback_is_left_out_unread(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with quiet(Redactor([SECRET]), is_current=True):
        log_failure("x" * (1 << 16))
    assert caplog.messages == ["Encountered an error (ConnectionError)"]
    assert "Traceback" not in caplog.text


class UnreadableError(Exception):
    def __getattr__(self, name: str) -> object:
        raise RuntimeError(SECRET)


@pytest.mark.parametrize("is_current", [False, True])
def test_unreadable_exception_is_logged_by_name(caplog: pytest.LogCaptureFixture, is_current: bool) -> None:
    with quiet(Redactor([SECRET]), is_current=is_current):
        logging.getLogger(LOGGER).error("failed", exc_info=UnreadableError())
    assert caplog.messages == ["failed (UnreadableError)"]
    assert "Traceback" not in caplog.text


def hide(text: str) -> None:
    try:
        fail(text)
    except ConnectionError:
        raise OSError from None


def log_suppressed(text: str) -> None:
    try:
        hide(text)
    except OSError:
        logging.getLogger(LOGGER).debug("failed", exc_info=True)


@pytest.mark.parametrize("is_current", [False, True])
def test_record_has_no_frames_or_suppressed_exception(caplog: pytest.LogCaptureFixture, is_current: bool) -> None:
    """Handlers that show variables would show the headers of a request."""
    caplog.set_level(logging.DEBUG)
    with quiet(Redactor([SECRET]), is_current=is_current):
        log_suppressed(SECRET)
    (record,) = caplog.records
    assert record.exc_info is None
    assert (record.exc_text or "").startswith("Traceback (most recent call last):\n")
    assert (record.exc_text or "").endswith("\nOSError")


@pytest.mark.parametrize("text", [SECRET, SECRET[:12]])
def test_second_redactor_checks_the_traceback_too(caplog: pytest.LogCaptureFixture, text: str) -> None:
    caplog.set_level(logging.DEBUG)
    earlier, later = Redactor(["another secret"]), Redactor([SECRET])
    with quiet(earlier, is_current=False), quiet(later, is_current=False):
        log_failure(text)
    with quiet(earlier, is_current=False), quiet(later, is_current=True):
        log_failure(text)
    assert "Traceback" not in caplog.text
    assert text not in caplog.text
    assert caplog.messages == ["Encountered an error (ConnectionError)"] * 2


def log_stack(secret: str) -> None:
    record = logging.LogRecord(
        LOGGER, logging.DEBUG, "client.py", 1, "sent", (), None, sinfo=f"Stack:\n  send({secret})"
    )
    logging.getLogger(LOGGER).handle(record)


@pytest.mark.parametrize("secret", [SECRET, SECRET[:12]])
def test_stack_with_a_part_of_a_secret_is_left_out(caplog: pytest.LogCaptureFixture, secret: str) -> None:
    caplog.set_level(logging.DEBUG)
    with quiet(Redactor([SECRET]), is_current=True):
        log_stack("no secret")
        log_stack(secret)
    assert "send(no secret)" in caplog.text
    assert caplog.messages == ["sent", "sent"]
    assert secret not in caplog.text


@given(st.text(min_size=MIN_SECRET, max_size=40), st.data(), st.text(max_size=20), st.text(max_size=20))
def test_part_of_a_secret_is_noticed(secret: str, data: st.DataObject, before: str, after: str) -> None:
    redactor = Redactor([secret])
    if not redactor:
        return  # too short without the blanks at its ends
    start = data.draw(st.integers(0, len(secret) - MIN_SECRET))
    end = data.draw(st.integers(start + MIN_SECRET, len(secret)))
    assert redactor.has_part(f"{before} {secret[start:end]} {after}")
    assert not redactor.has_part(secret[: MIN_SECRET - 1])
