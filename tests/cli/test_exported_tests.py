"""A run as a test: it passes with the run's tools, calls none of them, and fails with others."""

import json
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest

from ez_ptc import Journal, JournalError, ReplayDivergedError, Sensitive, Toolkit, ez_tool
from ez_ptc.cli.app import main

_CALLS: list[str] = []


@ez_tool
def price_of(product: str) -> float:
    """Look up a price."""
    _CALLS.append(product)
    if product == "none":
        raise LookupError(product)
    return 39.5


@ez_tool
def log_in(user: str, password: Annotated[str, Sensitive]) -> str:
    """Log in."""
    _CALLS.append(user)
    return f"hello {user}"


@ez_tool(requires_approval=True)
def refund(customer: str) -> str:
    """Refund a customer."""
    _CALLS.append(customer)
    return "refunded"


PROGRAM = """
print("'''", "\\\\", "é\\u202e", price_of("lamp"))
print(parallel((price_of, "a"), (price_of, "b")))
try:
    price_of("none")
except LookupError as error:
    print("caught", error)
print(log_in("Ada", "pass" + "word" * 3))
print(refund("Bob"))
import random, time
print(random.random(), time.time())
"""


def write(folder: Path, program: str = PROGRAM) -> Path:
    """Run a program, and write its test."""
    with Toolkit([price_of, log_in, refund], journal=folder / "runs.db") as toolkit:
        result = toolkit.execute(program)
        if result.pending:
            result = toolkit.resume(str(result.run_id), {call.id: True for call in result.pending})
    file = folder / "test_run.py"
    command = ["runs", "export", str(result.run_id), "--pytest", str(file), "--tools", "shop_of_test:toolkit"]
    assert main([*command, "--journal", str(folder / "runs.db")]) == 0
    return file


