"""The environment that tests run in: the same on every machine, whatever its users have set.

Interpreters, SDKs and terminals read dozens of variables: keys, proxies, certificates, locales, warnings. Tests and the
processes that they start see only those that are named here.
"""

import compileall
import os
import shutil
import signal
import tempfile
import time
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

__all__ = ["compile_worker", "isolate", "isolate_process"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_KEPT: Final = frozenset({"HOME", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "PYTHONPATH", "TMPDIR", "USER"})
_KEPT_PREFIXES: Final = ("COVERAGE_", "COV_", "EZ_PTC_", "PYTEST_")
# Every client of an SDK reads its certificates, which takes 20 ms or more for those of all the world; nothing that
# tests talk to has one.
_CERTIFICATE: Final = _ROOT / "tests" / "certificate.pem"
_FIXED: Final = {"LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "SSL_CERT_FILE": str(_CERTIFICATE), "TZ": "UTC"}
_DOWNLOADING: Final = "EZ_PTC_E2E"
# Files in memory: no test is about what a disk keeps, and many wait for one. (Power loss is simulated.)
_MEMORY: Final = Path("/dev/shm")
_LEAST_MEMORY: Final = 2 << 30


def isolate(environment: MutableMapping[str, str]) -> None:
    """Leave in an environment what tests may depend on, and nothing else.

    Tests that download need their proxies and certificates: for them it stays as it is.
    """
    if _DOWNLOADING in environment:
        return
    for name in list(environment):
        if name not in _KEPT and not name.startswith(_KEPT_PREFIXES):
            del environment[name]
    environment.update(_FIXED)
    # Whether the component is built or not; EZ_PTC_SANDBOX=wasm runs all tests on the other backend.
    environment.setdefault("EZ_PTC_SANDBOX", "process")


def isolate_process() -> None:
    """Isolate this process and those that it starts from the environment, umask, time zone and signals it came with.

    Their temporary files are in memory, if there is enough.
    """
    isolate(os.environ)
    if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _LEAST_MEMORY:
        os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)
    time.tzset()
    os.umask(0o022)
    # A shell starts what it runs in the background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def compile_worker() -> None:
    """Compile the worker where that is still to be done, as an installer does: each sandbox reads all of it."""
    compileall.compile_dir(_ROOT / "src" / "ez_ptc" / "sandbox", quiet=2)
