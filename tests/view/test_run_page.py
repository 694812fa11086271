"""The page of a run: everything foreign is text within a bound, and nothing else than our script may run."""

import base64
import hashlib
import html
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ez_ptc import Approve, Deny, ImageMessage, Journal, JournalError, Toolkit, ez_tool
from ez_ptc.journal.run import Run
from ez_ptc.view.calls import MAX_FORMS, draw_questions
from ez_ptc.view.markup import draw_pictures, moment_text
from ez_ptc.view.run_page import run_page
from ez_ptc.view.runs import AttemptView, CallView, ProgramSpan, ProgressView, RunView, SessionEntry

_HOSTILE = {
    "a script": "<script>alert(1)</script>",
    "closing tags": "</pre></td></table></main></body></html><img src=x onerror=alert(1)>",
    "a closed attribute": '" onmouseover="alert(1)" x=\'',
    "a terminal escape": "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f",
    "bidi characters": "\u202egnp.exe\u2066 \u200b\ufeff\U000e0041",
    "a comment": "<!-- --><![CDATA[ ]]>&lt;&#60;&amp;",
    "lone surrogates": "\ud800 \udfff",
    "a long line": "<b>" * 10_000,
}
_VOID = {"meta", "img", "link"}
_OURS = """
main header section article details summary svg rect line table caption tbody tr th td h1 h2 dl div dt dd p pre code a b
i time span progress img html head body meta title style script label input output small ol li button ins del link
"""


class _Reader(HTMLParser):
    """Collects the elements and the text of a page, as a browser reads them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}
        self.texts += [value or "" for _, value in attrs]
        if tag not in _VOID | {"input"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.scripts if self.open[-1:] and self.open[-1] in {"script", "style"} else self.texts).append(data)


def read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


@ez_tool
def price_of(product: str) -> float:
    """Look up a price."""
    if product == "none":
        raise LookupError(product)
    return 39.5


@ez_tool(requires_approval=True)
def refund(customer: str, amount: float) -> str:
    """Refund a customer."""
    return "refunded"


def page_of(toolkit: Toolkit, program: str, path: Path) -> str:
    result = toolkit.execute(program)
    assert result.run_id is not None
    with Journal(path) as journal:
        return journal.run(result.run_id).to_html()


def everywhere(text: str) -> RunView:
    """Return a run with the same text in each place where a program, a tool, a model or a person may write."""
    reported = ProgressView(1, 2, text, 3.0)
    call = CallView(
        "1", text, "failed", {text: [text, {text: text}]}, text, text, 1, 1.0, 2.0, question=text, progress=reported
    )
    running = CallView("4", text, "running", None, line=1, started=1.0, progress=reported)
    waiting = CallView("2", text, "needs_approval", {text: text}, question=text, schema={"properties": {text: text}})
    done = CallView("3", text, "done", {"a": text}, {text: text})
    return RunView(
        id=text,
        state=text,
        program=text,
        created=1.0,
        changed=2.0,
        calls=(call, waiting, done, running),
        spans=(ProgramSpan(1.0, 2.0, text),),
        session=text,
        attempts=(AttemptView("other", text, text, text), AttemptView(text, text, f"{text}\n{text}", text)),
        entries=(SessionEntry("other", text, text), SessionEntry(text, text, text)),
        principal=text,
        owner=text,
        output=text,
        error_output=text,
        error=text,
        error_line=1,
        has_value=True,
        value={text: text},
        events=3,
        head=text,
    )


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_text_stays_text_everywhere(name: str) -> None:
    page = run_page(everywhere(_HOSTILE[name]))
    reader = read(page)
    assert set(reader.tags) <= set(_OURS.split())
    assert not {name for name in reader.names if name.startswith("on") or name == "style"}
    assert len(reader.scripts) == 2
    page.encode()  # no lone surrogates


@pytest.mark.parametrize("name", ["a terminal escape", "bidi characters", "lone surrogates"])
def test_control_characters_are_visible(name: str) -> None:
    text = "".join(read(run_page(everywhere(_HOSTILE[name]))).texts)
    assert not {character for character in text if not character.isprintable()} - {"\n"}
    assert re.search(r"\\x1b|\\u202e|\\ud800", text)


def test_page_allows_our_script_alone() -> None:
    page = run_page(everywhere("text"))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    style, script = read(page).scripts
    for rule, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_printed_megabyte_is_shown_and_more_is_counted() -> None:
    for length in (1_000_000, 5_000_000):
        page = run_page(RunView("run", "done", "print()", 1.0, 2.0, output="<" * length))
        assert page.count("&lt;") == min(length, 2_000_000)
        assert ("3,000,000 characters are not shown here" in page) is (length > 2_000_000)


def test_calls_stand_beside_their_lines(tmp_path: Path) -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor

def price(name):
    return price_of(name)

price("lamp")
with ThreadPoolExecutor(2) as pool:
    list(pool.map(price_of, ["a", "b"]))
print(parallel((price_of, "c"), (price, "d")))
async def main():
    price_of("e")
await main()
"""
    with Toolkit([price_of], journal=tmp_path / "runs.db") as toolkit:
        page = page_of(toolkit, program, tmp_path / "runs.db")
    lines = dict(re.findall(r'<details id="c-([\d.]+)" class="done" data-line="(\d+)"', page))
    assert sorted(lines.values()) == ["10", "12", "5", "5", "9", "9"]
    assert [*lines] == sorted(lines, key=lambda path: [*map(int, path.split("."))])  # whatever order they arrived in
    rows = re.findall(r'<tr id="L(\d+)">(.*?)</tr>', page)
    chips = {int(number): row.count('class="chip done"') for number, row in rows}
    assert {number: count for number, count in chips.items() if count} == {5: 2, 9: 2, 10: 1, 12: 1}