def run(file: Path, toolkit: Toolkit, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test in a file with a toolkit."""
    module = ModuleType("shop_of_test")
    module.__dict__["toolkit"] = toolkit
    monkeypatch.setitem(sys.modules, "shop_of_test", module)
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    folder.mkdir()
    next(value for name, value in names.items() if name.startswith("test_run_"))(folder)


def test_written_test_passes_without_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path)
    _CALLS.clear()
    with Toolkit([refund, log_in, price_of]) as toolkit:
        run(file, toolkit, tmp_path / "test", monkeypatch)
    assert _CALLS == []


def test_written_test_has_no_secret_and_is_ascii(tmp_path: Path) -> None:
    text = write(tmp_path).read_text()
    assert text.isascii()
    assert "passwordwordword" not in text
    assert "sealed:" not in text
    assert '"key"' not in text


def test_written_test_fails_when_a_schema_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path)

    @ez_tool(name="price_of")
    def other(product: str, currency: str = "EUR") -> float:
        """Look up a price."""
        return 1.0

    with (
        Toolkit([other, log_in, refund]) as toolkit,
        pytest.raises(ReplayDivergedError, match="'price_of' has changed"),
    ):
        run(file, toolkit, tmp_path / "test", monkeypatch)
    with Toolkit([log_in, refund]) as toolkit, pytest.raises(ReplayDivergedError, match="has a tool 'price_of'"):
        run(file, toolkit, tmp_path / "other", monkeypatch)


def test_written_test_fails_when_the_output_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path)
    file.write_text(file.read_text().replace("OUTPUT = ", "OUTPUT = 'x' + "))
    with Toolkit([price_of, log_in, refund]) as toolkit, pytest.raises(AssertionError):
        run(file, toolkit, tmp_path / "test", monkeypatch)


def test_written_test_needs_no_version_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, program in enumerate(("print(price_of('lamp'))", "print(price_of('lamp'))\nunknown")):
        (tmp_path / str(number)).mkdir()
        file = write(tmp_path / str(number), program)
        own = f"CPython {platform.python_version()}"
        assert f"with CPython {sys.version_info[0]}.{sys.version_info[1]}; other versions" in file.read_text()
        text = file.read_text().replace(own, "CPython 2.7.18").replace("NameError", "OtherError")
        file.write_text(text.replace(own.rpartition(".")[0], "CPython 2.7"))
        with Toolkit([price_of, log_in, refund]) as toolkit:
            run(file, toolkit, tmp_path / f"test {number}", monkeypatch)
        file.write_text(text.replace("upgrade=True", "upgrade=False"))
        with (
            Toolkit([price_of, log_in, refund]) as toolkit,
            pytest.raises(ReplayDivergedError, match="recorded with interpreter CPython 2"),
        ):
            run(file, toolkit, tmp_path / f"other {number}", monkeypatch)


@pytest.mark.security
def test_written_test_is_one_for_pytest(tmp_path: Path) -> None:
    file = write(tmp_path, "print(price_of('lamp'))")
    shop = [
        "from ez_ptc import Toolkit, ez_tool",
        "@ez_tool",
        "def price_of(product: str) -> float:",
        "    'Look up.'",
        "    raise SystemExit",
        "from tests.cli.test_exported_tests import log_in, refund",
        "toolkit = Toolkit([price_of, log_in, refund])",
    ]
    for name, status in (("product", 0), ("article", 1)):
        (tmp_path / "shop_of_test.py").write_text("\n".join(shop).replace("product", name))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(file)]
        path = f"{tmp_path}:{Path(__file__).parents[2]}"
        done = subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": path}, capture_output=True, timeout=120, check=False
        )
        assert done.returncode == status, done.stdout.decode()


def test_failed_run_is_a_test_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, "print(price_of('lamp'))\n1 / 0")
    with Toolkit([price_of, log_in, refund]) as toolkit:
        run(file, toolkit, tmp_path / "test", monkeypatch)


def test_run_that_is_not_alone_or_not_ended_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.db"
    with Toolkit([price_of, refund], journal=path) as toolkit, toolkit.session() as session:
        ids = [session.execute("a = 1").run_id, toolkit.execute("refund('Ada')").run_id]
    for run_id in ids:
        file = tmp_path / "test_x.py"
        command = ["runs", "export", str(run_id), "--pytest", str(file), "--journal", str(path)]
        assert main([*command, "--tools", "shop:toolkit"]) == 2
        assert main([*command, "--tools", "shop; import os:toolkit"]) == 2
        assert main(command) == 2
        assert not file.exists()
    assert "only a run alone can be a test" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["class.x:toolkit", "módulo:toolkit", "shop:tké", "shop:None", "shop", ":toolkit"])
def test_name_that_no_test_could_import_is_refused(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_x.py"
    assert main(["runs", "export", "any", "--pytest", str(file), "--tools", name]) == 2
    assert "add --tools module:name" in capsys.readouterr().err
    assert not file.exists()


def test_loaded_run_is_whole_and_loaded_once(tmp_path: Path) -> None:
    write(tmp_path)
    with Journal(tmp_path / "runs.db") as journal, Journal(tmp_path / "other.db") as other:
        (entry,) = journal.runs()
        lines = list(journal.export(entry.id, portable=True))
        assert other.load(lines) == entry.id
        assert other.verify() == 1
        assert other.run(entry.id).result is not None
        with pytest.raises(JournalError, match="already"):
            other.load(lines)


def broken(lines: list[str]) -> dict[str, list[str]]:
    """Return lines that are no export of one ended run."""
    first, *rest = lines
    fields, end = json.loads(first), json.loads(lines[-1])
    paused = json.dumps({**end, "data": {**end["data"], "state": "paused"}})
    return {
        "a pause at the end": [*lines[:-1], paused],  # what could be resumed would run
        "no tools": [json.dumps({**fields, "data": {}}), *rest],
        "two ends": [*lines, lines[-1]],
        "a year that pages cannot show": [json.dumps({**fields, "time": "9999-12-31T23:59:59-14:00"}), *rest],
        "a year before all": [json.dumps({**fields, "time": "0001-01-01T00:00:00+14:00"}), *rest],
        "half of a surrogate pair": [json.dumps({**json.loads(line), "run": "\ud800"}) for line in lines],
        "no start": rest,
        "no end": lines[:-1],
        "no line": [],
        "no JSON": ["no JSON", *lines],
        "a list": ["[1]", *lines],
        "two runs": [*lines, json.dumps({**fields, "run": "another"})],
        "another kind": [json.dumps({**fields, "kind": "other"}), *rest],
        "another path": [json.dumps({**fields, "path": "x"}), *rest],
        "another time": [json.dumps({**fields, "time": 3}), *rest],
        "another payload": [json.dumps({**fields, "payload_base64": "?"}), *rest],
    }


def test_other_lines_are_refused(tmp_path: Path) -> None:
    with Toolkit([price_of], journal=tmp_path / "runs.db") as toolkit:
        run_id = str(toolkit.execute("price_of('lamp')").run_id)
    with Journal(tmp_path / "runs.db") as journal, Journal(tmp_path / "other.db") as other:
        for lines in broken(list(journal.export(run_id, portable=True))).values():
            with pytest.raises(JournalError, match="expected"):
                other.load(lines)
        assert other.runs() == []
