"""What every test runs in, and what every test may ask for."""

import gc
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.environment import compile_worker, isolate_process
from tests.property_tests import load_profile

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

isolate_process()
load_profile()
# Until the tests are collected, nearly all that is made stays.
gc.disable()
_MANY_MODULES = 20
_frozen_modules: list[int] = []


def pytest_configure(config: pytest.Config) -> None:
    """Know our marks; let each process that is started find bytecode, and write what is missing, once."""
    try:
        metadata.version("ez-ptc-py")
    except metadata.PackageNotFoundError:
        message = (
            "this environment was made before pyproject.toml was changed: run make test, or make .venv/.ready/test"
        )
        raise pytest.UsageError(message) from None
    config.addinivalue_line("markers", "security: takes long; run with -m security")
    config.addinivalue_line("markers", "lengthy: all its variants take many minutes; .ci/run leaves them out")
    config.addinivalue_line(
        "markers", "sampled(every, first=0): a plain run takes one variant in so many, from the first on; of 0, none"
    )
    sys.dont_write_bytecode = False
    if not hasattr(config, "workerinput"):
        compile_worker()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, unless it is asked for by its mark, or a test by its name."""
    is_by_name = any("::" in argument for argument in config.args)
    if not is_by_name:
        _leave_variants_to_security(items)
    if "security" in str(config.option.markexpr):
        return
    slow = [item for item in items if item.get_closest_marker("security")]
    if is_by_name:
        for item in slow:
            item.add_marker(pytest.mark.skip(reason="takes long: run with -m security"))
    elif slow:
        # Each of 3,000 skipped tests would take as long as a small test that runs.
        items[:] = [item for item in items if not item.get_closest_marker("security")]
        config.hook.pytest_deselected(items=slow)


def _leave_variants_to_security(items: list[pytest.Item]) -> None:
    """Mark what a plain run leaves out of tests whose variants are many and take their time.

    EZ_PTC_SHARE=2 drops every second one of these.
    """
    share = int(os.environ.get("EZ_PTC_SHARE", "1"))
    seen: Counter[str] = Counter()
    left: Counter[str] = Counter()
    dropped: set[pytest.Item] = set()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None:
            test = item.nodeid.partition("[")[0]
            every, first = mark.kwargs["every"], mark.kwargs.get("first", 0)
            if every == 0 or seen[test] % every != first:
                item.add_marker(pytest.mark.security)
                if left[test] % share:
                    dropped.add(item)
                left[test] += 1
            seen[test] += 1
    if dropped:
        items[:] = [item for item in items if item not in dropped]
        items[0].config.hook.pytest_deselected(items=[*dropped])


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over what is there by now: a million objects of SDKs and tests."""
    gc.freeze()
    gc.enable()
    _frozen_modules.append(len(sys.modules))


def pytest_runtest_logfinish() -> None:
    """Let it pass over what a test has imported, too: otherwise each collection visits all of an SDK again."""
    if _frozen_modules and len(sys.modules) > _frozen_modules[-1] + _MANY_MODULES:
        gc.collect()
        gc.freeze()
        _frozen_modules.append(len(sys.modules))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Fail a test in which checking a call's arguments has held up an event loop, where that is asked for."""
    if "EZ_PTC_WATCH_BINDING" not in os.environ:
        return (yield)
    from tests.binding import watch_binding

    with watch_binding() as slow_calls:
        result = yield
    if slow_calls:
        pytest.fail("; ".join(slow_calls), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let what was logged be sent to the process that prints it, whatever hostile text is in it."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.fixture(scope="session", autouse=True)
def _shared_processes_stay() -> Iterator[None]:
    """Keep the processes that toolkits share from one test to the next: to start them takes 0.3 s of CPU time."""
    from ez_ptc.toolkit.execution.shared_sandbox import Share

    share = Share(frozenset())
    share.acquire()
    yield
    share.release()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that has `pyproject.toml` in it."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_folder(repository: Path) -> Path:
    """The folder of seeds and corpora beside the repository."""
    folder = repository.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder ../shared with the seeds and the corpora is not here")
    return folder


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Each event loop that an asynchronous test runs on."""
    backend = request.param
    assert isinstance(backend, str)
    return backend


@pytest.fixture(scope="session")
def _span_exporter() -> "InMemorySpanExporter":
    """Receive the spans of this process, whose provider can be set only once."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    class WholeTraces(InMemorySpanExporter):
        """Leaves out what has no beginning here: a tool of a program that an earlier test has left may be ending."""

        def get_finished_spans(self) -> tuple[ReadableSpan, ...]:
            spans = super().get_finished_spans()
            whole = {span.context.trace_id for span in spans if span.context and span.parent is None}
            return tuple(span for span in spans if span.context and span.context.trace_id in whole)

    exporter = WholeTraces()
    if not isinstance(trace.get_tracer_provider(), TracerProvider):  # a page of the documentation may have set it
        trace.set_tracer_provider(TracerProvider())
    provider = trace.get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


@pytest.fixture
def spans(_span_exporter: "InMemorySpanExporter") -> "Iterator[InMemorySpanExporter]":
    """The spans of one test."""
    _span_exporter.clear()
    yield _span_exporter
    _span_exporter.clear()
