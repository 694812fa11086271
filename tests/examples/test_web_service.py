"""The web service, in a real server: a streamed answer, and a browser that leaves."""

import re
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: `make test-examples` runs this")

from tests.examples.running import EXAMPLES, environment_of


@contextmanager
def service(carrier_seconds: str) -> Generator[tuple[str, Iterator[str]]]:
    """Start the service and return its address and the further lines of its log."""
    with subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "web_service:app", "--app-dir", EXAMPLES, "--port", "0"],
        env=environment_of(CARRIER_SECONDS=carrier_seconds),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            log = iter(process.stderr.readline, "")
            address = next(found[0] for line in log if (found := re.search(r"http://[\d.:]+", line)))
            yield address, log
        finally:
            process.kill()


@pytest.mark.security
def test_answer_arrives_as_events_without_program_and_results() -> None:
    with service("0") as (address, _):
        with urllib.request.urlopen(address, timeout=30) as page:
            assert b"EventSource" in page.read()
        with urllib.request.urlopen(f"{address}/ask?question=where", timeout=30) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            events = answer.read().decode().split("\n\n")

    assert events[0] == 'event: call\ndata: "track_order"'
    assert events[1:3] == ['event: text\ndata: "Your"', 'event: text\ndata: " order"']
    assert "execute_tools" not in "".join(events)


@pytest.mark.security
def test_tool_ends_when_the_browser_leaves() -> None:
    with service("600") as (address, log):
        with urllib.request.urlopen(f"{address}/ask?question=where", timeout=30):
            assert any("the carrier is asked about order 7" in line for line in log)
        assert any("no one waits for order 7" in line for line in log)
