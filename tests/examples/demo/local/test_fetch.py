"""Fetching a model in parts: real installers, real wheels, a folder instead of the registry."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from examples.demo.local import cache_directory, ensure_model, space_needed
from examples.demo.local.packages import Registry
from ez_ptc.errors import ConnectionFailedError, ProviderError
from tests.examples.demo.local.parts import BROKEN, CONTENTS, MODEL, PartsFolder

WHOLE = b"".join(CONTENTS)


@pytest.fixture
def folder(tmp_path: Path) -> PartsFolder:
    """The folder of wheels, with all three parts."""
    folder = PartsFolder(tmp_path / "wheels")
    folder.put(1, 2, 3)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where models are kept; not there yet."""
    return tmp_path / "cache" / "models"


class Told:
    """Keeps what it was told of the progress."""

    def __init__(self) -> None:
        self.stages: dict[str, list[tuple[int, int]]] = {}

    def __call__(self, stage: str, /, *, done: int, total: int) -> None:
        self.stages.setdefault(stage, []).append((done, total))


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.mark.parametrize("installer", [each.name for each in PartsFolder(Path()).registry().installers])
@pytest.mark.sampled(every=2)
def test_the_parts_become_one_file(installer: str, folder: PartsFolder, cache: Path) -> None:
    path = ensure_model(MODEL, cache, registry=folder.registry(installer))
    assert path.read_bytes() == WHOLE
    assert names(cache) == {"small.gguf", "small.gguf.lock"}


def test_a_model_that_is_there_needs_no_registry(folder: PartsFolder, cache: Path) -> None:
    path = ensure_model(MODEL, cache, registry=folder.registry())
    assert ensure_model(MODEL, cache, registry=Registry(())) == path
    assert space_needed(MODEL, cache) == 0


@pytest.mark.sampled(every=0)
def test_parts_fetched_before_interruption_are_kept(folder: PartsFolder, cache: Path) -> None:
    folder.remove(3)
    with pytest.raises(ConnectionFailedError, match=r"ez-ptc-part3==1\.0"):
        ensure_model(MODEL, cache, registry=folder.registry())
    assert names(cache) == {"small.gguf.partial", "small.gguf.lock"}
    folder.put(3)
    folder.remove(1, 2)
    assert ensure_model(MODEL, cache, registry=folder.registry()).read_bytes() == WHOLE


@pytest.mark.parametrize(
    "extra", [b"", b"sec", b"second" * 100, b"x" * 5000], ids=["none", "a bit", "a third", "too much"]
)
@pytest.mark.sampled(every=4)
def test_a_part_that_was_cut_off_is_fetched_again(extra: bytes, folder: PartsFolder, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "small.gguf.partial").write_bytes(CONTENTS[0] + extra)
    folder.remove(1)
    assert ensure_model(MODEL, cache, registry=folder.registry()).read_bytes() == WHOLE


@pytest.mark.sampled(every=0)
def test_a_part_that_changed_on_disk_is_fetched_again(folder: PartsFolder, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "small.gguf.partial").write_bytes(b"F" + CONTENTS[0][1:] + CONTENTS[1])
    assert ensure_model(MODEL, cache, registry=folder.registry()).read_bytes() == WHOLE


def test_a_model_that_changed_on_disk_is_fetched_again(folder: PartsFolder, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "small.gguf").write_bytes(WHOLE[:-1] + b"?")
    assert ensure_model(MODEL, cache, registry=folder.registry()).read_bytes() == WHOLE


@pytest.mark.sampled(every=0)
def test_leftovers_of_interrupted_run_are_removed(folder: PartsFolder, cache: Path) -> None:
    left = cache / "fetching-abc" / "package"
    left.mkdir(parents=True)
    (left / "half.bin").write_bytes(b"half")
    ensure_model(MODEL, cache, registry=folder.registry())
    assert names(cache) == {"small.gguf", "small.gguf.lock"}


