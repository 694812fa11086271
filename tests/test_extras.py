"""Optional dependencies are imported, or say how to be installed."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import ez_ptc
from ez_ptc import MissingExtraError
from ez_ptc._extras import import_extra, install_command, require_package


def test_an_installed_module_is_imported() -> None:
    assert import_extra("json", extra="cli") is json


@pytest.mark.parametrize("module", ["no_such_package", "no_such_package.inner"])
def test_missing_package_gives_install_command(module: str) -> None:
    with pytest.raises(MissingExtraError, match=r'; install it with: pip install "cyclopts>=4"') as caught:
        import_extra(module, extra="cli")

    assert isinstance(caught.value, ImportError)
    assert caught.value.__cause__ is not None


def test_missing_module_of_installed_package_gives_install_command() -> None:
    """An older release may lack the module: the extra asks for one that has it."""
    with pytest.raises(MissingExtraError, match=r"^json\.no_such_module "):
        import_extra("json.no_such_module", extra="cli")


def test_missing_dependency_is_not_blamed_on_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_installed.py").write_text("import no_such_dependency", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    with pytest.raises(ModuleNotFoundError, match="no_such_dependency") as caught:
        import_extra("half_installed", extra="cli")

    assert not isinstance(caught.value, MissingExtraError)


def test_missing_inner_module_is_named_by_its_package() -> None:
    with pytest.raises(MissingExtraError, match=r"^no_such_package is not installed"):
        import_extra("no_such_package.inner", extra="cli")
    with pytest.raises(MissingExtraError, match=r"^no-such-package is not installed"):
        import_extra("no_such_package.inner", extra="cli", package="no-such-package")


def extras_of(repository: Path) -> dict[str, list[str]]:
    document = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    return {name: entries for name, entries in document["project"]["optional-dependencies"].items() if name != "all"}


def name_of(requirement: str) -> str:
    return re.split("[<>=~!]", requirement)[0]


def test_install_command_has_requirements_of_the_extra(repository: Path) -> None:
    for extra, requirements in extras_of(repository).items():
        command = install_command(extra) or ""
        assert re.fullmatch(r'pip install( "[^" ]+")+', command)
        assert {name_of(word) for word in re.findall(r'"(.*?)"', command)} <= {name_of(text) for text in requirements}


@pytest.fixture
def require(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install other metadata of ours, whose extra "x" has the requirements passed."""
    folder = tmp_path / "ez_ptc_py-2.0.dist-info"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def write(*requirements: str) -> None:
        lines = [f"Requires-Dist: {requirement}; extra == 'x'" for requirement in requirements]
        lines.insert(0, "Metadata-Version: 2.4\nName: ez-ptc-py\nVersion: 2.0\nRequires-Dist: absent>=4")
        (folder / "METADATA").write_text("\n".join(lines), encoding="utf-8")

    return write


def test_installed_requirement_is_left_out(require: Callable[..., None]) -> None:
    require("pytest>=8", "pytest>=9999", "no-such-package<2,>=1")
    assert install_command("x") == 'pip install "pytest>=9999" "no-such-package<2,>=1"'
    assert install_command("x", missing="pytest") == 'pip install "pytest>=8" "pytest>=9999" "no-such-package<2,>=1"'
    assert install_command("y") is None


@pytest.mark.parametrize("requirement", ["pytest==8.1", "pytest<1", "pytest<2,>=1", "pytest>=9999", "pytest>=1,<2"])
def test_requirement_with_unmet_constraint_is_named(require: Callable[..., None], requirement: str) -> None:
    require("anyio", requirement)
    assert install_command("x") == f'pip install "{requirement}"'


@pytest.mark.parametrize("requirement", [f"pytest=={pytest.__version__}", "pytest<9999,>=9", "pytest>=9", "pytest"])
def test_requirement_with_met_constraints_is_left_out(require: Callable[..., None], requirement: str) -> None:
    require("absent>=1", requirement)
    assert install_command("x") == 'pip install "absent>=1"'


def test_old_package_gives_command_of_its_extra() -> None:
    with pytest.raises(MissingExtraError, match=r'expected mcp >= 9999, got [\d.]+; .* pip install "mcp>=2\.3"'):
        require_package("mcp", version="9999", extra="mcp")


def test_required_sdk_version_is_that_of_the_extra(repository: Path) -> None:
    from ez_ptc.mcp.sdk import MCP_VERSION

    assert f"mcp>={MCP_VERSION}" in extras_of(repository)["mcp"]


def test_message_without_our_metadata_names_the_list(tmp_path: Path) -> None:
    """A copied source tree has no metadata; the message must not advise a package of our name on an index."""
    program = "from ez_ptc._extras import import_extra\nimport_extra('no_such_package', extra='openai')"
    environment = {**os.environ, "PYTHONPATH": str(Path(ez_ptc.__file__).parent.parent)}
    command = [sys.executable, "-S", "-c", program]
    finished = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert finished.stderr.splitlines()[-1] == (
        "ez_ptc.errors.MissingExtraError: no_such_package is not installed; install what pyproject.toml lists for the "
        'extra "openai": the metadata of ez-ptc-py, which name it, are not installed'
    )