def test_error_names_its_line(tmp_path: Path) -> None:
    program = """import sys
print('  File "<program>", line 1', file=sys.stderr)
def f():
    raise ValueError('first\\n  File "<program>", line 1, in forged')
f()
"""
    with Toolkit([price_of], journal=tmp_path / "runs.db") as toolkit:
        page = page_of(toolkit, program, tmp_path / "runs.db")
    assert re.findall(r'class="wrong" id="L(\d+)"', page) == ["4"]


def test_decisions_say_who_when_and_why(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Toolkit([price_of, refund], journal=path) as toolkit:
        paused = toolkit.execute("print(refund('Ada', 1))\ntry:\n    refund('Bob', 2)\nexcept NotApprovedError: pass")
        run_id = str(paused.run_id)
        with Journal(path) as journal:
            page = journal.run(run_id).to_html()
            assert "1 call waits for a person" in page
            assert "Allow refund (1)?" in page
            edited = Approve({"customer": "Ada", "amount": 9}, by="Eve")
            paused = toolkit.resume(run_id, {paused.pending[0].id: edited})
            toolkit.resume(run_id, {paused.pending[0].id: Deny("too much", by="Mallory")})
            page = html.unescape(journal.run(run_id).to_html())
            asked = [event.time for event in journal.events(run_id) if event.kind == "pending"]
    assert re.search(r"approved with other arguments by Eve, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", page)
    assert re.search(r"denied by Mallory, .* UTC: too much", page)
    assert 'data-edited="{"customer":"Ada","amount":9}"' in page
    questions = re.findall(r'data-question="(.*?)"><summary>', page, re.DOTALL)
    for question, name, amount, moment in zip(questions, ("Ada", "Bob"), (1, 2), asked, strict=True):
        assert question.startswith(f"{moment_text(moment)}\n\nAllow refund (")
        assert question.endswith(f'customer = "{name}"\n    amount = {amount}.0')


def test_session_is_a_sequence(tmp_path: Path) -> None:
    with Toolkit([price_of], journal=tmp_path / "runs.db") as toolkit, toolkit.session() as session:
        first = session.execute("a = price_of('lamp')")
        session.execute("print(a)")
        with Journal(tmp_path / "runs.db") as journal:
            page = html.unescape(journal.run(str(first.run_id)).to_html())
    assert page.index("a = price_of('lamp')</code> done, this run") < page.index("print(a)</code> done")


@pytest.mark.security
def test_many_calls_make_a_small_page() -> None:
    calls = tuple(
        CallView(str(n), "price_of", "done", {"product": "x" * 500}, "y" * 500, line=1, started=n, ended=n + 0.5)
        for n in range(1, 10_001)
    )
    page = run_page(RunView("run", "done", "price_of()", 1.0, 2.0, calls, (ProgramSpan(1.0, 20_000.0, "me"),)))
    assert len(page) < 20_000_000
    assert page.count("<") < 12_000  # elements, and their ends


def test_rows_of_many_long_calls_are_whole() -> None:
    text = " onclick=alert(1) class=question" * 200
    calls = tuple(CallView(str(n), "send", "done", {"text": text}, text) for n in range(1_100))
    page = read(run_page(RunView("run", "done", "send()", 1.0, 2.0, calls)))
    rows = [read(value) for value in page.texts if value.startswith("<details")]
    assert [len(row.tags) for row in rows] == [500 * 6, 100 * 6]
    for reader in (page, *rows):
        assert not {name for name in reader.names if name.startswith("on")}
        assert "question" not in reader.texts


def test_large_picture_is_whole() -> None:
    data = bytes(3 << 20)
    (source,) = re.findall(
        r'<img src="data:image/png;base64,([^"]+)" alt="picture 1">', draw_pictures([ImageMessage(data)])
    )
    assert base64.b64decode(source) == data


def test_run_made_by_hand_has_no_page() -> None:
    run = Run("1", "done", (), "", datetime.now(UTC), datetime.now(UTC))
    with pytest.raises(JournalError, match="has no record"):
        run.to_html()


def test_forms_of_many_waiting_calls_have_a_bound_together() -> None:
    arguments = {"text": '"' * 100_000}
    calls = [CallView(str(n), "send", "needs_approval", arguments, question="send?") for n in range(1, 51)]
    drawn = draw_questions("run", calls)
    assert len(drawn) < 2 * MAX_FORMS
    assert drawn.count("send?") == 50
    assert 0 < drawn.count("data-form") < 50


def test_page_has_the_source_that_ran_and_what_was_repaired(tmp_path: Path) -> None:
    with Toolkit([price_of], journal=tmp_path / "runs.db") as toolkit:
        result = toolkit.execute("Here it is:\n```python\nx = price_of('a')\nprint(x)\n```")
        page = toolkit.open_journal().run(str(result.run_id)).to_html()
    assert "only its code block was read" in page
    row = page.partition('id="L1"')[2].partition("</tr>")[0]
    assert "x = price_of(" in row
    assert "chip done" in row