@pytest.mark.parametrize("content", [b"evil" * 100, b""], ids=["other bytes", "nothing"])
def test_a_part_with_another_checksum_is_refused(content: bytes, folder: PartsFolder, cache: Path) -> None:
    folder.put(2, content=content)
    with pytest.raises(ProviderError, match=r"ez-ptc-part2==1\.0 .* wrong checksum"):
        ensure_model(MODEL, cache, registry=folder.registry())
    assert (cache / "small.gguf.partial").read_bytes() == CONTENTS[0]


def test_a_package_without_its_part_is_refused(folder: PartsFolder, cache: Path) -> None:
    elsewhere = dataclasses.replace(MODEL.parts[0], member="ez_ptc_part1/other.bin")
    model = dataclasses.replace(MODEL, parts=(elsewhere,))
    with pytest.raises(ProviderError, match=r"other\.bin has the wrong checksum"):
        ensure_model(model, cache, registry=folder.registry())


def test_a_whole_with_another_checksum_is_refused_and_removed(folder: PartsFolder, cache: Path) -> None:
    model = dataclasses.replace(MODEL, sha256="0" * 64)
    with pytest.raises(ProviderError, match="wrong checksum although its parts have the right ones"):
        ensure_model(model, cache, registry=folder.registry())
    assert names(cache) == {"small.gguf.lock"}


def test_insufficient_disk_is_reported_before_fetching(cache: Path) -> None:
    huge = dataclasses.replace(MODEL.parts[0], size=10**18)
    model = dataclasses.replace(MODEL, parts=(huge,))
    with pytest.raises(ProviderError, match=r"needs 3000000000\.0 GB of disk in .* GB are free: make room"):
        ensure_model(model, cache, registry=Registry((BROKEN,)))
    assert names(cache) == {"small.gguf.lock"}


@pytest.mark.sampled(every=0)
def test_an_installer_that_fails_leaves_it_to_the_next(folder: PartsFolder, cache: Path) -> None:
    registry = Registry((BROKEN, *folder.registry().installers))
    assert ensure_model(MODEL, cache, registry=registry).read_bytes() == WHOLE


def test_when_all_installers_fail_each_has_its_last_words(folder: PartsFolder, cache: Path) -> None:
    with pytest.raises(ConnectionFailedError, match=r"^broken could not fetch ez-ptc-part1==1\.0: no route") as caught:
        ensure_model(MODEL, cache, registry=Registry((BROKEN, BROKEN)))
    assert str(caught.value).count("no route to the registry") == 2


def test_missing_installer_error_says_what_to_install(cache: Path) -> None:
    with pytest.raises(ProviderError, match="neither uv nor pip is here"):
        ensure_model(MODEL, cache, registry=Registry(()))


@pytest.mark.sampled(every=0)
def test_two_at_once_fetch_it_once(folder: PartsFolder, cache: Path) -> None:
    told = [Told(), Told()]
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(ensure_model, MODEL, cache, registry=folder.registry(), progress=each) for each in told]
        assert [run.result().read_bytes() for run in runs] == [WHOLE, WHOLE]
    assert sorted("download" in each.stages for each in told) == [False, True]


def test_progress_is_reported_to_the_end(folder: PartsFolder, cache: Path) -> None:
    told = Told()
    ensure_model(MODEL, cache, registry=folder.registry(), progress=told)
    sizes = [0, len(CONTENTS[0]), len(CONTENTS[0] + CONTENTS[1]), len(WHOLE)]
    assert told.stages["download"] == [(done, len(WHOLE)) for done in sizes]
    assert told.stages["check"][-1] == (len(WHOLE), len(WHOLE))


def test_required_disk_space_shrinks_with_fetched_parts(cache: Path) -> None:
    at_first = space_needed(MODEL, cache)
    cache.mkdir(parents=True)
    (cache / "small.gguf.partial").write_bytes(CONTENTS[0])
    assert at_first - space_needed(MODEL, cache) == len(CONTENTS[0])


@pytest.mark.parametrize("chosen", ["", "relative/folder"])
def test_models_are_kept_in_the_users_cache(chosen: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", chosen)
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_directory() == tmp_path / ".cache" / "ez-ptc" / "models"


def test_the_users_cache_can_be_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "ez-ptc" / "models"
