"""No text, list or script here installs our packages by name: on an index, the name may be another author's."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

FOLDERS: Final = (".ci", "benchmarks", "changes", "docs", "examples", "packages", "scripts", "src", "tests")
SUFFIXES: Final = {"", ".cfg", ".in", ".ini", ".json", ".md", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml"}
# An import name, a path or a file's name is no name on an index.
NAME: Final = r"(?<![\w/.\\-])ez[-_.]+ptc(?:[-_.]+(?:py|wasm))*(?![\w/]|[-.]\w)"
REQUIREMENT: Final = re.compile(
    NAME + r"(?:\[[\w, -]*\])?\s*(?:[=!<>~]=|[<>]\s*\d|@\s*\w+[:+])|" + NAME + r"\[\w", re.IGNORECASE
)
INSTALLERS: Final = (
    r"\b(?:pip[\dx.]*|uv|poetry|pdm|rye|hatch|conda|mamba|micropip|easy_install)\b",
    r"\b(?:add|download|inject|install|run|upgrade|wheel)\b",
)
COMMAND: Final = re.compile(rf"{INSTALLERS[0]}[^\n`;&|#]*?{INSTALLERS[1]}[^\n`;&|#]*?{NAME}", re.IGNORECASE)
ONE_WORD: Final = re.compile(rf"\b(?:uvx|pipx\s+run)\b[^\n`;&|#]*?{NAME}", re.IGNORECASE)
WITH: Final = re.compile(rf"--(?:with|from)\b[\s=,\"']*{NAME}", re.IGNORECASE)
# `uv run` starts a command of the project's own environment.
RUN: Final = re.compile(r"\buv\s+run\s+(?:ez-ptc)\b")
# The other author's package is measured beside ours, in an environment of its own.
PEERS: Final = {
    "Makefile": "ez-ptc==$(PEER_VERSION)",
    "benchmarks/model/subjects/__init__.py": '"ez-ptc==0.4.0"',
    "benchmarks/tokens/subjects/__init__.py": '"ez-ptc==0.4.0"',
}

BAD: Final = (
    "    pip install ez-ptc",
    "    pip install -U ez_ptc",
    "pip3 install --upgrade 'ez-ptc-py'",
    "python -m pip install --pre EZ.PTC",
    'install it with: pip install "ez-ptc[{extra}]"',
    "f'pip install \"ez-ptc-py[{extra}]\"'",
    "pip install --force-reinstall ez-ptc-wasm",
    "pip install --find-links dist ez-ptc-py-wasm",
    "uv add ez-ptc",
    "uv add --dev 'ez-ptc-py[cli]'",
    "uv pip install --python x/bin/python ez-ptc==0.4.0",
    "uv tool install ez-ptc",
    "uv run --with ez-ptc program.py",
    "uvx ez-ptc doctor",
    "uvx --from ez-ptc-py ez-ptc doctor",
    "pipx run ez-ptc",
    "pipx install ez-ptc",
    "poetry add ez-ptc",
    "conda install -c conda-forge ez-ptc",
    '["pip", "install", "ez-ptc"]',
    "pip install \\\n    ez-ptc",
    'wasm = ["ez-ptc-wasm==9.9", "wasmtime>=50.0.1,<51"]',
    'all = ["ez-ptc[anthropic,cli]"]',
    "ez-ptc-py >= 1.0",
    "ez_ptc~=1.0",
    "ez-ptc @ https://example.com/ez-ptc.whl",
    "With OpenTelemetry (`ez-ptc[otel]`), each program is a span",
)
GOOD: Final = (
    'pip install ".[cli,anthropic]"',
    'pip install "PATH[cli]"  # of ez-ptc',
    "uv add --editable ../ez-ptc --extra cli",
    "pip install dist/ez_ptc_py-9.9-py3-none-any.whl",
    "pip install --force-reinstall dist/ez_ptc_py_wasm-9.9-py3-none-any.whl",
    "$(BIN)/uv build --quiet --wheel --out-dir dist packages/ez-ptc-wasm",
    "uv run ez-ptc doctor",
    "MCP servers' tools: `uvx mcp-server-time`, and `ez-ptc serve` makes one",
    "pip install wasmtime; then `ez-ptc doctor` reports both",
    "import ez_ptc\nfrom ez_ptc import Toolkit",
    'name = "ez-ptc-py"',
    "| ez-ptc 0.4.0 | the peer of the same import name |",
    "from ez_ptc.errors import SchemaError",
)


def installs_by_name(text: str) -> list[str]:
    """Return the places of a text that would install one of our packages from an index."""
    whole = text.replace("\\\n", " ")
    found: list[str] = []
    for pattern in (REQUIREMENT, COMMAND, ONE_WORD, WITH):
        found += [match[0] for match in pattern.finditer(whole) if not RUN.fullmatch(match[0])]
    return found


@pytest.mark.parametrize("text", BAD)
def test_install_by_name_is_recognized(text: str) -> None:
    assert installs_by_name(text)


@pytest.mark.parametrize("text", GOOD)
def test_path_import_and_command_are_no_installs(text: str) -> None:
    assert installs_by_name(text) == []


def test_no_file_installs_our_packages_by_name(repository: Path) -> None:
    paths = [path for path in repository.iterdir() if path.is_file()]
    paths += [path for folder in FOLDERS for path in (repository / folder).rglob("*") if path.is_file()]
    checked = [path for path in paths if path.suffix in SUFFIXES and path != Path(__file__)]
    assert {"Makefile", "README.md", "pyproject.toml"} <= {path.name for path in checked}
    findings: dict[str, list[str]] = {}
    for path in checked:
        name = path.relative_to(repository).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        if name in PEERS:
            assert PEERS[name] in text
            text = text.replace(PEERS[name], "")
        if name == "pyproject.toml":
            text = re.sub(r'^all = \["ez-ptc-py\[.*$', "", text, flags=re.MULTILINE)  # the build resolves it: see below
        if found := installs_by_name(text):
            findings[name] = found
    assert findings == {}


def test_no_requirement_names_our_packages(repository: Path) -> None:
    for path in (repository / "pyproject.toml", repository / "packages/ez-ptc-wasm/pyproject.toml"):
        document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        project = document["project"]
        extras = dict(project.get("optional-dependencies", {}))
        every = extras.pop("all", [])
        lists = [project.get("dependencies", []), document["build-system"]["requires"], *extras.values()]
        lists += document.get("dependency-groups", {}).values()
        names = [entry for entries in lists for entry in entries if isinstance(entry, str)]
        assert [name for name in names if re.match(r"ez[-_.]+ptc", name, re.IGNORECASE)] == []
        assert every in ([], [f"ez-ptc-py[{','.join(sorted(extras))}]"])
        assert project["name"].startswith("ez-ptc-py")


def test_lock_takes_our_packages_from_this_folder(repository: Path) -> None:
    lock = tomllib.loads((repository / "uv.lock").read_text(encoding="utf-8"))
    own = [package for package in lock["package"] if package["name"].startswith("ez-ptc")]
    assert [(package["name"], package["source"]) for package in own] == [("ez-ptc-py", {"editable": "."})]
    others = [package["source"] for package in lock["package"] if package not in own]
    assert all(source.keys() == {"registry"} for source in others)
    assert len({source["registry"] for source in others}) == 1
