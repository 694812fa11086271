"""The cache of the compiled component: private, whole, and of this machine, or not used."""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ez_ptc import SandboxError, Toolkit, WasmSandbox
from ez_ptc.sandbox.wasm.cache import cache_folder, default_folder, load_component
from ez_ptc.sandbox.wasm.component import Engine

# The smallest component.
EMPTY = b"\0asm\x0d\0\1\0"


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def component(tmp_path: Path) -> Path:
    path = tmp_path / "one.wasm"
    path.write_bytes(EMPTY)
    return path


def load(engine: Engine, component: Path, folder: Path) -> list[Path]:
    """Load the component, and return the files in the cache."""
    assert load_component(engine, component, hashlib.sha256(EMPTY).hexdigest(), folder)
    return sorted(folder.glob("*.cwasm"))


def test_compiled_component_is_private(engine: Engine, component: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    (compiled,) = load(engine, component, folder)
    assert (folder.stat().st_mode & 0o777, compiled.stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", b"all of it is something else" * 1_000])
def test_damaged_file_is_compiled_again(engine: Engine, component: Path, tmp_path: Path, damage: bytes) -> None:
    folder = tmp_path / "cache"
    (compiled,) = load(engine, component, folder)
    content = compiled.read_bytes()
    compiled.write_bytes(damage)
    (again,) = load(engine, component, folder)
    assert again.read_bytes()[:4] == content[:4]


def test_truncated_file_is_compiled_again(engine: Engine, component: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    (compiled,) = load(engine, component, folder)
    content = compiled.read_bytes()
    compiled.write_bytes(content[:-1])
    (again,) = load(engine, component, folder)
    assert len(again.read_bytes()) == len(content)


def test_changed_byte_is_noticed(
    engine: Engine, component: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "cache"
    (compiled,) = load(engine, component, folder)
    caplog.clear()
    content = bytearray(compiled.read_bytes())
    content[len(content) // 2] ^= 1
    compiled.write_bytes(content)
    load(engine, component, folder)
    assert "compiling the sandbox" in caplog.text


def test_copied_cache_is_not_compiled_again(
    engine: Engine, component: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (compiled,) = load(engine, component, tmp_path / "cache")
    caplog.clear()
    (tmp_path / "copy").mkdir(mode=0o700)
    shutil.copyfile(compiled, tmp_path / "copy" / compiled.name)
    os.utime(tmp_path / "copy" / compiled.name, (1, 1))
    (copied,) = load(engine, component, tmp_path / "copy")
    assert copied.name != compiled.name
    assert load(engine, component, tmp_path / "copy") == [copied]
    assert not caplog.text


def test_other_settings_have_another_file(engine: Engine, component: Path, tmp_path: Path) -> None:
    assert len(load(engine, component, tmp_path / "cache")) == 1
    engine.settings = "others"
    assert len(load(engine, component, tmp_path / "cache")) == 2


def test_files_of_other_versions_used_last_are_kept(engine: Engine, component: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    first, settings = load(engine, component, folder), engine.settings
    for number in range(4):
        engine.settings = f"version {number}"
        before = set(folder.glob("*.cwasm"))
        load(engine, component, folder)
        for path in before & set(folder.glob("*.cwasm")):
            os.utime(path, ns=(number, path.stat().st_mtime_ns))
        engine.settings = settings
        # It is the oldest, but used.
        assert set(first) < set(load(engine, component, folder))
    assert len(list(folder.glob("*.cwasm"))) == 3


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_folder_of_others_is_never_used(
    engine: Engine, component: Path, tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "cache"
    (compiled,) = load(engine, component, folder)
    compiled.unlink()
    folder.chmod(mode)
    assert load(engine, component, folder) == []
    assert "others may write to this folder or to one above it (chmod go-w)" in caplog.text


def test_file_that_others_may_write_is_replaced(engine: Engine, component: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    (compiled,) = load(engine, component, folder)
    compiled.chmod(0o666)
    (again,) = load(engine, component, folder)
    assert again.stat().st_mode & 0o777 == 0o600


def test_linked_folder_is_never_used(engine: Engine, component: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    assert load(engine, component, tmp_path / "cache") == []


def test_damaged_component_is_an_error(engine: Engine, component: Path, tmp_path: Path) -> None:
    component.write_bytes(EMPTY + b"\0")
    with pytest.raises(SandboxError, match="is damaged: install it again"):
        load(engine, component, tmp_path / "cache")


def test_folder_that_cannot_be_written_costs_time_only(
    engine: Engine, component: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    assert load(engine, component, tmp_path / "file" / "cache") == []
    assert "the next process compiles it again" in caplog.text


def test_full_disk_leaves_nothing_and_programs_run(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir(mode=0o700)
    mount = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=1m,mode=700 none "$0" && exec "$@"', str(folder)]
    if os.geteuid() != 0 or subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a disk can be mounted only by root, and not in every container")
    code = (
        "import sys; from pathlib import Path; from ez_ptc import Toolkit, WasmSandbox\n"
        "with WasmSandbox(cache=Path(sys.argv[1])) as sandbox:\n"
        "    print(Toolkit([], sandbox=sandbox).execute('1 + 1').return_value)\n"
        "print([path.name for path in Path(sys.argv[1]).iterdir()])"
    )
    command = [*mount, sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "2\n['lock']\n", done.stderr
    assert "No space left" in done.stderr


def test_processes_compile_once_between_them(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    code = (
        "import sys; from pathlib import Path; from ez_ptc import Toolkit, WasmSandbox\n"
        "with WasmSandbox(cache=Path(sys.argv[1])) as sandbox:\n"
        "    print(Toolkit([], sandbox=sandbox).execute('1 + 1').return_value)\n"
    )

    def run(_: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, str(folder)]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = list(pool.map(run, range(3)))
    assert [process.stdout for process in done] == ["2\n"] * 3
    assert sum("compiling the sandbox" in process.stderr for process in done) == 1
    assert len(list(folder.glob("*.cwasm"))) == 1


def test_forked_host_runs_programs_too() -> None:
    with WasmSandbox() as sandbox:
        toolkit = Toolkit([], sandbox=sandbox)
        assert toolkit.execute("1").return_value == 1
        child = os.fork()
        if not child:
            os._exit(toolkit.execute("40 + 2").return_value)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
        assert toolkit.execute("2").return_value == 2


def plant(folder: Path, target: Path) -> None:
    """Make a folder whose lock leads to another file."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    (folder / "lock").symlink_to(target)


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious.txt"
    path.write_text("important")
    return path


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777])
def test_no_lock_is_opened_where_others_may_write(
    engine: Engine, component: Path, tmp_path: Path, precious: Path, mode: int
) -> None:
    folder = tmp_path / "cache"
    plant(folder, precious)
    folder.chmod(mode)
    assert load(engine, component, folder) == []
    assert precious.read_text() == "important"


@pytest.mark.parametrize("place", ["ez-ptc", "ez-ptc/wasm"])
def test_no_lock_is_opened_in_folder_of_another_user(
    engine: Engine, component: Path, tmp_path: Path, precious: Path, place: str
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    folder = tmp_path / "ez-ptc" / "wasm"
    plant(folder, precious)
    os.chown(tmp_path / place, 12346, 12346)
    assert load(engine, component, folder) == []
    assert precious.read_text() == "important"


def test_link_in_place_of_lock_is_not_followed(engine: Engine, component: Path, tmp_path: Path, precious: Path) -> None:
    folder = tmp_path / "cache"
    plant(folder, precious)
    folder.chmod(0o700)
    load(engine, component, folder)
    assert precious.read_text() == "important"


def test_linked_folder_is_left_alone(engine: Engine, component: Path, tmp_path: Path) -> None:
    """Its files may have names like those of unfinished ones."""
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    (own / "compiling-thesis.tex").write_text("mine")
    (tmp_path / "cache").symlink_to(own)
    assert load(engine, component, tmp_path / "cache") == []
    assert sorted(path.name for path in own.iterdir()) == ["compiling-thesis.tex"]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o772])
def test_folder_that_others_can_replace_is_not_used(engine: Engine, component: Path, tmp_path: Path, mode: int) -> None:
    above = tmp_path / "above"
    above.mkdir()
    (compiled,) = load(engine, component, above / "cache")
    above.chmod(mode)
    compiled.write_bytes(b"of another user")
    load(engine, component, above / "cache")
    assert compiled.read_bytes() == b"of another user"
    above.chmod(0o1777)  # in such a folder, each user can replace only what is theirs
    (again,) = load(engine, component, above / "cache")
    assert again.read_bytes() != b"of another user"


@pytest.mark.parametrize("owner", [0, 12346])
def test_link_of_another_user_on_the_way_is_not_used(
    engine: Engine, component: Path, tmp_path: Path, owner: int
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a link away")
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("../" + tmp_path.name + "/real")
    os.chown(tmp_path / "link", owner, owner, follow_symlinks=False)
    files = load(engine, component, tmp_path / "link" / "cache")
    assert bool(files) == (owner == 0)


def test_folders_are_made_for_the_owner_only(engine: Engine, component: Path, tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        assert load(engine, component, tmp_path / "ez-ptc" / "wasm")
    finally:
        os.umask(before)
    assert (tmp_path / "ez-ptc").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("above", [".", "home", "home/.cache"])
def test_missing_folders_on_the_way_are_private(engine: Engine, component: Path, tmp_path: Path, above: str) -> None:
    before = os.umask(0)
    try:
        (compiled,) = load(engine, component, tmp_path / above / "ez-ptc" / "wasm")
    finally:
        os.umask(before)
    places = [place for place in compiled.parents if tmp_path in place.parents]
    assert {place.stat().st_mode & 0o777 for place in places} == {0o700}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let others write to this user's cache, and return the folder for temporary files."""
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    for place, mode in ((cache, 0o770), (temporary, 0o1777)):
        place.mkdir()
        place.chmod(mode)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return temporary / f"ez-ptc-wasm-{os.getuid()}"


@pytest.mark.parametrize("is_made", [True, False])
def test_cache_of_others_is_replaced_by_one_of_own(
    engine: Engine, component: Path, temporary: Path, is_made: bool, caplog: pytest.LogCaptureFixture
) -> None:
    if is_made:
        default_folder().mkdir(parents=True)
    folder = cache_folder()
    assert (folder, folder.stat().st_mode & 0o777) == (temporary, 0o700)
    (compiled,) = load(engine, component, folder)
    made = compiled.stat().st_ino
    assert caplog.text.count(str(folder)) == 1
    assert cache_folder() == folder
    assert [path.stat().st_ino for path in load(engine, component, folder)] == [made]
    assert caplog.text.count(str(folder)) == 1
    assert list(default_folder().iterdir()) == []


def test_private_cache_is_used_where_others_cannot_write(temporary: Path) -> None:
    default_folder().parents[1].chmod(0o755)
    assert cache_folder() == default_folder()
    assert not temporary.exists()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_planted_folder_replaces_no_cache(temporary: Path, mode: int, caplog: pytest.LogCaptureFixture) -> None:
    temporary.mkdir()
    temporary.chmod(mode)
    assert cache_folder() == default_folder()
    assert caplog.text == ""


@pytest.mark.parametrize("target", ["own", "missing"])
def test_planted_link_replaces_no_cache(temporary: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "own").mkdir(mode=0o700)
    temporary.symlink_to(tmp_path / target)
    assert cache_folder() == default_folder()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "own", "temporary"]
    assert list((tmp_path / "own").iterdir()) == []


def test_folder_of_another_user_replaces_no_cache(temporary: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    temporary.mkdir(mode=0o700)
    os.chown(temporary, 12346, 12346)
    assert cache_folder() == default_folder()


def test_temporary_files_that_others_can_replace_hold_no_cache(temporary: Path) -> None:
    temporary.parent.chmod(0o777)
    assert cache_folder() == default_folder()
