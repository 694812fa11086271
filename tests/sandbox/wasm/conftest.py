"""The tests that need the component, which `make test-wasm` builds."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

from ez_ptc import WasmSandbox
from scripts.build_wasm import PACKAGE, source_hash


@pytest.fixture(autouse=True, scope="session")
def require_built_component() -> None:
    """Skip the tests unless the component is there, and was built from the sources as they are."""
    record = PACKAGE / "sources.sha256"
    try:
        is_built = record.exists() and record.read_text() == source_hash()
    except PackageNotFoundError:
        is_built = False
    if not is_built:
        pytest.skip("the WebAssembly component is not built: run make test-wasm")
    with WasmSandbox() as sandbox:
        # Compiled before a test looks at what is said.
        sandbox.warm_up()
