"""What the pages say is so: each Python block runs and prints what stands below it, each link leads somewhere.

The blocks of a page are read from top to bottom, so a later one may use what an earlier one has defined. A block that
cannot run here says why: `python skip="needs a server"`; it is compiled all the same. The pages of frameworks run where
their framework is installed: `make test-integrations`.
"""

import functools
import inspect
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
# `make test-examples` runs the pages with packages that no other test needs.
NEEDED = {"web-services": "fastapi", "databases": "sqlalchemy", "tables": "pandas"}
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


def blocks(page: Path) -> list[CodeExample]:
    """The Python blocks of a page, in the order in which they are read."""
    return sorted(find_examples(page), key=lambda example: example.start_line)


def name_of(page: Path) -> str:
    """The page's path as it is called in the repository."""
    return page.relative_to(REPOSITORY).as_posix()


def run(block: CodeExample, known: dict[str, object], eval_example: EvalExample) -> dict[str, object]:
    """Run a block with the names that the page has defined so far, and compare what it prints."""
    evaluate = eval_example.run_print_update if eval_example.update_examples else eval_example.run_print_check
    try:
        return known | evaluate(block, module_globals=known)
    except Exception as error:  # noqa: BLE001 - a page may raise anything, and the frames it ran in cannot be shown
        lines = [line for _, line in traceback.walk_tb(error.__traceback__)]
        failure = f"{name_of(block.path)}:{lines[-1]}: {type(error).__name__}: {error}"
    pytest.fail(failure, pytrace=False)


@pytest.fixture(autouse=True)
def own_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the main module back, in whose place each block runs."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(autouse=True)
def folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let a page write its files into a folder that goes away."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def stacks_without_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare `print` what it does not use: the source of each frame, which is looked for in all modules there are."""
    monkeypatch.setattr(inspect, "stack", functools.partial(inspect.stack, 0))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_every_documentation_block_runs_and_prints_as_shown(page: Path, eval_example: EvalExample) -> None:
    known: dict[str, object] = {}
    if page.parent.name == "frameworks" and page.stem != os.environ.get("EZ_PTC_INTEGRATION"):
        pytest.skip(f"{name_of(page)} needs its framework: `make test-integrations` runs it")
    if page.parent.name == "applications" and page.stem in NEEDED:
        pytest.importorskip(NEEDED[page.stem], reason=f"{name_of(page)} needs a package: `make test-examples` runs it")
    for block in blocks(page):
        if block.prefix_settings().keys() & {"skip", "title"}:  # files with a title: tests/test_tutorial.py
            compile(block.source, str(page), "exec")
        else:
            known = run(block, known, eval_example)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_first_page_shows_whole_program_on_one_screen() -> None:
    [first, *_] = blocks(REPOSITORY / "README.md")

    assert "toolkit.execute(program" in first.source
    assert "#> " in first.source
    assert len(first.source.splitlines()) <= 40


@pytest.mark.security  # two processes with a sandbox each
def test_first_page_resumes_its_program_in_another_process(tmp_path: Path) -> None:
    """Its first block twice, then its second, each in a process of its own with the same functions."""
    first, second, *_ = (block.source for block in blocks(REPOSITORY / "README.md"))
    definitions = first.partition("program = ")[0]
    printed: list[str] = []
    for source in (first, first, definitions + second):
        command = [sys.executable, "-W", "error", "-c", source]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
        printed += done.stdout.splitlines()

    expected = [line.removeprefix("#> ") for line in f"{first}\n{second}".splitlines() if line.startswith("#> ")]
    assert len(expected) == 2
    assert printed == [expected[0], *expected]


def test_first_page_shows_how_to_connect_a_model(eval_example: EvalExample) -> None:
    """The page's `ask` takes any model; here one that answers with a program, and one that answers at once."""
    known: dict[str, object] = {}
    for block in blocks(REPOSITORY / "README.md")[:3]:
        known = run(block, known, eval_example)
    seen: list[tuple[str, str]] = []

    def writes_a_program(system: str, question: str) -> str:
        seen.append((system, question))
        return "Here it is:\n```python\nprint(orders_of('Ada')[1].total)\n```"

    def answers_at_once(system: str, question: str) -> str:
        return f"{question} Hello!"

    known |= {"writes_a_program": writes_a_program, "answers_at_once": answers_at_once}
    exec(
        "with Toolkit([orders_of]) as toolkit:\n"
        "    answers = [ask(toolkit, 'The last total?', writes_a_program), ask(toolkit, 'Hi!', answers_at_once)]",
        known,
    )

    [(system, question)] = seen
    assert "orders_of(customer: str) -> list[Order]" in system
    assert question == "The last total?"
    assert "240.0" in str(known["answers"])
    assert "Hi! Hello!" in str(known["answers"])
