"""The script of the pages in a real browser: decisions by the keyboard, whose page it is, and hostile text."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest

from ez_ptc import Context, Journal, Toolkit, ez_tool
from ez_ptc.view.run_page import run_page
from ez_ptc.view.runs import CallView, ProgramSpan, RunView
from tests.cli.viewing.browser import Browser, Tab, find_browser, running_browser
from tests.cli.viewing.serving import SECRET, Viewer, application_server, serving

# As a plain name, for type checkers know only that it marks parameters.
context: Any = Context
_PATH = find_browser()
pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(_PATH is None, reason="no browser: install chromium, or name one in EZ_PTC_BROWSER"),
]
# A click on what has just appeared is refused for a second.
_SETTLED = "new Promise((resolve) => setTimeout(resolve, 1100))"
_HOSTILE = "<script>window.stolen = 1</script></pre></main><img src=//evil.example onerror=stolen=1>\x1b[2J\u202e"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert _PATH is not None
    with running_browser(_PATH, tmp_path_factory.mktemp("profile")) as running:
        yield running


def shown(tab: Tab) -> Tab:
    """Wait for the contents of a served page."""
    tab.wait_for("document.querySelector('[data-person]')")
    return tab


def resume_in_another_process(viewer: Viewer, folder: Path) -> str:
    """Return what the run prints there."""
    program = (
        "import sys; from ez_ptc import Toolkit; from tests.cli.viewing.serving import refund\n"
        "with Toolkit([refund], journal=sys.argv[1]) as toolkit: print(toolkit.resume(sys.argv[2]).output, end='')"
    )
    command = [sys.executable, "-c", program, str(viewer.path), viewer.run_id]
    return subprocess.run(command, check=True, timeout=60, cwd=folder, stdout=subprocess.PIPE, text=True).stdout


def test_call_is_edited_and_approved_by_the_keyboard_alone(browser: Browser, tmp_path: Path, repository: Path) -> None:
    with serving(tmp_path) as viewer, browser.tab(viewer.address("Ada")) as tab:
        shown(tab)
        assert "token" not in tab.evaluate("location.href")
        tab.evaluate(_SETTLED)
        tab.tab_to("Edit …")
        tab.press("Enter")
        tab.press("Tab")
        tab.press("a", modifiers=2, commands=("selectAll",))
        for digit in "95":
            tab.press(digit)
        tab.press("Enter")
        tab.wait_for("document.querySelector('#status')?.textContent.startsWith('approve')")
        tab.wait_for("document.querySelector('h1')?.textContent.includes('can be resumed')")
        assert tab.evaluate("document.activeElement.tagName") == "H1"
        assert viewer.decisions()[0]["arguments"] == {"customer": SECRET, "amount": 95, "note": "aaa"}
        assert viewer.decisions()[0]["by"] == "Ada"
        assert tab.problems == []
        assert {address.split("/")[2] for address in tab.requests} == {f"127.0.0.1:{viewer.port}", ""} - {""}
    assert resume_in_another_process(viewer, repository) == "refunded 95\n"


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@ez_tool(requires_approval=True)
def book(  # noqa: PLR0913 - one of each
    day: date,
    color: Color,
    *,
    size: Literal["S", "M"] | None = None,
    urgent: bool | None = None,
    note: str | None = None,
    count: int | None = None,
    parts: list[dict[str, int]] | None = None,
    other: str | None = None,
    more: int | None = None,
) -> str:
    """Book a day."""
    return repr((day, color, size, urgent, note, count, parts, other, more))


# What a person does to a field, by its name: the kind of field that the form has for it, and its new text.
FIELDS = {
    "day": ("INPUT", "2026-03-04"),
    "color": ("SELECT", '"blue"'),
    "size": ("SELECT", '"M"'),
    "urgent": ("SELECT", "true"),
    "note": ("INPUT", 'say "no"'),
    "count": ("INPUT", "12345678901234567890"),
    "parts": ("TEXTAREA", '[{"a": 2}]'),
    "other": ("INPUT", ""),
    "more": ("INPUT", "7"),
}


def test_form_has_a_field_for_each_argument_by_its_schema(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Toolkit([book], journal=path) as toolkit:
        program = "print(book('2026-01-02', 'red', note='yes', count=3, parts=[{'a': 1}]))"
        run_id = str(toolkit.execute(program).run_id)
        with (
            Journal(path) as journal,
            application_server(journal) as viewer,
            browser.tab(replace(viewer, run_id=run_id).address("Ada")) as tab,
        ):
            shown(tab).evaluate(_SETTLED)
            tab.evaluate("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Edit …').click()")
            for name, (tag, text) in FIELDS.items():
                tab.evaluate(f"""(() => {{
                    const label = [...document.querySelectorAll("form label")].find((item) =>
                        item.querySelector("b").textContent === {name!r});
                    const input = label.querySelector("input,select,textarea");
                    if (input.tagName !== {tag!r}) throw new Error(input.tagName + " for {name}");
                    input.value = {json.dumps(text)};
                }})()""")
            tab.evaluate("document.querySelector('form .primary').click()")
            tab.wait_for("document.querySelector('#status')?.textContent.startsWith('approve')")
            assert tab.problems == []
        expected = (date(2026, 3, 4), Color.BLUE, "M", True, 'say "no"', 12345678901234567890, [{"a": 2}], None, 7)
        assert toolkit.resume(run_id).output == f"{expected!r}\n"


def test_click_on_what_has_just_appeared_decides_nothing(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as viewer, browser.tab(viewer.address("Ada")) as tab:
        shown(tab)
        tab.evaluate("document.querySelector('.question .primary').click()")
        assert "nothing was decided" in tab.evaluate("document.querySelector('#status').textContent")
        assert viewer.decisions() == []


def test_address_of_another_person_asks_first(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as viewer, browser.tab(viewer.address("Ada")) as own, browser.tab("about:blank") as other:
        shown(own)
        other.go(viewer.address("Bob"))
        other.wait_for("document.querySelector('h1')?.textContent === 'Who are you?'")
        assert SECRET not in other.evaluate("document.body.innerText")
        other.press("Enter")  # on what has the focus
        other.wait_for("document.querySelector('#token') && !document.querySelector('#token').hidden")
        own.evaluate(f"location.hash = '{viewer.address('Bob').partition('#')[2]}'")
        own.wait_for("document.querySelector('h1')?.textContent === 'Who are you?'")
        own.press("Enter")
        assert "You decide as Ada." in shown(own).evaluate("document.body.innerText")
        own.go("about:blank")
        own.go(viewer.address("Bob"))
        own.wait_for("document.querySelector('h1')?.textContent === 'Who are you?'")
        own.tab_to("Go on as Bob")
        own.press("Enter")
        assert "You decide as Bob." in shown(own).evaluate("document.body.innerText")
        assert own.problems == []


def test_bar_of_a_running_call_follows_its_reports(browser: Browser, tmp_path: Path) -> None:
    steps = [threading.Event(), threading.Event()]

    @ez_tool(name="index")
    def index_in_steps(folder: str) -> str:
        """Index a folder."""
        for number, step in enumerate(steps, 1):
            context.progress(number, 4, f"{folder} {number}")
            assert step.wait(60)
        return "all"

    with (
        serving(tmp_path) as viewer,
        ThreadPoolExecutor() as pool,
        Toolkit([index_in_steps], journal=viewer.path) as toolkit,
    ):
        result = pool.submit(toolkit.execute, "print(index('docs'))", run_id="bar")
        with browser.tab(viewer.address("Ada").replace(viewer.run_id, "bar")) as tab:
            for number, step in enumerate(steps, 1):
                tab.wait_for(f"document.querySelector('.calls progress')?.value === {number / 4}")
                assert f"{number} of 4: docs {number}" in tab.evaluate("document.querySelector('.calls').innerText")
                step.set()
            tab.wait_for("document.querySelector('.state.done')")
            assert tab.evaluate("document.querySelector('.calls progress')") is None
            assert tab.problems == []
        assert result.result(60).output == "all\n"


def test_hostile_program_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    program = f"print({_HOSTILE!r} + 'x' * 1_000_000)\nrefund({_HOSTILE!r}, 1, {_HOSTILE!r})"
    with serving(tmp_path, program=program) as viewer:
        with Journal(viewer.path) as journal:
            (tmp_path / "run.html").write_text(journal.run(viewer.run_id).to_html())
        for address in (viewer.address("Bob"), (tmp_path / "run.html").as_uri()):
            with browser.tab(address) as tab:
                check_hostile_text(tab)


def check_hostile_text(tab: Tab) -> None:
    """Check a page of the hostile program, with its first call open."""
    tab.wait_for("document.querySelector('.calls details')")
    tab.evaluate("document.querySelector('.calls details').open = true")
    tab.wait_for("document.querySelector('.calls .body')")
    assert tab.evaluate("typeof stolen") == "undefined"
    assert tab.evaluate("document.images.length") == 0
    text = tab.evaluate("document.body.innerText")
    assert "<script>window.stolen = 1</script></pre></main>" in text
    assert "x" * 1_000_000 in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert tab.problems == []
    assert not [address for address in tab.requests if "evil" in address]


def find_call(tab: Tab) -> None:
    """Search for the call before the last by the keyboard, and open it."""
    tab.wait_for("document.readyState === 'complete' && document.querySelector('#search')")
    tab.press("/")
    for character in "lamp 1199":
        tab.press(character)
    tab.wait_for("document.querySelector('#matches')?.textContent === '1 found'")
    tab.evaluate("document.querySelector('.calls details:not([hidden]) summary').focus()")
    tab.press("Enter")
    tab.wait_for("document.querySelector('.calls details[open] .body')")
    assert '"lamp 1199"' in tab.evaluate("document.querySelector('.calls details[open]').innerText")


def test_calls_open_and_are_found_at_both_widths(browser: Browser, tmp_path: Path) -> None:
    calls = tuple(
        CallView(str(n), "price_of", "done", {"product": f"lamp {n}"}, {"n": n}, line=1, started=n, ended=n + 0.5)
        for n in range(1, 1_201)
    )
    page = run_page(RunView("run", "done", "price_of()", 1.0, 2.0, calls, (ProgramSpan(1.0, 2_000.0, "me"),)))
    (tmp_path / "run.html").write_text(page)
    colors: set[str] = set()
    for width, scheme in ((1280, "light"), (400, "dark")):
        with browser.tab((tmp_path / "run.html").as_uri()) as tab:
            tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            find_call(tab)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            edges = "document.querySelector('.program {}').getBoundingClientRect().{}"
            assert tab.evaluate(edges.format("th", "right")) <= tab.evaluate(edges.format("td", "left"))
            colors.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert tab.problems == []
    assert len(colors) == 2


@pytest.mark.skipif("EZ_PTC_AXE" not in os.environ, reason="EZ_PTC_AXE has no path of axe.min.js: npm pack axe-core")
def test_axe_finds_no_violation(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as viewer, browser.tab(viewer.address("Ada")) as tab:
        shown(tab)
        tab.evaluate(_SETTLED)
        tab.evaluate("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Edit …').click()")
        tab.evaluate(Path(os.environ["EZ_PTC_AXE"]).read_text() + ";0")
        found = tab.evaluate("axe.run(document).then((result) => result.violations.map((item) => item.id))")
        assert found == []
