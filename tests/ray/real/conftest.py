"""A cluster of two nodes on this machine, for `make test-ray`; all other runs leave these tests out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.journal.stores.server import run_server
from tests.ray import shop

IS_ASKED_FOR = bool(os.environ.get("EZ_PTC_RAY"))
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}


def pytest_configure(config: pytest.Config) -> None:
    """Let Ray warn of what it uses itself."""
    if IS_ASKED_FOR:
        config.addinivalue_line("filterwarnings", "default")
        config.addinivalue_line("filterwarnings", r"error:::ez_ptc")


def pytest_ignore_collect(collection_path: os.PathLike[str]) -> bool | None:
    """Leave the tests out unless they are asked for."""
    return None if IS_ASKED_FOR or not os.fspath(collection_path).endswith(".py") else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that are named on a command line where they cannot run."""
    if IS_ASKED_FOR and find_spec("ray") is not None:
        return
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.skip(reason="needs a Ray cluster: run make test-ray"))


def pytest_report_header() -> str | None:
    """Say what is left out."""
    return None if IS_ASKED_FOR else "Ray: left out (`make test-ray` runs these tests)"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with the effects of all nodes; their journal is in PostgreSQL, where that is installed."""
    path = tmp_path_factory.mktemp("ray")
    os.environ[shop.EFFECTS] = str(path / "effects")
    with run_server() as server:
        os.environ["EZ_PTC_RAY_JOURNAL"] = str(path / "runs.db") if server is None else server.address()
        yield path


@pytest.fixture(scope="session")
def cluster(folder: Path) -> Iterator[Any]:
    """The cluster: a head, and a node that has "second". Their processes see the variables that are set before."""
    assert folder.is_dir()
    ray = import_module("ray")
    cluster: Any = import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={**NODE, "include_dashboard": False}
    )
    cluster.add_node(**NODE, resources={"second": 1})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def effects(folder: Path) -> Path:
    """The file of effects, which is empty."""
    path = folder / "effects"
    path.write_text("")
    return path


@pytest.fixture
def spare(cluster: Any) -> Iterator[Any]:
    """A node with "spare", to be killed."""
    node = cluster.add_node(**NODE, resources={"spare": 1})
    yield node
    if node in cluster.list_all_nodes():
        cluster.remove_node(node)
