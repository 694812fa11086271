"""The LangGraph agent: the question at the terminal, and what the answer lets through."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("langchain", reason="langchain is not installed: `make test-examples` runs this")

from tests.examples.running import EXAMPLES, environment_of


@pytest.mark.security
@pytest.mark.parametrize(
    ("typed", "result"), [("y\n", "3 refunded 240.00 euros"), ("n\n", "ToolError: refund was not approved")]
)
def test_large_refund_interrupts_the_graph(tmp_path: Path, typed: str, result: str) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "langgraph_agent.py"],
        cwd=tmp_path,
        env=environment_of(),
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "Allow refund (3)?" in done.stdout
    assert "1 refunded 39.50 euros" in done.stdout
    assert result in done.stdout
