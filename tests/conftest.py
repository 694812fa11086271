"""What every test may ask for."""

from pathlib import Path

import pytest

from tests.property_tests import load_profile

load_profile()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that has `pyproject.toml` in it."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_folder(repository: Path) -> Path:
    """The folder of seeds and corpora beside the repository."""
    folder = repository.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder ../shared with the seeds and the corpora is not here")
    return folder


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Each event loop that an asynchronous test runs on."""
    backend = request.param
    assert isinstance(backend, str)
    return backend
