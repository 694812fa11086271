"""Which Python a sandbox starts: an interpreter, whatever the host is, and never the host's own application again."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

from ez_ptc import ProcessSandbox, SandboxError, Toolkit
from tests.sandbox.scripts import ROOT, run_script

# An application that notes each of its starts, and says what becomes of a program in each way there is to run one.
APPLICATION = """#!{python}
import sys
with open({starts!r}, "a") as file:
    file.write("started\\n")
sys.path[:0] = [{root!r} + "/src", {root!r}]
{setting}
import json
from ez_ptc import ProcessSandbox, SandboxError, Toolkit
said = []
for how in ({{}}, {{"allow_imports": ["docstring_parser"]}}):
    with ProcessSandbox(python={named!r}, **how) as sandbox, Toolkit([], sandbox=sandbox) as toolkit:
        for way in (lambda: toolkit.execute("40 + 2"), lambda: toolkit.session().execute("40 + 2"), sandbox.warm_up):
            try:
                result = way()
                said.append(result and result.return_value)
            except SandboxError as error:
                said.append(str(error))
print(json.dumps(said))
"""
REFUSED_WAYS = 6


class Application:
    """A script that can be started like a program, as a frozen application can."""

    def __init__(self, folder: Path, name: str = "shop") -> None:
        self.path = folder / name
        self.starts = folder / "starts"

    def run(self, setting: str, *, named: str | None = None, env: dict[str, str] | None = None) -> list[object]:
        """Start it, and return what it says."""
        executable = str(self.path)
        text = APPLICATION.format(
            python=sys.executable,
            starts=str(self.starts),
            root=str(ROOT),
            setting=setting.format(executable=executable),
            named=named and named.format(executable=executable),
        )
        self.path.write_text(text)
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        done = subprocess.run(
            [self.path], env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert self.starts.read_text() == "started\n"
        return json.loads(done.stdout)


@pytest.fixture
def application(tmp_path: Path) -> Application:
    return Application(tmp_path)


FROZEN = "sys.frozen = True; sys.executable = {executable!r}"


@pytest.mark.parametrize(
    "setting", [FROZEN, "sys.frozen = 'windows_exe'; sys.executable = {executable!r}", "sys.frozen = True"]
)
@pytest.mark.sampled(every=3)
def test_frozen_application_must_name_interpreter_and_starts_once(application: Application, setting: str) -> None:
    said = application.run(setting)
    assert len(said) == REFUSED_WAYS
    for message in said:
        assert "this process is a frozen application" in str(message)
        assert "name a Python interpreter, as in ProcessSandbox(python='/usr/bin/python3')" in str(message)


@pytest.mark.sampled(every=0)
def test_a_frozen_application_that_names_an_interpreter_runs_programs(application: Application) -> None:
    assert application.run(FROZEN, named=sys.executable) == [42, 42, None] * 2


@pytest.mark.sampled(every=0)
def test_frozen_application_naming_itself_is_refused(application: Application) -> None:
    for message in application.run(FROZEN, named="{executable}"):
        assert "which is this application: name a Python interpreter" in str(message)


@pytest.mark.parametrize("executable", ["''", "None", "'/bin/true'", "'/no/where/python3'", "{executable!r}"])
@pytest.mark.sampled(every=0)
def test_embedded_python_uses_interpreter_of_its_installation(application: Application, executable: str) -> None:
    assert application.run(f"sys.executable = {executable}") == [42, 42, None] * 2


@pytest.mark.parametrize("executable", ["''", "None", "'/bin/true'", "'/no/where/python3'", "{executable!r}"])
@pytest.mark.sampled(every=6)
def test_embedded_python_without_interpreter_must_name_one(application: Application, executable: str) -> None:
    said = application.run(f"sys.executable = {executable}; sys.base_exec_prefix = '/no/where'")
    assert len(said) == REFUSED_WAYS
    for message in said:
        assert "which may be an application, and there is no '/no/where/bin/python3" in str(message)
        assert "name a Python interpreter" in str(message)


def test_application_called_python_is_not_used_as_interpreter(tmp_path: Path) -> None:
    setting = "sys.executable = {executable!r}; sys.base_exec_prefix = '/no/where'"
    for message in Application(tmp_path, "python3").run(setting):
        assert "which may be an application" in str(message)


@pytest.mark.sampled(every=0)
def test_link_called_python_is_not_used_as_interpreter(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to("/bin/true")
    setting = f"sys.executable = {str(tmp_path / 'python3')!r}; sys.base_exec_prefix = '/no/where'"
    for message in Application(tmp_path).run(setting):
        assert "which may be an application" in str(message)


@pytest.mark.sampled(every=0)
def test_an_application_that_a_sandbox_has_started_starts_none(application: Application) -> None:
    said = application.run("", env={"EZ_PTC_INSIDE_SANDBOX": "1"})
    assert len(said) == REFUSED_WAYS
    for message in said:
        assert "the sandbox of another process has started this application" in str(message)


def interpreter(folder: Path, *lines: str) -> Path:
    """Make a program out of lines of shell."""
    path = folder / "interpreter"
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def value_in(python: str | Path, *packages: str) -> object:
    """Return what a program returns in a sandbox with this interpreter."""
    with ProcessSandbox(python=python, allow_imports=packages) as sandbox:
        return Toolkit([], sandbox=sandbox).execute("40 + 2", 30).return_value


@pytest.mark.sampled(every=0)
def test_interpreter_may_be_path_command_or_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = interpreter(tmp_path, f'exec {sys.executable} "$@"')
    assert value_in(script) == 42
    assert value_in(str(script), "docstring_parser") == 42
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert value_in("interpreter") == 42
    (tmp_path / "link").symlink_to(sys.executable)
    assert value_in(tmp_path / "link") == 42


OTHERS = {
    "older": ("echo cpython 3 10", "expected CPython 3.11 or later, got cpython 3.10 at "),
    "ancient": ("echo python 2 7", "expected CPython 3.11 or later, got python 2.7 at "),
    "PyPy": ("echo pypy 3 11", "expected CPython 3.11 or later, got pypy 3.11 at "),
    "silent": ("exit 0", "is not a Python interpreter: it answered ''"),
    "failing": (
        "echo 'no such option: -S' >&2; exit 2",
        "is not a Python interpreter: it answered 'no such option: -S'",
    ),
    "talkative": ("head -c 100000 /dev/zero | tr '\\0' x", "is not a Python interpreter: it answered 'xxxxxx"),
}


@pytest.mark.parametrize(("line", "says"), OTHERS.values(), ids=OTHERS.keys())
def test_unsuitable_named_interpreter_is_refused(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(SandboxError) as caught:
        value_in(interpreter(tmp_path, line))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("named", ["/no/where/python3", "no-such-command-anywhere", "/", ""])
def test_named_file_that_is_not_executable_is_refused(named: str) -> None:
    with pytest.raises(SandboxError, match="expected the path of a Python interpreter, got python="):
        value_in(named)


def test_packages_need_their_own_python_version(tmp_path: Path) -> None:
    major, minor = sys.version_info[:2]
    other = interpreter(tmp_path, f"echo cpython {major} {minor + 1}")
    with pytest.raises(
        SandboxError, match=rf"expected CPython {major}\.{minor}, for which the packages of allow_imports"
    ):
        value_in(other, "docstring_parser")


# What an interpreter may need to start, and no program may see.
NEEDED = """
import contextlib, os, sys
from pathlib import Path
os.environ.update(LD_LIBRARY_PATH="/opt/hidden-place/lib", PYTHONHOME=sys.base_prefix, SECRET_TOKEN="hidden-token")
from ez_ptc import Limits, ProcessSandbox, Toolkit, ez_tool
from tests.sandbox.processes import becomes, descendants

