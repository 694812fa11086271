"""The first program of a process waits for no imports that only other programs need."""

from __future__ import annotations

import subprocess
import sys

UNUSED = ("ez_ptc.sandbox.protocol.events", "ez_ptc.toolkit.catalog.ranking", "ez_ptc.toolkit.prompting.failures")
SCRIPT = f"""
import sys
from ez_ptc import Toolkit

Toolkit([]).close()
print([name for name in {UNUSED} if name in sys.modules])
"""


def test_toolkit_imports_nothing_for_failures_or_streams() -> None:
    made = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True, text=True, timeout=60)
    assert made.stdout == "[]\n"
