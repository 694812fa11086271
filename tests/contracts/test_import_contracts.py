"""Each import contract holds, and each is seen to fail when it is broken on purpose."""

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_RUN_LINTER = "from importlinter.cli import lint_imports_command; lint_imports_command()"


@dataclass(frozen=True, slots=True)
class Break:
    """Lines to append to modules, the contract that they break, and what the linter then names."""

    contract: str
    modules: dict[str, str]
    complaint: str


BREAKS = [
    Break(
        "layers",
        {"tools/__init__.py": "from ez_ptc import toolkit"},
        "ez_ptc.tools is not allowed to import ez_ptc.toolkit",
    ),
    Break(
        "layers", {"view/__init__.py": "from ez_ptc import tools"}, "ez_ptc.view is not allowed to import ez_ptc.tools"
    ),
    Break(
        "layers",
        {"formats/__init__.py": "import ez_ptc.sandbox"},
        "ez_ptc.formats is not allowed to import ez_ptc.sandbox",
    ),
    Break(
        "layers",
        {"openapi/__init__.py": "from ez_ptc import toolkit"},
        "ez_ptc.openapi is not allowed to import ez_ptc.toolkit",
    ),
    Break(
        "layers",
        {"mcp/client/__init__.py": "from ez_ptc import toolkit"},
        "ez_ptc.mcp is not allowed to import ez_ptc.toolkit",
    ),
    Break(
        "layers",
        {"mcp/client/__init__.py": "from ez_ptc import integrations"},
        "ez_ptc.mcp is not allowed to import ez_ptc.integrations",
    ),
    Break(
        "layers",
        {"journal/__init__.py": "from ez_ptc import mcp"},
        "ez_ptc.journal is not allowed to import ez_ptc.mcp",
    ),
    Break(
        "layers",
        {"results/bounds.py": "import ez_ptc.messages"},
        "ez_ptc.results is not allowed to import ez_ptc.messages",
    ),
    Break("layers", {"stray.py": ""}, "ez_ptc.stray"),
    Break("front-door", {"tools/__init__.py": "import ez_ptc"}, "ez_ptc.tools is not allowed to import ez_ptc"),
    Break("worker-stands-alone", {"sandbox/worker/stray.py": "import pydantic"}, "import pydantic"),
    Break("worker-stands-alone", {"sandbox/worker/stray.py": "import ez_ptc.errors"}, "import ez_ptc.errors"),
    Break("worker-stands-alone", {"sandbox/check/stray.py": "from ..protocol import frames"}, "import frames"),
    Break(
        "worker-stands-alone",
        {"sandbox/worker/stray.py": "", "sandbox/worker/astray.py": "from ez_ptc.sandbox.worker import stray"},
        "from ez_ptc.sandbox.worker import stray",
    ),
    Break(
        "worker-is-not-host",
        {"sandbox/worker/stray.py": "", "sandbox/host/__init__.py": "from ez_ptc.sandbox.worker import stray"},
        "ez_ptc.sandbox.worker.stray",
    ),
    Break(
        "sandbox",
        {"sandbox/check/__init__.py": "from ez_ptc.sandbox import host"},
        "ez_ptc.sandbox.check is not allowed to import ez_ptc.sandbox.host",
    ),
    Break(
        "sandbox",
        {"sandbox/check/__init__.py": "from ez_ptc.sandbox import worker"},
        "ez_ptc.sandbox.check is not allowed to import ez_ptc.sandbox.worker",
    ),
    Break(
        "sandbox",
        {"sandbox/protocol/__init__.py": "from ez_ptc.sandbox import host"},
        "ez_ptc.sandbox.protocol is not allowed to import ez_ptc.sandbox.host",
    ),
    Break(
        "sandbox",
        {"sandbox/protocol/values/__init__.py": "from ez_ptc.sandbox import worker"},
        "ez_ptc.sandbox.protocol is not allowed to import ez_ptc.sandbox.worker",
    ),
    Break(
        "sandbox",
        {"sandbox/host/__init__.py": "from ez_ptc.sandbox import restored"},
        "ez_ptc.sandbox.host is not allowed to import ez_ptc.sandbox.restored",
    ),
    Break("pure", {"schema/__init__.py": "import socket"}, "ez_ptc.schema is not allowed to import socket"),
    Break("pure", {"results/notes.py": "import os"}, "ez_ptc.results.notes is not allowed to import os"),
    Break("pure", {"messages.py": "import asyncio"}, "ez_ptc.messages is not allowed to import asyncio"),
    Break(
        "pure",
        {"formats/stray.py": "import ez_ptc.errors", "errors.py": "import subprocess"},
        "ez_ptc.formats is not allowed to import subprocess",
    ),
    Break(
        "formats-independent",
        {"formats/gemini/tools.py": "from ez_ptc.formats.openai_chat import tools"},
        "ez_ptc.formats.gemini is not allowed to import ez_ptc.formats.openai_chat",
    ),
    Break(
        "providers-independent",
        {"providers/gemini.py": "from ez_ptc.providers import anthropic"},
        "ez_ptc.providers.gemini is not allowed to import ez_ptc.providers.anthropic",
    ),
    Break("acyclic", {"tools/one.py": "import ez_ptc.tools.two", "tools/two.py": "import ez_ptc.tools.one"}, ".one"),
]


@pytest.fixture(scope="module")
def copy_of_source(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the linter reads, where a test may break it and mends it again."""
    folder = tmp_path_factory.mktemp("copy")
    python_only = shutil.ignore_patterns("__pycache__", "*.bin", "*.json")
    shutil.copytree(repository / "src", folder / "src", ignore=python_only)
    shutil.copytree(repository / "scripts", folder / "scripts", ignore=python_only)
    shutil.copy(repository / "pyproject.toml", folder)
    return folder


@contextmanager
def broken(folder: Path, modules: Mapping[str, str]) -> Generator[None]:
    """Append lines to modules of a copy, and put it back as it was."""
    before: dict[Path, str | None] = {}
    try:
        for name, line in modules.items():
            path = folder / "src" / "ez_ptc" / name
            before[path] = path.read_text(encoding="utf-8") if path.exists() else None
            path.write_text(f"{before[path] or ''}\n{line}\n", encoding="utf-8")
        yield
    finally:
        for path, text in before.items():
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")


def lint_imports(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the linter over a copy, as a person would."""
    return subprocess.run(
        [sys.executable, "-c", _RUN_LINTER, "--no-cache", "--no-logo", *options],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "COLUMNS": "1000"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_every_contract_holds(copy_of_source: Path) -> None:
    finished = lint_imports(copy_of_source)

    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert " 0 broken" in finished.stdout


@pytest.mark.parametrize("attempt", BREAKS, ids=lambda attempt: f"{attempt.contract}: {attempt.complaint}")
@pytest.mark.sampled(every=6)
def test_a_contract_that_is_broken_on_purpose_fails(copy_of_source: Path, attempt: Break) -> None:
    with broken(copy_of_source, attempt.modules):
        finished = lint_imports(copy_of_source, "--contract", attempt.contract)

    assert finished.returncode == 1, finished.stdout + finished.stderr
    assert "1 broken" in finished.stdout
    assert attempt.complaint in finished.stdout


def test_every_contract_is_broken_by_some_test(repository: Path) -> None:
    settings = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["id"] for contract in settings["tool"]["importlinter"]["contracts"]}

    assert {broken.contract for broken in BREAKS} == contracts
