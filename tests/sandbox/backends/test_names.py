"""Sandboxes by name: ours, and those that other packages add by an entry point."""

from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from ez_ptc import SandboxError, Toolkit
from ez_ptc._component import COMPONENT_PYTHON
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
