"""`ez-ptc runs`: a journal file, the user's toolkit, and decisions from the command line."""

import json
import os
import pwd
import shlex
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.cli.app import main

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
COMMAND = [sys.executable, "-c", "import sys; from ez_ptc.cli.app import main; sys.exit(main())"]
TOOLS = """
    import os
    import signal
    from pathlib import Path
    from ez_ptc import Toolkit, ez_tool

    EFFECTS = Path(__file__).with_name("effects")

    @ez_tool(requires_approval=True)
    def refund(order: int, amount: float, note: str = "") -> str:
        '''Refund an order.'''
        with EFFECTS.open("a") as file:
            file.write(f"{order} {amount}\\n")
        return f"refunded {amount}"

    @ez_tool
    def pay(amount: int) -> int:
        '''Pay, and kill this process before anyone knows, the first time.'''
        with EFFECTS.open("a") as file:
            file.write(f"paid {amount}\\n")
        if len(EFFECTS.read_text().splitlines()) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return amount

    @ez_tool
    def double(number: int) -> int:
        '''Double a number.'''
        return 2 * number

    toolkit = Toolkit([refund, pay, double])
    other = Toolkit([double])
"""
ONE = "print(double(4))\nprint(refund(1, 2.0))"
TWO = "print(parallel(lambda: refund(1, 2.0), lambda: refund(2, 3.0)))"
UNPRINTABLE = "\x1b]0;pwned\x07\x1b[2J\r\u202e\x9b"


@ez_tool(requires_approval=True)
def refund_the_whole_order_again() -> None:
    """Refund an order."""


@dataclass
class Project:
    """The present folder, with the module `shop` and perhaps the journal `runs.db` in it."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Run a command line in this process; return its exit code and what it has printed."""
        self.capture.readouterr()
        code = main([*words])
        printed = self.capture.readouterr()
        return code, printed.out, printed.err

    def start(self, program: str, *options: str) -> tuple[int, str, str]:
        (self.folder / "program.py").write_text(program)
        return self("run", "program.py", "--tools", "shop:toolkit", "--journal", "runs.db", *options)

    def pause(self, program: str) -> str:
        """Start a program that pauses, and return its run's id."""
        code, output, errors = self.start(program, "--json")
        assert code == 3, output + errors
        run_id = json.loads(output)["run_id"]
        assert isinstance(run_id, str)
        return run_id

    def show(self, run_id: str) -> Any:  # noqa: ANN401 - any JSON
        code, output, _ = self("runs", "show", run_id, "--json")
        assert code == 0
        return json.loads(output)

    def effects(self) -> list[str]:
        path = self.folder / "effects"
        return path.read_text().splitlines() if path.exists() else []

    def in_process(self, *words: str, code: int = 0) -> str:
        """Run a command line in a process of its own; return what it has printed."""
        environment = {**os.environ, "PYTHONPATH": SOURCE}
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    def kill(self) -> str:
        """Let a process die within a call, and return the run's id."""
        (self.folder / "program.py").write_text("print(pay(3) + 1)")
        command = ("run", "program.py", "--tools", "shop:toolkit", "--journal", "runs.db")
        self.in_process(*command, code=-signal.SIGKILL)
        ((run),) = json.loads(self("runs", "list", "--state", "outcome_unknown", "--json")[1])
        return str(run["id"])


@pytest.fixture(scope="module")
def sandbox() -> Iterator[None]:
    """Keep the shared sandbox open from one command to the next."""
    with Toolkit([]) as toolkit:
        toolkit.execute("")
        yield


