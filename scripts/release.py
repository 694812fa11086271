"""Check a release in a clean clone of the current commit, and build its wheels into dist/.

    python scripts/release.py                # everything, as `make release` does
    python scripts/release.py --wheels-only  # without the tests and the documentation, to try this script

Nothing is uploaded. The clone is a folder of its own, so that no file that is not committed can help.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ez_ptc._distribution import DISTRIBUTION, VERSION

__all__ = ["ReleaseError", "find_wheel_problems", "main"]

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = {DISTRIBUTION: "ez_ptc", f"{DISTRIBUTION}-wasm": "ez_ptc_wasm"}
_CHECKS: Final = ((".ci/run",), ("make", "docs"))
# What a wheel of ours cannot do without.
_NEEDED: Final = {
    DISTRIBUTION: ("ez_ptc/py.typed", "ez_ptc/sandbox/worker/boot.py"),
    f"{DISTRIBUTION}-wasm": ("ez_ptc_wasm/worker.wasm", "ez_ptc_wasm/worker.sha256"),
}

_IN_WEBASSEMBLY: Final = """\
from ez_ptc import Toolkit, WasmSandbox
with Toolkit([], sandbox=WasmSandbox()) as toolkit:
    print(toolkit.execute("6 * 7").return_value)
"""


class ReleaseError(Exception):
    """The commit cannot be released; the message says why."""


def find_wheel_problems(wheel: Path, name: str) -> list[str]:
    """Return what is wrong with a wheel of one of our distributions."""
    problems: list[str] = []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(path for path in names if path.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(archive.read(metadata).decode("utf-8"))
    for key, expected in (("Name", name), ("Version", VERSION)):
        if headers[key] != expected:
            problems.append(f"{wheel.name}: expected {key} {expected}, got {headers[key]}")
    problems += [f"{wheel.name}: {path} is missing" for path in _NEEDED[name] if path not in names]
    allowed = (f"{PACKAGES[name]}/", f"{name.replace('-', '_')}-{VERSION}.dist-info/")
    problems += [f"{wheel.name}: {path} does not belong there" for path in names if not path.startswith(allowed)]
    return problems


def main(arguments: list[str] | None = None) -> int:
    """Check the commit, build the wheels and print their hashes; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels-only", action="store_true")
    options = parser.parse_args(arguments)
    try:
        _require_committed()
        with TemporaryDirectory(prefix="ez-ptc-release-") as folder:
            # Tests that become another user read the clone.
            Path(folder).chmod(0o755)
            clone = Path(folder) / "ez-ptc"
            _run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)])
            if not options.wheels_only:
                for command in _CHECKS:
                    _step(" ".join(command))
                    _run(list(command), clone)
            wheels = _build(clone)
            _try_installed(clone, wheels, Path(folder) / "installed")
            _copy_to_dist(wheels)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"ez-ptc {VERSION} can be released from {_output(['git', 'rev-parse', '--short', 'HEAD'])}")
    return 0


def _require_committed() -> None:
    """Raise ReleaseError for changes that are not committed, and for fragments that are not in the changelog."""
    changes = _output(["git", "status", "--porcelain"])
    if changes:
        message = f"commit or remove these first:\n{changes}"
        raise ReleaseError(message)
    _run([sys.executable, "scripts/make_changelog.py", "--released"])


def _build(clone: Path) -> dict[str, Path]:
    """Build both wheels in the clone, and return them by the names of their distributions."""
    _step("make dist")
    _run(["make", "dist"], clone)
    wheels: dict[str, Path] = {}
    problems: list[str] = []
    for name in PACKAGES:
        built = list((clone / "dist").glob(f"{name.replace('-', '_')}-*.whl"))
        if len(built) != 1:
            message = f"expected one wheel of {name}, got {[path.name for path in built]}"
            raise ReleaseError(message)
        wheels[name] = built[0]
        problems += find_wheel_problems(built[0], name)
    if problems:
        raise ReleaseError("\n".join(problems))
    return wheels


def _try_installed(clone: Path, wheels: dict[str, Path], environment: Path) -> None:
    """Install both wheels into an empty environment, and run the first example in the sandbox and in WebAssembly."""
    _step("the wheels in an empty environment")
    python = str(environment / "bin" / "python")
    _run([sys.executable, "-m", "venv", str(environment)])
    library, component = (str(wheel) for wheel in wheels.values())
    _run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{library}[wasm]", component])
    smoke_test = [python, "-W", "error", str(clone / "scripts" / "smoke_test.py"), str(clone / "README.md")]
    _run(smoke_test, environment)
    if _output([python, "-W", "error", "-c", _IN_WEBASSEMBLY]) != "42":
        message = "a program in WebAssembly did not return its value"
        raise ReleaseError(message)


def _copy_to_dist(wheels: dict[str, Path]) -> None:
    """Copy the wheels to dist/ of this folder, and print their hashes."""
    target = ROOT / "dist"
    target.mkdir(exist_ok=True)
    for old in target.glob("ez_ptc*.whl"):
        old.unlink()
    for wheel in wheels.values():
        shutil.copy2(wheel, target)
        print(f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  dist/{wheel.name}")


def _step(title: str) -> None:
    print(f"\n=== release: {title}", flush=True)


def _run(command: list[str], folder: Path = ROOT) -> None:
    done = subprocess.run(command, cwd=folder, env=_environment(), check=False)
    if done.returncode != 0:
        message = f"{' '.join(command)} ended with exit code {done.returncode}"
        raise ReleaseError(message)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr.strip()}"
        raise ReleaseError(message)
    return done.stdout.strip()


def _environment() -> dict[str, str]:
    """Return this process's environment without settings of make and of this folder."""
    dropped = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in dropped}


if __name__ == "__main__":
    sys.exit(main())
