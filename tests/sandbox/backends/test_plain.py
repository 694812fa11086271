"""The smallest backend, which the page on writing a sandbox shows: it does what the others do, apart from isolation."""

from pathlib import Path

import anyio
import pytest

from ez_ptc import Limits, Toolkit, ez_tool
from tests.sandbox.backends import plain
from tests.sandbox.backends.plain import PlainSandbox


@ez_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@ez_tool(requires_approval=True)
def refund(order: int) -> str:
    """Refund an order."""
    return f"refunded {order}"


def test_page_shows_the_backend_that_is_tested(repository: Path) -> None:
    page = (repository / "docs" / "writing-a-sandbox.md").read_text(encoding="utf-8")
    imports, _, classes = Path(plain.__file__).read_text(encoding="utf-8").partition("\n\n\nclass ")
    assert all(line in page for line in imports.partition('"""\n\n')[2].splitlines())
    assert f"class {classes}" in page


@pytest.mark.security
def test_small_backend_runs_programs_with_calls() -> None:
    with PlainSandbox() as sandbox:
        toolkit = Toolkit([add], sandbox=sandbox)
        assert (toolkit.isolation.backend, toolkit.isolation.enforced) == ("plain", [])
        result = toolkit.execute("print(add(20, 1))\nadd(1, 2)")
        assert (result.output, result.return_value, len(result.tool_calls)) == ("21\n", 3, 2)
        # Nothing of the caller's environment, which may have keys.
        names = toolkit.execute("import os\nsorted(os.environ)").return_value
        assert set(names) <= {"LC_CTYPE", "PYTHONHASHSEED"}


@pytest.mark.sampled(every=0)
def test_small_backend_ends_programs_and_keeps_sessions() -> None:
    with PlainSandbox() as sandbox:
        toolkit = Toolkit([add], sandbox=sandbox)
        endings = {
            "1 / 0": "ZeroDivisionError: division by zero",
            "while True: pass": "TimeoutError: the program timed out after 0.3 s",
            "import os; os._exit(3)": "the program's process has ended",
        }
        for code, error in endings.items():
            assert toolkit.execute(code, timeout=0.3).error == error
        with toolkit.session() as session:
            session.execute("total = add(1, 2)")
            assert session.execute("total + 1").return_value == 4
        assert anyio.run(toolkit.aexecute, "parallel((add, 1, 2), (add, 3, 4))").return_value == [3, 7]


@pytest.mark.sampled(every=0)
def test_small_backend_repeats_recorded_programs(tmp_path: Path) -> None:
    """In another process than the one that paused, with the same order of sets."""
    code = "print(list({'a', 'b', 'c', 'd'}), __import__('random').random())\nrefund(7)"
    outputs = set[str]()
    for name in ("one", "two"):
        with PlainSandbox() as sandbox:
            toolkit = Toolkit([refund], sandbox=sandbox, journal=tmp_path / name, limits=Limits(seed=1))
            paused = toolkit.execute(code)
            assert paused.status == "paused"
            assert paused.run_id is not None
        with PlainSandbox() as sandbox:
            toolkit = Toolkit([refund], sandbox=sandbox, journal=tmp_path / name, limits=Limits(seed=1))
            done = toolkit.resume(paused.run_id, approve=lambda _: True)
            assert done.return_value == "refunded 7"
            outputs.add(done.output)
    assert len(outputs) == 1
