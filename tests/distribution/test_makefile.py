"""What the Makefile hands on to the tools that download."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
SHOW = 'show-certificates: ; @echo "$$UV_SYSTEM_CERTS|$$PIP_CERT"'


def certificates(repository: Path, *arguments: str, **environment: str) -> list[str]:
    """Return what a command of the Makefile finds in UV_SYSTEM_CERTS and PIP_CERT."""
    # These tests may run under make, which hands its own variables on.
    names = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PIP_CERT", "UV_SYSTEM_CERTS"}
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    command = ["make", "--silent", "--eval", SHOW, "show-certificates", f"PYTHON={sys.executable}", *arguments]
    environment = inherited | environment
    done = subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()[-1].split("|")


@pytest.mark.parametrize("in_environment", [True, False])
def test_system_certificates_reach_uv_and_pip(repository: Path, *, in_environment: bool) -> None:
    paths = ssl.get_default_verify_paths()
    expected = ["1", paths.cafile or paths.capath or ""]
    if in_environment:
        assert certificates(repository, UV_SYSTEM_CERTS="1") == expected
    else:
        assert certificates(repository, "UV_SYSTEM_CERTS=1") == expected


def test_chosen_certificates_of_pip_stay(repository: Path) -> None:
    assert certificates(repository, UV_SYSTEM_CERTS="1", PIP_CERT="/srv/own.pem") == ["1", "/srv/own.pem"]
    assert certificates(repository, "UV_SYSTEM_CERTS=1", "PIP_CERT=/srv/own.pem") == ["1", "/srv/own.pem"]


def test_without_a_wish_certificates_stay_as_they_are(repository: Path) -> None:
    assert certificates(repository) == ["", ""]
    assert certificates(repository, PIP_CERT="/srv/own.pem") == ["", "/srv/own.pem"]
    assert certificates(repository, UV_SYSTEM_CERTS="0") == ["0", ""]
