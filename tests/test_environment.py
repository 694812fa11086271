"""Tests run in an environment of their own."""

import os
import subprocess
import sys

import pytest

from tests.environment import isolate
from tests.sandbox.scripts import ROOT

USERS = {
    "ANTHROPIC_BASE_URL": "http://proxy",
    "COLUMNS": "20",
    "HTTPS_PROXY": "http://proxy",
    "LC_ALL": "de_DE",
    "OPENAI_API_KEY": "key",
    "PYTHONWARNINGS": "ignore",
}
OURS = {"EZ_PTC_EXPLORE": "1", "HOME": "/home/ada", "PATH": "/bin", "PYTEST_XDIST_WORKER": "gw0"}


def test_user_environment_is_left_out() -> None:
    environment = USERS | OURS
    isolate(environment)
    assert environment.items() >= OURS.items()
    assert not environment.keys() & USERS.keys()
    assert (environment["TZ"], environment["LANG"]) == ("UTC", "C.UTF-8")


def test_tests_that_download_keep_their_environment() -> None:
    environment = USERS | {"EZ_PTC_E2E": "1"}
    isolate(environment)
    assert environment == USERS | {"EZ_PTC_E2E": "1"}


def test_this_process_is_isolated() -> None:
    expected = dict(os.environ)
    isolate(expected)
    assert dict(os.environ) == expected
    assert not sys.dont_write_bytecode


@pytest.mark.security
def test_signals_ignored_by_shell_do_not_matter() -> None:
    """As for what it starts in the background."""
    program = "import signal, tests.conftest; signal.raise_signal(signal.SIGINT)"
    ignored = ["sh", "-c", 'trap "" INT; exec "$0" "$@"']
    done = subprocess.run(
        [*ignored, sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr.endswith("KeyboardInterrupt\n")
