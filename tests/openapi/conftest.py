"""A server for each test, and a client of it with credentials."""

from collections.abc import Iterator

import httpx2
import pytest

from tests.openapi.api import Api, serve

KEY = "sk-live-4242"


@pytest.fixture
def api() -> Iterator[Api]:
    with serve() as found:
        yield found


@pytest.fixture
def client(api: Api) -> Iterator[httpx2.Client]:
    """A client with a base URL below the root, and a key."""
    with httpx2.Client(base_url=f"{api.url}/v1", headers={"authorization": f"Bearer {KEY}"}) as found:
        yield found