@pytest.fixture
def ez_ptc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sandbox: None
) -> Iterator[Project]:
    del sandbox
    (tmp_path / "shop.py").write_text(textwrap.dedent(TOOLS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("EZ_PTC_JOURNAL", raising=False)
    yield Project(tmp_path, capsys)
    sys.modules.pop("shop", None)


def test_printed_commands_approve_and_resume_run(ez_ptc: Project) -> None:
    code, output, errors = ez_ptc.start(ONE)
    assert (code, output) == (3, "8\n"), errors
    assert "Allow refund (2)?\n\n    order = 1\n    amount = 2.0\n" in errors
    approve, deny, resume = [shlex.split(line)[1:] for line in errors.splitlines() if "  ez-ptc runs" in line]
    assert (approve[1], deny[1], resume[1]) == ("approve", "deny", "resume")
    assert ez_ptc(*approve)[0] == 0
    assert not ez_ptc.effects()
    assert ez_ptc(*resume) == (0, "8\nrefunded 2.0\n", "")
    assert ez_ptc.effects() == ["1 2.0"]


def test_json_of_paused_run_has_commands(ez_ptc: Project) -> None:
    code, output, errors = ez_ptc.start(ONE, "--json")
    result = json.loads(output)
    assert (code, errors, result["status"]) == (3, "", "paused")
    (call,) = result["pending"]
    assert (call["tool"], call["arguments"]["order"], call["state"]) == ("refund", 1, "needs_approval")
    for command in (call["commands"][0], result["resume_command"]):
        code, output, _ = ez_ptc(*shlex.split(command)[1:])
        assert code == 0
    assert output == "8\nrefunded 2.0\n"


@pytest.mark.sampled(every=0)
def test_three_processes_share_one_journal(ez_ptc: Project) -> None:
    (ez_ptc.folder / "program.py").write_text(ONE)
    journal, tools = ("--journal", "runs.db"), ("--tools", "shop:toolkit")
    assert ez_ptc.in_process("run", "program.py", *tools, *journal, code=3) == "8\n"
    ((run),) = json.loads(ez_ptc.in_process("runs", "list", "--json"))
    edited = json.dumps({"order": 1, "amount": 1.5})
    ez_ptc.in_process("runs", "approve", run["id"][:8], "--arguments", edited)
    assert ez_ptc.in_process("runs", "resume", run["id"][:8], *tools) == "8\nrefunded 1.5\n"
    assert ez_ptc.effects() == ["1 1.5"]
    assert "complete and unchanged" in ez_ptc.in_process("runs", "verify")


def test_one_of_several_calls_has_to_be_named(ez_ptc: Project) -> None:
    run_id = ez_ptc.pause(TWO)
    paths = [call["path"] for call in ez_ptc.show(run_id)["pending"]]
    code, output, errors = ez_ptc("runs", "approve", run_id)
    assert (code, output) == (2, "")
    assert errors.startswith(f"ez-ptc: 2 calls of run {run_id} wait: name the position of one of refund ({paths[0]}), ")
    code, output, _ = ez_ptc("runs", "approve", run_id, paths[1])
    assert code == 0
    assert "waits for a decision about 1 call:" in output
    assert ez_ptc("runs", "approve", run_id, f"{run_id}:{paths[0]}")[0] == 0
    assert ez_ptc("runs", "resume", run_id, "--tools", "shop:toolkit")[0] == 0
    assert sorted(ez_ptc.effects()) == ["1 2.0", "2 3.0"]


def test_run_with_undecided_calls_pauses_again(ez_ptc: Project) -> None:
    run_id = ez_ptc.pause(ONE)
    code, _, errors = ez_ptc("runs", "resume", run_id, "--tools", "shop:toolkit")
    assert code == 3
    assert "Allow refund (2)?\n" in errors


def test_remembered_approval_covers_later_calls(ez_ptc: Project) -> None:
    run_id = ez_ptc.pause("refund(1, 1.0)\nrefund(2, 2.0)")
    assert ez_ptc("runs", "approve", run_id, "--remember")[0] == 0
    assert ez_ptc("runs", "resume", run_id, "--tools", "shop:toolkit", "--calls")[0] == 0
    assert ez_ptc.effects() == ["1 1.0", "2 2.0"]


def test_denied_call_fails_with_reason_and_name(ez_ptc: Project) -> None:
    run_id = ez_ptc.pause(ONE)
    assert ez_ptc("runs", "deny", run_id, "--reason", "-too much")[0] == 0
    code, _, errors = ez_ptc("runs", "resume", run_id, "--tools", "shop:toolkit")
    assert code == 1
    assert "-too much" in errors
    assert not ez_ptc.effects()
    name = pwd.getpwuid(os.getuid()).pw_name
    assert f"refund(1, 2.0), denied by {name} -> error: " in ez_ptc("runs", "show", run_id)[1]


def test_second_decision_names_the_first(ez_ptc: Project) -> None:
    run_id = ez_ptc.pause(ONE)
    assert ez_ptc("runs", "approve", run_id, "2")[0] == 0
    code, _, errors = ez_ptc("runs", "deny", run_id, "2")
    assert code == 2
    assert f"decided already: approve, by {pwd.getpwuid(os.getuid()).pw_name}, at " in errors
    assert "no call of run" in ez_ptc("runs", "deny", run_id)[2]


@pytest.mark.parametrize("option", ["--did-not-happen", "--happened=-7"])
@pytest.mark.sampled(every=3)
def test_unknown_outcome_is_settled(option: str, ez_ptc: Project) -> None:
    run_id = ez_ptc.kill()
    code, _, errors = ez_ptc("runs", "resume", run_id, "--tools", "shop:toolkit")
    assert code == 3
    assert "Did pay (1) take effect?\n" in errors
    assert ez_ptc("runs", "approve", run_id)[0] == 2
    assert ez_ptc("runs", "settle", run_id)[0] == 2
    assert ez_ptc("runs", "settle", run_id, option)[0] == 0
    code, output, _ = ez_ptc("runs", "resume", run_id, "--tools", "shop:toolkit")
    expected = ("4\n", 2) if option == "--did-not-happen" else ("-6\n", 1)
    assert (code, output, len(ez_ptc.effects())) == (0, *expected)


def test_finished_run_replays_without_effects(ez_ptc: Project) -> None:
    assert ez_ptc.start("print(double(2))")[0] == 0
    ((run),) = json.loads(ez_ptc("runs", "list", "--json")[1])
    code, output, errors = ez_ptc("runs", "replay", run["id"], "--tools", "shop:toolkit")
    assert (code, output) == (0, "4\n")
    assert "replays to its recorded result" in errors
    code, output, errors = ez_ptc("runs", "replay", run["id"], "--tools", "shop:other")
    assert (code, output) == (1, "")
    assert "this toolkit has none" in errors
    assert "is done already" in ez_ptc("runs", "resume", run["id"], "--tools", "shop:toolkit")[2]


def test_table_lists_latest_run_first(ez_ptc: Project) -> None:
    ez_ptc.start("print(double(2))")
    run_id = ez_ptc.pause(ONE)
    head, first, second = ez_ptc("runs", "list")[1].splitlines()
    assert head.split() == ["Run", "State", "Changed", "Waits", "Program"]
    assert first.split()[:2] == [run_id[:8], "paused"]
    assert "refund" in first
    assert second.split()[1] == "done"
    assert ez_ptc("runs", "list", "--state", "failed")[1] == "no runs in the state failed\n"


def test_run_is_shown_with_program_and_calls(ez_ptc: Project) -> None:
    run_id = ez_ptc.pause("\n" * 30 + ONE)
    shown = ez_ptc("runs", "show", run_id)[1]
    assert "… and 12 more lines" in shown
    assert "1: double(4) -> 8" in shown
    assert "| print(refund(1, 2.0))" in ez_ptc("runs", "show", run_id, "--full")[1]
    calls = ez_ptc.show(run_id)["calls"]
    assert [call["name"] for call in calls] == ["double", "refund"]


def test_export_prints_events_as_json_lines(ez_ptc: Project) -> None:
    run_id = ez_ptc.pause(ONE)
    events = [json.loads(line) for line in ez_ptc("runs", "export", run_id)[1].splitlines()]
    assert [event["kind"] for event in events] == ["start", "intent", "result", "pending", "pause"]


@pytest.mark.parametrize(
    "words", [("show",), ("show", "--full"), ("show", "--json"), ("export",), ("approve",), ("list",)]
)
def test_foreign_text_cannot_control_terminal(words: tuple[str, ...], ez_ptc: Project) -> None:
    program = f"note = {UNPRINTABLE!r}  # \x1b[2J\u202e\nprint(note)\nrefund(1, 2.0, note)"
    _, _, errors = ez_ptc.start(program)
    (run,) = json.loads(ez_ptc("runs", "list", "--json")[1])
    verb, *options = words
    code, output, _ = ez_ptc("runs", verb, *(() if verb == "list" else (run["id"],)), *options)
    assert code == 0
    for text in (output, errors):
        assert not [character for character in text if not character.isprintable() and character != "\n"]


def test_damaged_journal_is_reported(ez_ptc: Project) -> None:
    run_id = ez_ptc.pause(ONE)
    with sqlite3.connect("runs.db") as database:
        database.execute("UPDATE events SET path = '9' WHERE position = 2")
    database.close()
    assert f"{run_id[:8]}  damaged" in ez_ptc("runs", "list")[1]
    code, output, errors = ez_ptc("runs", "verify")
    assert (code, output, f"event 2 of run {run_id}" in errors) == (1, "", True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "zz"), "no run 'zz' in runs.db"),
        (("show", ""), "no run '' in runs.db"),
        (("approve", "{run}", "9"), "has no pending call"),
        (("approve", "{run}", "--arguments", "[1]"), "--arguments: expected a JSON object"),
        (("approve", "{run}", "--arguments", "{"), "--arguments: expected JSON, got '{'"),
        (("approve", "{run}", "--arguments", "[" * 100_000), "--arguments: expected JSON, got '[["),
        (("settle", "{run}"), "expected either --happened"),
        (("settle", "{run}", "--did-not-happen"), "use approve or deny"),
        (("settle", "{run}", "2", "--happened", "null"), "use approve or deny"),
        (("list", "--journal", "nope.db"), "no journal at nope.db: No such file"),
        (("list", "--journal", "shop.py"), "not a database"),
        (("resume", "{run}", "--tools", "shop:other"), "this toolkit has none"),
        (("replay", "{run}", "--tools", "shop:toolkit"), "has not ended"),
    ],
)
def test_wrong_command_is_explained(words: tuple[str, ...], message: str, ez_ptc: Project) -> None:
    run_id = ez_ptc.pause(ONE)
    code, output, errors = ez_ptc("runs", *(word.replace("{run}", run_id) for word in words))
    assert (code, output) == (2, "")
    assert errors.startswith("ez-ptc: ")
    assert message in errors
    assert not Path("nope.db").exists()


