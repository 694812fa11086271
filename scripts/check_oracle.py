"""Compare the check of programs with ty, a type checker, on the programs of the tests: ``make check-oracle``.

    python scripts/check_oracle.py TY

writes each program beside the stubs of its tools, lets ty check them all, and prints the programs that only one of the
two refuses. The differences that are meant stand in ``check_oracle.toml``, each with its reason; others make the exit
code 1, as do reasons that are no longer needed.
"""

import importlib.util
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from ez_ptc import Toolkit

__all__ = ["main", "read_programs"]

TESTS = Path(__file__).parent.parent / "tests/sandbox/check"


def main(ty: str) -> int:
    """Compare, print the differences, and return the exit code."""
    expected: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    ours: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, toolkit, program in read_programs():
            place = Path(folder, name.partition(" ")[0])
            place.mkdir(exist_ok=True)
            (place / "__builtins__.pyi").write_text(toolkit.stubs(), encoding="utf-8")
            (place / f"{name.partition(' ')[2].replace(' ', '_')}.py").write_text(program, encoding="utf-8")
            ours[name] = bool(toolkit.check(program))
        theirs = {name: messages for place in Path(folder).iterdir() for name, messages in _check(ty, place)}
    different = {name for name, refused in ours.items() if refused != bool(theirs.get(name))}
    for name in sorted(different - expected.keys()):
        who = "only ty refuses" if theirs.get(name) else "only ours refuses"
        print(f"{who} {name}: {theirs.get(name, '')}")
    for name in sorted(expected.keys() - different):
        print(f"no longer different: {name}")
    print(f"{len(ours)} programs, {len(different)} differences, {len(different - expected.keys())} unexplained")
    return 1 if different ^ expected.keys() else 0


def read_programs() -> Iterator[tuple[str, Toolkit, str]]:
    """Yield the name of each program, its toolkit, and its text."""
    right, wrong = _module("following/test_analysis.py"), _module("rules/test_by_node.py")
    for kind, tools in (("shop", right.SHOP), ("calendar", right.CALENDAR)):
        toolkit = Toolkit(tools)
        yield from ((f"{kind} {number}", toolkit, text) for number, text in enumerate(right.PROGRAMS[kind]))
    parcels = Toolkit([wrong.list_parcels, wrong.get_parcel, wrong.find_parcel, wrong.move, wrong.arrival, wrong.rates])
    for rule, cases in wrong.WRONG.items():
        yield from ((f"wrong {rule} {number}", parcels, case[0]) for number, case in enumerate(cases))
    yield from ((f"handled {name}", parcels, text) for name, text in wrong.HANDLED.items())


def _module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, TESTS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _check(ty: str, place: Path) -> Iterator[tuple[str, str]]:
    """Yield the programs in a folder that ty refuses, with its messages."""
    command = [ty, "check", "--output-format", "concise", "--python", sys.prefix, "."]
    answer = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    messages: dict[str, list[str]] = {}
    for line in answer.stdout.splitlines():
        file, found, message = line.partition(".py:")
        if found and " error[" in message and "`await` outside" not in message:  # programs may await anywhere
            messages.setdefault(file, []).append(message.partition(" ")[2])
    for file, texts in messages.items():
        yield f"{place.name} {file.replace('_', ' ')}", "; ".join(texts[:3])


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).absolute())))