def environments_now():
    texts = []
    for pid in descendants(os.getpid()):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            texts.append(Path(f"/proc/{pid}/environ").read_text(errors="replace").strip("\\0"))
    return texts

@ez_tool
def environments() -> list[str]:
    \"\"\"Return what the kernel says of the environment of each process.\"\"\"
    texts = []
    def count_visible():
        texts[:] = environments_now()
        return sum(text != "" for text in texts)
    # Another sandbox of this host may be booting, and has its environment until it is ready for programs.
    becomes(count_visible, 0, within=60)
    return texts

PROGRAM = '''
import ctypes, os
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
names = b"LD_LIBRARY_PATH PYTHONHOME SECRET_TOKEN EZ_PTC_INSIDE_SANDBOX".split()
[dict(os.environ), [getenv(name) for name in names], environments()]
'''
for limits in (Limits(), Limits(seed=1)):
    with Toolkit([environments], limits=limits) as toolkit:
        seen, asked, held = toolkit.execute(PROGRAM).return_value
        print(seen, asked, len(held) >= 2, set(held))
"""


@pytest.mark.sampled(every=0)
def test_interpreter_environment_is_passed_but_hidden_from_programs() -> None:
    assert run_script(NEEDED) == "{} [None, None, None, None] True {''}\n" * 2


def test_pythonhome_is_passed_if_interpreter_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It arrives: a wrong one is what keeps the interpreter from starting."""
    monkeypatch.setenv("PYTHONHOME", "/no/where")
    with ProcessSandbox() as sandbox, pytest.raises(SandboxError, match=r"did not start: (.|\n)*encodings"):
        sandbox.warm_up()


