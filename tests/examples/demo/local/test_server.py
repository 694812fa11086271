"""The process that serves a local model: with a stand-in for the engine, and once with the real one."""

import contextlib
import dataclasses
import os
import re
import select
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.demo.local import LocalServer
from ez_ptc.errors import MissingExtraError, ProviderError
from tests.examples.demo.local.parts import MODEL

# As much of the engine as we use: it takes its parameters, and either serves or raises.
PARAMETERS = """
    from types import SimpleNamespace

    class CommonParams(SimpleNamespace):
        def __init__(self):
            super().__init__(model=SimpleNamespace(path=""))
"""
SERVES = """
    class Server:
        def __init__(self, parameters):
            self.listening_address = f"http://{parameters.hostnames[0]}:1/{parameters.model.path}"
"""
REFUSES = """
    class Server:
        def __init__(self, parameters):
            raise RuntimeError("this is no model")
"""
DIES = """
    import os, sys

    class Server:
        def __init__(self, parameters):
            sys.stderr.write("out of everything")
            sys.stderr.flush()
            os.kill(os.getpid(), 9)
"""
IGNORES_ITS_END = """
    import sys, threading

    class Server:
        listening_address = "http://127.0.0.1:1"

        def __init__(self, parameters):
            sys.stdin = self

        def read(self):
            threading.Event().wait()
"""

Engine = Callable[[str], None]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Put a module called `xllamacpp` where both this process and the server's find it first."""

    def write(source: str) -> None:
        (tmp_path / "xllamacpp.py").write_text(textwrap.dedent(PARAMETERS) + textwrap.dedent(source))

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    return write


def server(path: str = "model.gguf") -> LocalServer:
    return LocalServer(MODEL, Path(path))


def ended(pid: int) -> bool:
    """Tell whether a process of ours is gone and was waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def child_of(server: LocalServer) -> int:
    process = server.process
    assert process is not None
    return process.pid


def test_the_model_is_served_on_loopback(engine: Engine) -> None:
    engine(SERVES)
    with server("model.gguf") as running:
        assert running.url == "http://127.0.0.1:1/model.gguf/v1"


def test_each_server_has_a_separate_key(engine: Engine) -> None:
    engine(SERVES)
    first, second = server(), server()
    assert len(first.key) > 16
    assert first.key != second.key


def test_it_ends_with_its_context(engine: Engine) -> None:
    engine(SERVES)
    with server() as running:
        pid = child_of(running)
        assert not ended(pid)
    assert ended(pid)
    running.close()


def test_one_that_does_not_end_is_killed(engine: Engine) -> None:
    engine(IGNORES_ITS_END)
    with LocalServer(MODEL, Path("m"), patience=0.05) as running:
        pid = child_of(running)
    assert ended(pid)


def test_server_ends_when_its_starter_is_killed(engine: Engine, tmp_path: Path) -> None:
    engine(SERVES)
    script = (
        "import os; from pathlib import Path; from examples.demo.local import LocalServer; "
        "from tests.examples.demo.local.parts import MODEL; server = LocalServer(MODEL, Path('m')); "
        "server.__enter__(); "
        "os.write(WRITER, str(server.process.pid).encode()); os.kill(os.getpid(), 9)"
    )
    reader, writer = os.pipe()
    folders = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": folders}
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", script.replace("WRITER", "9")],
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, writer, 9)],
    )
    os.close(writer)
    os.waitpid(pid, 0)
    started = int(os.read(reader, 20))
    os.close(reader)
    with contextlib.suppress(ProcessLookupError):  # it may be gone already
        orphan = os.pidfd_open(started)
        assert select.select([orphan], [], [], 30)[0], "the server outlived whoever started it"
        os.close(orphan)


@pytest.mark.parametrize(
    ("source", "words"), [(REFUSES, "this is no model"), (DIES, "out of everything"), ("", "has no attribute 'Server'")]
)
def test_unloadable_model_explains_why(source: str, words: str, engine: Engine) -> None:
    engine(source)
    running = server()
    with pytest.raises(ProviderError, match=f"A small model cannot be loaded: .*{words}"):
        running.__enter__()
    assert running.process is None


def test_insufficient_memory_is_reported_before_loading(engine: Engine) -> None:
    engine(SERVES)
    running = LocalServer(dataclasses.replace(MODEL, memory=10**18), Path("m"))
    with pytest.raises(ProviderError, match=r"takes 1000000000\.0 GB of memory, and .* GB are free"):
        running.__enter__()
    assert running.process is None


def test_loading_progress_is_reported_to_the_end(engine: Engine) -> None:
    engine(SERVES)
    told: list[tuple[str, int, int]] = []

    def progress(stage: str, /, *, done: int, total: int) -> None:
        told.append((stage, done, total))

    with LocalServer(MODEL, Path("m"), progress=progress):
        pass
    assert told[-1] == ("load", MODEL.memory, MODEL.memory)


def test_missing_engine_error_gives_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "xllamacpp==')):
        server()


def test_engine_without_system_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minimal Debian has no GNU OpenMP; the loader's words are those of the extension module itself."""
    folder = tmp_path / "xllamacpp"
    folder.mkdir()
    message = "libgomp.so.1: cannot open shared object file: No such file or directory"
    (folder / "__init__.py").write_text(f"raise ImportError({message!r})", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(MissingExtraError, match=f"xllamacpp cannot be loaded: {message}; .* apt install libgomp1"):
        server()
