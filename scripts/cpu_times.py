"""A pytest plugin: which tests take how much CPU time, their processes' included.

    python -m pytest -p scripts.cpu_times [--costliest 40] [-n 2] [FILES]

Prints a table of folders. Wall time would tell what else the machine does. What a process of the sandbox does after a
test, such as preparing the next worker, counts for the test that follows.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import defaultdict
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from xdist.workermanage import WorkerController

__all__ = ["CpuTimes", "pytest_addoption", "pytest_configure"]

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PROPERTY: Final = "cpu_seconds"
_STARTUP: Final = "(startup and collection)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--costliest", type=int, default=0, metavar="N", help="list the N tests with the most CPU time")


def pytest_configure(config: pytest.Config) -> None:
    """Watch this process, and gather what all of them have counted."""
    config.pluginmanager.register(CpuTimes(config))


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes below one, as far as they live."""
    pids: list[int] = []
    with contextlib.suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            pids += map(int, (thread / "children").read_text().split())
    for child in pids:
        yield child
        yield from descendants(child)


def descendant_seconds() -> float:
    """Return the CPU time of all processes below this one, of those that have been waited for as well."""
    times = os.times()
    ticks = 0
    for pid in descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return times.children_user + times.children_system + ticks / _TICKS


class CpuTimes:
    """Counts the seconds between the ends of two tests, and prints the sums."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._counted = 0.0
        self._overhead = 0.0
        self._tests: dict[str, float] = {}
        self._startup = 0.0

    def _lap(self) -> float:
        """Return the seconds since the last lap, without those that counting takes."""
        started = time.process_time()
        total = started - self._overhead + descendant_seconds()
        self._overhead += time.process_time() - started
        seconds, self._counted = total - self._counted, total
        return seconds

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """End the lap of imports and collection."""
        self._startup += self._lap()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Send a test's seconds along with its last report."""
        report = yield
        if call.when == "teardown":
            report.user_properties.append((_PROPERTY, self._lap()))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in a test's seconds, from whichever process."""
        for name, seconds in report.user_properties:
            if name == _PROPERTY and report.when == "teardown":
                self._tests[report.nodeid] = float(str(seconds))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Send along what no test has used."""
        output: dict[str, object] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_PROPERTY] = self._startup

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController) -> None:
        """Take in what another process has used before its tests."""
        self._startup += float(getattr(node, "workeroutput", {}).get(_PROPERTY, 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the tables."""
        folders: defaultdict[str, list[float]] = defaultdict(list)
        for test, seconds in self._tests.items():
            folder = PurePath(test.partition("::")[0]).parent
            folders["/".join(folder.parts[:3])].append(seconds)
        rows = sorted(folders.items(), key=lambda row: -sum(row[1]))
        terminalreporter.section("CPU seconds, child processes included")
        for name, seconds in [(_STARTUP, [self._startup]), *rows]:
            terminalreporter.line(f"{sum(seconds):8.1f}  {len(seconds):6,}  {name}")
        total = self._startup + sum(self._tests.values())
        terminalreporter.line(f"{total:8.1f}  {len(self._tests):6,}  all of them")
        costliest = sorted(self._tests.items(), key=lambda row: -row[1])[: self._config.getoption("costliest")]
        for test, seconds in costliest:
            terminalreporter.line(f"{seconds:8.2f}  {test}")
