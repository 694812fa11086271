"""Kept results of sessions, of journals and of another process."""

from __future__ import annotations

from pathlib import Path

import pytest

from ez_ptc.toolkit.execution.results.scopes import ValueKeeper, kept_value
from ez_ptc.toolkit.toolkit import Toolkit
from tests.toolkit.execution.kept import counted, keep, pay, rows


@pytest.fixture(autouse=True)
def nothing_is_counted() -> None:
    counted.clear()


def test_session_reads_in_functions_of_earlier_programs() -> None:
    with Toolkit([rows]) as toolkit, toolkit.session() as session:
        keep(session.execute("def look(name):\n    return len(results[name])\nrows(7)"))
        session.execute("results")

        assert session.execute("look('r1'), [*results]").return_value == (7, ["r1"])
        assert session.execute("rows(2)[0].number").return_value == 0


def test_variable_of_a_session_does_not_hide_kept_results() -> None:
    with Toolkit([rows]) as toolkit, toolkit.session() as session:
        keep(session.execute("results = rows(7)\nresults"))
        assert session.execute("results[0].number").return_value == 0
        assert session.execute("len(results), len(results['r1'])").return_value == (1, 7)
        assert session.execute("results = {'r1': 2}\nresults['r1']").return_value == 2
        assert session.execute("results['r1']").return_value == 2


def test_ended_session_takes_its_names_with_it() -> None:
    with Toolkit([rows]) as toolkit:
        with toolkit.session() as session:
            keep(session.execute("rows(7)"))
        assert toolkit.kept_results.used_bytes > 0
        del session
        with toolkit.session() as session:
            assert not session.execute("results['r1']").success
    assert toolkit.kept_results.used_bytes == 0


def test_resumed_run_sees_the_same_names_and_values(tmp_path: Path) -> None:
    with Toolkit([rows, pay], journal=tmp_path / "runs.db") as toolkit:
        name = keep(toolkit.execute("rows(5)"))
        other = keep(toolkit.execute("rows(6)"))
        program = (
            f"before = len(results['{name}']), [*results]\npay()\n"
            f"before, len(results['{name}']), len(results['{other}']), read_result('{name}', 0, 3)"
        )
        paused = toolkit.execute(program)
        assert paused.status == "paused"
    with Toolkit([rows, pay], journal=tmp_path / "runs.db") as toolkit:
        result = toolkit.resume(paused.run_id or "", {paused.pending[0].id: True})
        assert result.return_value == ((5, [name, other]), 5, 6, '[{"')
        assert [call["name"] for call in result.tool_calls] == ["pay"]
        assert toolkit.replay(result.run_id or "").return_value == result.return_value
        recorded = toolkit.find_result(result.run_id or "")
        assert recorded is not None
        assert [call["name"] for call in recorded.tool_calls] == ["pay"]
    assert counted == [5, 6]


def test_another_process_reads_results_of_the_journal(tmp_path: Path) -> None:
    with Toolkit([rows], journal=tmp_path / "runs.db") as toolkit:
        result = toolkit.execute("print('x' * 100)\nrows(5)", principal="ada")
        names = [keep(result), keep(result, result.output)]
        failed = toolkit.execute("print(1)\nraise ValueError('y' * 100)", principal="ada")
        names.append(keep(failed, failed.error_output))
    with Toolkit([rows], journal=tmp_path / "runs.db") as toolkit:
        program = f"[len(results[name]) for name in {names!r}]"
        assert toolkit.execute(program, principal="ada").return_value == [5, 101, len(failed.error_output)]
        assert not toolkit.execute(program, principal="eve").success


def test_another_process_reads_results_of_a_session(tmp_path: Path) -> None:
    with Toolkit([rows, pay], journal=tmp_path / "runs.db") as toolkit, toolkit.session() as session:
        first = keep(session.execute("rows(5)"))
        paused = session.execute(f"pay()\nlen(results['{first}'])")
        id_ = session.id
    with Toolkit([rows, pay], journal=tmp_path / "runs.db") as toolkit:
        assert toolkit.resume(paused.run_id or "", {paused.pending[0].id: True}).return_value == 5
        with toolkit.session(id_) as session:
            second = session.execute("print('y' * 100)")
            last = keep(second, second.output)
    with Toolkit([rows, pay], journal=tmp_path / "runs.db") as toolkit, toolkit.session(id_) as session:
        assert session.execute(f"len(results['{first}']), len(results['{last}'])").return_value == (5, 101)
        assert not session.execute("results['r99']").success
    assert counted == [5]


PROGRAMS = {
    "a failure with output": "print('o' * 50_000)\nraise ValueError('v' * 50_000)",
    "a failure": "raise ValueError('v' * 50_000)",
    "a correction": "import sys\nprint('e' * 50_000, file=sys.stderr)\nprint('p' * 50_000)",
    "texts but for spaces": "print('s' * 50_000)\n'  ' + 's' * 50_000 + '  '",
    "a value": "[7] * 40_000",
    "a pause": "print('w' * 50_000)\npay()\nprint('z' * 50_000)",
}


def test_name_of_a_session_means_one_value_in_every_process(tmp_path: Path) -> None:
    """Other values than those of the record, such as the text of a failure, have names that mean nothing elsewhere."""
    values: dict[str, object] = {}
    with Toolkit([rows, pay], journal=tmp_path / "runs.db") as toolkit, toolkit.session() as session:
        for program in PROGRAMS.values():
            result = session.execute(program)
            while True:
                toolkit.answer(program, result)
                result.value_text()
                assert isinstance(result.keeper, ValueKeeper)
                for name, kept in result.keeper.kept.items():
                    assert name not in values or name == "r6"  # the output of a program that has paused grows
                    values[name] = kept_value(kept.kind, kept.read())
                if result.status != "paused":
                    break
                result = session.resume({result.pending[0].id: True})
        id_ = session.id
    assert values["r4v"] == "  " + "s" * 50_000 + "  "
    assert {"r1", "r3", "r4", "r5v", "r6"} < values.keys()
    with Toolkit([rows, pay], journal=tmp_path / "runs.db") as toolkit, toolkit.session(id_) as session:
        for name, value in values.items():
            read = session.execute(f"results['{name}']", after=None)
            assert read.success == (not name.endswith("x"))
            assert read.return_value == (value if read.success else None)


@pytest.mark.security
def test_evicted_result_of_the_folder_is_read(tmp_path: Path) -> None:
    with Toolkit([rows], spill=tmp_path / "spill") as toolkit:
        names = [keep(toolkit.execute("1"), character * (10 << 20)) for character in "abcdefgh"]
        result = toolkit.execute(f"[read_result(name, 5, 2) for name in {names!r}]")

    assert result.return_value == [character * 2 for character in "abcdefgh"]
    assert len(list((tmp_path / "spill").iterdir())) == 2


@pytest.mark.security
def test_evicted_result_names_what_made_it() -> None:
    with Toolkit([rows]) as toolkit:
        names = [keep(toolkit.execute("1"), character * (10 << 20)) for character in "abcdefgh"]
        errors = [toolkit.execute(f"read_result('{name}', 5, 2)").error or "" for name in names]

    assert ["the result of the program no longer exists" in error for error in errors] == [True] * 2 + [False] * 6