def test_ambiguous_id_is_refused(ez_ptc: Project) -> None:
    ids = sorted(ez_ptc.pause("refund(1, 2.0)") for _ in range(17))  # two of them begin with the same digit
    digits = [run_id[0] for run_id in ids]
    digit = next(digit for digit in digits if digits.count(digit) > 1)
    assert f"runs begin with '{digit}'" in ez_ptc("runs", "show", digit)[2]


def test_variable_names_the_journal(ez_ptc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = ez_ptc.pause(ONE)
    Path("runs.db").rename("others.db")
    monkeypatch.setenv("EZ_PTC_JOURNAL", "others.db")
    assert ez_ptc.show(run_id)["state"] == "paused"


def test_journal_is_copied_and_pruned(ez_ptc: Project) -> None:
    run_id = ez_ptc.pause(ONE)
    assert ez_ptc("runs", "backup", "copy.db")[:2] == (
        0,
        "backed up to copy.db: use it in place of the journal, never beside it\n",
    )
    assert "it exists" in ez_ptc("runs", "backup", "copy.db")[2]
    assert ez_ptc("runs", "abandon", run_id[:8], "--reason", "-no use")[0] == 0
    assert "-no use" in ez_ptc("runs", "show", run_id)[1]
    assert ez_ptc("runs", "abandon", run_id, "--reason", " ")[0] == 2
    assert ez_ptc("runs", "prune", "--days", "-1")[0] == 2
    assert ez_ptc("runs", "prune")[1] == "0 runs were removed\n"
    assert ez_ptc("runs", "prune", "--days", "0", "--state", "done")[1] == "0 runs were removed\n"
    assert ez_ptc("runs", "prune", "--days", "0")[1] == "1 run was removed\n"
    assert ez_ptc("runs", "list")[1] == "no runs\n"
    assert json.loads(ez_ptc("runs", "list", "--json", "--journal", "copy.db")[1])[0]["id"] == run_id


@pytest.mark.parametrize("columns", [20, 80])
def test_listed_ids_can_be_typed(columns: int, ez_ptc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    names = [f"order-of-the-third-customer-in-november-{number}" for number in range(3)]
    for name in names:
        with Toolkit([], journal="runs.db") as toolkit:
            toolkit.execute("1", run_id=name)
    _, *rows = ez_ptc("runs", "list", "--limit", "2")[1].splitlines()
    assert [row.split()[0] for row in rows[:2]] == [names[2], names[1]]
    assert rows[-1] == f"There may be earlier runs: add --before {names[1]}"
    assert ez_ptc("runs", "show", rows[0].split()[0])[0] == 0
    assert names[0] in ez_ptc("runs", "list", "--before", names[1])[1]
    assert "--limit: expected" in ez_ptc("runs", "list", "--limit", "0")[2]


@pytest.mark.parametrize("name", ["f3", "order-of-the-third-customer-in-november", "\u6ce8" * 30])
def test_state_and_what_waits_are_listed_whole(name: str, ez_ptc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = "refund_the_whole_order_again"
    with Toolkit([refund_the_whole_order_again], journal="runs.db") as toolkit:
        toolkit.execute(f"parallel({tool}, {tool})  # {'z' * 200}", run_id=name)
    for columns in (20, 60, 80, 160):
        monkeypatch.setenv("COLUMNS", str(columns))
        head, first, *others = ez_ptc("runs", "list")[1].splitlines()
        assert head.split()[:2] == ["Run", "State"]
        assert first.split()[:2] == [name, "paused"]
        begin, end = head.index("Waits"), f"{head}Program".index("Program")
        cells = [line[begin:end] for line in others]
        wide = 0 if name.isascii() else len(name)
        cells.insert(0, first[begin - wide : end - wide])
        assert "".join("".join(cells).split()) == f"{tool},{tool}"
        assert ("Changed" in head) == (columns > 80 or (columns > 50 and name == "f3"))
