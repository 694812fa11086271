"""`ez-ptc doctor`: what the kernel gives here, and how what is missing is shown."""

import io
import json

import pytest

from ez_ptc import Limits, __version__
from ez_ptc.cli.app import main
from ez_ptc.sandbox.host.isolation import check
from ez_ptc.sandbox.protocol.isolation import Layer, Report
from ez_ptc.sandbox.wasm.maker import REPORT
from tests.sandbox.backends.plain import PlainProcesses

pytest.importorskip("rich", reason="the extra `cli` is not installed")

HELD = Layer(name="system call filter", required=True, held=True, detail="a seccomp allow-list")
WANTED = Layer(name="pid namespace", required=False, held=False, detail="EPERM", advice="allow user namespaces")
LACKING = Layer(name="no files", required=True, held=False, detail="no Landlock", advice="use Linux 5.13 or newer")

NOT_INSTALLED = Report((Layer(name="WebAssembly", required=True, held=False, detail="missing", advice="pip"),), "wasm")


def shown(*layers: Layer, wasm: Report = NOT_INSTALLED, backend: str = "process", width: int = 200) -> str:
    from rich.console import Console

    from ez_ptc.cli.doctor import print_report

    stream = io.StringIO()
    print_report(Report(layers), wasm, backend, Console(file=stream, width=width))
    return stream.getvalue()


def test_exit_code_tells_whether_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    report = check()
    assert main(["doctor"]) == (0 if report.sufficient else 1)
    out = capsys.readouterr().out
    assert all(layer.name in out for layer in report.layers)


def test_json_has_every_layer(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert data["sufficient"] is (code == 0)
    assert [layer["name"] for layer in data["layers"]] == [layer.name for layer in check().layers]
    assert data["layers"][0].keys() == {"name", "required", "held", "detail", "advice"}
    assert data["wasm"][0]["name"] == "WebAssembly"
    assert data["backend"] == "process"
    assert data["versions"].keys() == {"ez_ptc", "python", "kernel", "machine"}
    assert data["limits"]["memory"] == [Limits().memory, "bytes", "worker"]


def test_optional_layer_may_be_missing() -> None:
    text = shown(HELD, WANTED)
    assert "unavailable" in text
    assert "MISSING" not in text
    assert "allow user namespaces" in text
    assert "programs can run here" in text


def test_what_other_backends_miss_is_optional() -> None:
    (line,) = [line for line in shown(HELD).splitlines() if line.startswith("unavailable")]
    assert line.split() == ["unavailable", "WebAssembly", "optional", "missing"]
    kernel = shown(LACKING, wasm=REPORT, backend="wasm").partition("by WebAssembly")[0]
    assert kernel.splitlines()[1].split()[:4] == ["unavailable", "no", "files", "optional"]


def test_remedy_is_whole_on_narrow_terminals() -> None:
    wheel = f"dist/ez_ptc_py_wasm-{__version__}-py3-none-any.whl"
    advice = Layer(name="WebAssembly", required=True, held=False, detail="missing", advice=f"pip install {wheel}")
    assert wheel in "".join(shown(HELD, wasm=Report((advice,), "wasm"), width=60).split())


def test_missing_requirement_has_a_remedy() -> None:
    text = shown(HELD, LACKING)
    assert "MISSING" in text
    assert "What to do: use Linux 5.13 or newer" in text
    assert "programs cannot run here" in text


def test_doctor_says_when_programs_run_in_webassembly() -> None:
    text = shown(LACKING, wasm=REPORT, backend="wasm")
    assert "programs can run here, in WebAssembly" in text
    assert "nothing would contain a bug of the WebAssembly engine" in text


def test_doctor_says_when_nothing_isolates_programs() -> None:
    stream = io.StringIO()
    from rich.console import Console

    from ez_ptc.cli.doctor import print_report

    plain = PlainProcesses.report
    print_report(Report((HELD,)), NOT_INSTALLED, "plain", Console(file=stream, width=200), other=plain)
    assert "Programs can run here, in the sandbox plain, but nothing isolates them." in stream.getvalue()
    assert "All requirements are met" not in stream.getvalue()
