"""Sandboxes by name: ours, and those that other packages add by an entry point."""

from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from ez_ptc import ProviderError, SandboxError, Toolkit
from ez_ptc._component import COMPONENT_PYTHON
from ez_ptc.providers import lookup
from ez_ptc.toolkit.execution import backends


class NoSandbox:
    """Lacks what a sandbox has."""

    def execute(self) -> None: ...


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "tests.sandbox.backends"
    places = {
        "plain": f"{module}.plain:PlainSandbox",
        "none": f"{module}.test_names:NoSandbox",
        "gone": f"{module}.no_such_module:Sandbox",
        "process": f"{module}.test_names:NoSandbox",
    }
    points = EntryPoints(EntryPoint(name, place, backends.GROUP) for name, place in places.items())
    monkeypatch.setattr(metadata, "entry_points", points.select)


def test_a_sandbox_of_another_package_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with Toolkit([], sandbox="plain") as toolkit, Toolkit([], sandbox="plain") as other:
        assert toolkit.execute("6 * 7").return_value == 42
        assert toolkit.isolation is other.isolation
        assert backends.find_python("plain") == backends.find_python(None)
    monkeypatch.setenv("EZ_PTC_SANDBOX", "plain")
    assert backends.read_choice() == "plain"


@pytest.mark.sampled(every=0)
def test_our_sandboxes_are_found_by_their_names() -> None:
    with Toolkit([], sandbox="process") as toolkit:
        assert toolkit.isolation.backend == "process"
        assert toolkit.execute("6 * 7").return_value == 42
    assert backends.find_python("wasm") == COMPONENT_PYTHON


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("proces", "there is no sandbox 'proces': did you mean 'process'? There are: process, wasm, plain"),
        ("docker", "there is no sandbox 'docker'. There are: process, wasm, plain"),
    ],
)
def test_unknown_sandbox_names_those_there_are(name: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r"\A" + complaint.replace("?", r"\?").replace(". ", r"\. ")):
        Toolkit([], sandbox=name)


@pytest.mark.parametrize(
    ("name", "packages", "complaint"),
    [
        ("none", [], "got a NoSandbox without isolation, interpreter, aexecute, session, close: see the page"),
        (
            "gone",
            [],
            "the sandbox 'gone' cannot be imported from tests.sandbox.backends.no_such_module:Sandbox: No mod",
        ),
        ("plain", ["pydantic"], "the sandbox 'plain' takes no allow_imports, so programs in it cannot import pydantic"),
    ],
)
def test_unusable_sandbox_says_what_is_wrong(name: str, packages: list[str], complaint: str) -> None:
    with pytest.raises(SandboxError) as caught:
        Toolkit([], sandbox=name, allow_imports=packages).execute("1")
    assert complaint in str(caught.value)


def test_name_of_two_packages_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first one on the path does not win; one package that is found twice is no other."""
    for package in ("acme_boxes-1.0", "Acme.Boxes-1.1", "other_boxes-2.0"):
        folder = tmp_path / package / f"{package}.dist-info"
        folder.mkdir(parents=True)
        name, _, version = package.partition("-")
        folder.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        sandbox, provider = "box = tests.sandbox.backends.plain:PlainSandbox", "box = ez_ptc:ScriptedProvider"
        folder.joinpath("entry_points.txt").write_text(f"[{backends.GROUP}]\n{sandbox}\n[{lookup.GROUP}]\n{provider}\n")
    folders = [str(folder) for folder in tmp_path.iterdir()]

    def select(*, group: str, name: str = "box") -> EntryPoints:
        everything = [point for found in metadata.distributions(path=folders) for point in found.entry_points]
        return EntryPoints(everything).select(group=group, name=name)

    monkeypatch.setattr(metadata, "entry_points", select)
    with pytest.raises(SandboxError, match=r"'box' of ez_ptc\.sandboxes is in several .*other_boxes") as caught:
        Toolkit([], sandbox="box").execute("1")
    assert "cme" in str(caught.value)
    with pytest.raises(ProviderError, match=r"'box' of ez_ptc\.providers is in several .*other_boxes"):
        lookup.choose("box", None)
    folders = [folder for folder in folders if "other" not in folder]
    assert backends.find_python("box") == backends.find_python(None)
    assert lookup.choose("box", None).name == "scripted"
