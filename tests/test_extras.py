"""Optional dependencies are imported, or say how to be installed."""

import json
import sys
from pathlib import Path

import pytest

from ez_ptc import MissingExtraError
from ez_ptc._extras import import_extra


def test_an_installed_module_is_imported() -> None:
    assert import_extra("json", extra="cli") is json


@pytest.mark.parametrize("module", ["no_such_package", "no_such_package.inner"])
def test_missing_package_gives_install_command(module: str) -> None:
    with pytest.raises(MissingExtraError, match=r'install it with: pip install "ez-ptc\[cli\]"') as caught:
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