@pytest.mark.sampled(every=0)
def test_named_interpreter_gets_only_the_library_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/needed")
    monkeypatch.setenv("PYTHONHOME", "/no/where")
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    check = '[ "$LD_LIBRARY_PATH$PYTHONHOME$SECRET_TOKEN" = /opt/needed ] || exit 9'
    assert value_in(interpreter(tmp_path, check, f'exec {sys.executable} "$@"')) == 42


# A zipapp with this library in it, but for what its first argument leaves out.
ZIPPED = """
import os, sys
import ez_ptc
from ez_ptc import SandboxError, Toolkit
assert ".pyz" in ez_ptc.__file__, ez_ptc.__file__
with Toolkit([]) as toolkit:
    try:
        print(toolkit.execute("40 + 2").return_value)
    except SandboxError as error:
        print(error)
"""


def zipped(folder: Path, without: str, *, before: str = "", **environment: str) -> str:
    """Make a zipapp, start it, and return what it prints."""
    source, target = folder / "app", folder / "app.pyz"
    source.mkdir()
    (source / "__main__.py").write_text(before + ZIPPED)
    for file in (ROOT / "src").rglob("*"):
        place = source / file.relative_to(ROOT / "src")
        if file.suffix in {".py", ".bpf"} and place.name != without:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.read_bytes())
    zipapp.create_archive(source, target)
    done = subprocess.run(
        [sys.executable, target],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.sampled(every=0)
def test_a_zipapp_runs_programs_and_leaves_no_file_behind(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert zipped(tmp_path, "", TMPDIR=str(temporary)) == "42\n"
    assert list(temporary.iterdir()) == []


@pytest.mark.sampled(every=0)
def test_application_packed_without_worker_files_says_so(tmp_path: Path) -> None:
    said = zipped(tmp_path, "boot.py")
    assert said.startswith("expected the source files of ez_ptc/sandbox,")
    assert "have the packer copy that folder" in said


@pytest.mark.sampled(every=0)
def test_zipapp_without_temporary_folder_says_so(tmp_path: Path) -> None:
    """Where the one that is named is missing Python tries others, the current one last."""
    unwritable = f"import tempfile; tempfile.tempdir = {str(tmp_path / 'missing')!r}\n"
    assert zipped(tmp_path, "", before=unwritable).startswith("expected a folder for temporary files")
