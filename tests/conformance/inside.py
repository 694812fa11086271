"""The half of the harness that runs beside the tests: text of a program, in the sandbox and in a plain process alike.

Two functions are there before it runs: ``source_of(name)`` returns ``[source, "package" or "module"]`` of a module of
CPython's tests, or an empty list; ``report(test, outcome, raised, asked)`` takes what became of a test.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import unittest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType, TracebackType

    Raised = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]

    def source_of(name: str) -> list[str]: ...
    def report(test: str, outcome: str, raised: list[str], asked: list[str]) -> None: ...


MAX_MESSAGE = 300
DENIED = {
    "ctypes.": "machine code",
    "fcntl.": "files",
    "glob.": "files",
    "mmap.": "files",
    "open": "files",
    "os.exec": "processes",
    "os.fork": "processes",
    "os.kill": "signals",
    "os.posix_spawn": "processes",
    "os.spawn": "processes",
    "os.startfile": "processes",
    "os.system": "processes",
    "os.": "files",
    "pathlib.": "files",
    "pty.": "processes",
    "resource.": "limits",
    "shutil.": "files",
    "signal.": "signals",
    "socket.": "network",
    "sqlite3.connect": "files",
    "subprocess.": "processes",
    "syslog.": "network",
    "tempfile.": "files",
}
"""What an audit event asks for, by the longest beginning of its name: all of it is denied in the sandbox."""

asked: set[str] = set()
running = [""]
"""The test that runs, last."""
wanted: set[str] = set()
"""The modules that were looked for, by whoever: a test may ask for what one of them would define."""


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """Note what a test asks of the kernel."""
    if event in {"os.putenv", "os.unsetenv"}:
        return
    if event in {"open", "sqlite3.connect"} and (type(arguments[0]) is int or arguments[0] == ":memory:"):
        return
    begins = [name for name in DENIED if event.startswith(name)]
    if begins and (kind := DENIED[max(begins, key=len)]) not in asked:
        asked.add(kind)
        # It may wait for ever for what it does not get.
        report(running[-1], "started", [], requests())


def requests() -> list[str]:
    """Return what the running test has asked for, and which modules were not found."""
    return [*sorted(asked), *(f"module {name}" for name in sorted(wanted - set(sys.modules)))]


class Tests(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Makes the modules of CPython's tests from their text."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of the tests."""
        del path, target
        wanted.add(name.partition(".")[0])
        found = source_of(name) if self.is_given(name) else []
        if not found:
            return None
        return importlib.util.spec_from_loader(name, self, origin=f"<{name}>", is_package=found[1] == "package")

    def is_given(self, name: str) -> bool:
        """Return whether a module is to be made from text."""
        return not {"test", "tests"}.isdisjoint(name.split("."))

    def get_source(self, fullname: str) -> str:
        """Return the text of a module."""
        return source_of(fullname)[0]

    def is_package(self, fullname: str) -> bool:
        """Return whether a module is a package."""
        return source_of(fullname)[1] == "package"

    def exec_module(self, module: ModuleType) -> None:
        """Run the text of a module, under a file name that exists nowhere."""
        module.__file__ = f"<{module.__name__}>"
        exec(compile(self.get_source(module.__name__), module.__file__, "exec", dont_inherit=True), vars(module))


class Helpers(Tests):
    """The last finder: makes what `test.support` itself imports and programs do not have."""

    def is_given(self, name: str) -> bool:
        """Return whether a module is to be made from text: nobody else has it."""
        return not super().is_given(name)


def chain(error: BaseException | None) -> Iterator[str]:
    """Yield an exception and what it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield f"{type(error).__name__}: {describe(error)}"
        error = error.__cause__ or error.__context__


def describe(error: BaseException) -> str:
    """Return the beginning of what an exception says."""
    try:
        return str(error)[:MAX_MESSAGE].encode("utf-8", "backslashreplace").decode()
    except Exception as failure:  # noqa: BLE001 - foreign code: tests raise exceptions that cannot be shown
        return f"<{type(failure).__name__}>"


class Reporter(unittest.TestResult):
    """Sends what becomes of each test as it happens: a process that dies loses one test."""

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        """Say that a test runs."""
        super().startTest(test)
        asked.clear()
        running[:] = [test.id()]
        report(test.id(), "started", [], [])

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        """Report a test that passed."""
        report(test.id(), "ok", [], [])

    def addExpectedFailure(self, test: unittest.TestCase, err: object) -> None:  # noqa: N802 - unittest's name
        """Report a test that fails as its author knows."""
        del err
        report(test.id(), "ok", [], [])

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        """Report a test that should have failed."""
        report(test.id(), "failed", ["UnexpectedSuccess: "], requests())

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802 - unittest's name
        """Report a test that was not run."""
        whole = getattr(test, "test_case", test)
        report(whole.id(), "skipped", [f"SkipTest: {reason}"[:MAX_MESSAGE]], requests())

    def addError(self, test: unittest.TestCase, err: Raised) -> None:  # noqa: N802 - unittest's name
        """Report a test that raised, or the setup of a class or a module that did."""
        report(test.id(), "error", list(chain(err[1])), requests())

    def addFailure(self, test: unittest.TestCase, err: Raised) -> None:  # noqa: N802 - unittest's name
        """Report a test whose claim did not hold."""
        report(test.id(), "failed", list(chain(err[1])), requests())

    def addSubTest(self, test: unittest.TestCase, subtest: object, err: Raised | None) -> None:  # noqa: N802 - unittest's
        """Report a part that failed as its test."""
        del subtest
        if err is not None:
            failed = isinstance(err[1], test.failureException)
            report(test.id(), "failed" if failed else "error", list(chain(err[1])), requests())


def cases(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """Yield the tests of a suite."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from cases(entry)
        else:
            yield entry


def run(name: str, without: set[str]) -> None:
    """Run the tests of a module, those but that have been run."""
    sys.meta_path.insert(0, Tests())
    sys.meta_path.append(Helpers())
    sys.addaudithook(watch)
    try:
        support = importlib.import_module("test.support")
        vars(support).update(use_resources=[], verbose=0)
        module = importlib.import_module(name)
        suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    except BaseException as error:  # noqa: BLE001 - foreign code: whatever it raises is reported
        outcome = "skipped" if isinstance(error, unittest.SkipTest) else "error"
        report(name, outcome, list(chain(error)), requests())
        return
    chosen = [case for case in cases(suite) if case.id() not in without]
    unittest.TestSuite(chosen).run(Reporter())
    report(name, "finished", [], [])
