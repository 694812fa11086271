"""The demo, whole: a scripted server or a recording in the model's place; everything else is real."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from examples.demo.questions import QUESTIONS
from examples.demo.recording import RECORDING, RecordedModel, Recording
from ez_ptc.cli.app import main
from ez_ptc.conversation.builder import llm
from ez_ptc.errors import ProviderError
from tests.providers.openai.chat_server import ChatServer

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")

ANSWERS = [answers[-1] for answers in Recording.load(RECORDING).answers.values()]
WIDE = "200"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing about models in the environment, and lines that are wide enough to be compared."""
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", WIDE)


def demo(server: ChatServer, *options: str) -> int:
    return main(["demo", "--base-url", server.url, *options])


def test_the_questions_are_answered_by_programs_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(*ANSWERS) as server:
        assert demo(server) == 0
    out = capsys.readouterr().out
    for question in QUESTIONS:
        assert question.text in out
    assert "for customer in customers:" in out
    assert "→ find_customers('Porto')  2 records" in out
    assert "Dmitri Petrov" in out
    assert "3 of 3 answers are correct." in out
    assert "RECORDED" not in out


def test_model_reads_the_toolkit_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(*ANSWERS) as server:
        demo(server)
    system, user = server.requests[0]["messages"]
    assert system["role"] == "system"
    assert "def find_customers(city: str)" in system["content"]
    assert "# Returns:" in system["content"]
    assert user == {"role": "user", "content": QUESTIONS[0].text}
    others = {name: value for name, value in server.requests[0].items() if name != "messages"}
    assert others == {"model": "scripted", "temperature": 0, "max_tokens": 800}
    assert capsys.readouterr().err == ""


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("```python\nprint(find_customers('Porto')[0]['town'])\n```", "town"),
        ("```python\nx = 1\n```", "printed nothing"),
        ("I cannot do that.", "There is no program in this answer"),
    ],
    ids=["it fails", "it does nothing", "it is no program"],
)
def test_failed_program_gets_one_retry(answer: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(answer, *ANSWERS) as server:
        assert demo(server) == 0
    *_, tried, reason = server.requests[1]["messages"]
    assert tried == {"role": "assistant", "content": answer}
    assert reason["role"] == "user"
    assert told in reason["content"]
    assert len(server.requests) == 4
    out = capsys.readouterr().out
    assert "it failed" in out
    assert "3 of 3 answers are correct." in out


def test_value_of_silent_program_is_its_answer() -> None:
    with ChatServer("```python\n('Dmitri Petrov', 1523.1)\n```", *ANSWERS[1:]) as server:
        assert demo(server) == 0
    assert len(server.requests) == 3


def test_second_failure_gives_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer("```python\n1/0\n```", "```python\n1/0\n```", *ANSWERS[1:]) as server:
        assert demo(server) == 1
    out = capsys.readouterr().out
    assert "no answer" in out
    assert "2 of 3 answers are correct." in out


def test_wrong_answer_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer("```python\nprint('Ben Okafor: 348.6')\n```", *ANSWERS[1:]) as server:
        assert demo(server) == 1
    out = capsys.readouterr().out
    assert "✘ wrong; the database says Dmitri Petrov: 1523.1" in out
    assert "2 of 3 answers are correct." in out


def test_the_usual_environment_variables_name_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(*ANSWERS, models=("small", "large")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_MODEL", "large")
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        assert main(["demo"]) == 0
    assert {request["model"] for request in server.requests} == {"large"}
    assert set(server.keys) == {"secret"}


def test_only_model_of_server_is_chosen() -> None:
    with ChatServer(*ANSWERS, models=("the one",)) as server:
        assert demo(server) == 0
    assert server.requests[0]["model"] == "the one"


@pytest.mark.parametrize(("models", "listed"), [(("b", "a"), "a, b"), ((), "none")])
def test_several_models_require_a_choice(
    models: tuple[str, ...], listed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(models=models) as server:
        assert demo(server) == 2
        assert f"choose a model with --model; {server.url} offers: {listed}" in capsys.readouterr().err


def test_failing_server_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer() as server:
        assert demo(server) == 2
    captured = capsys.readouterr()
    assert "no more replies" in captured.err
    assert "RECORDED" not in captured.out


def test_missing_engine_shows_announced_recording(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    before, label, after = out.partition("RECORDED RUN")
    assert label
    assert 'The model is not available: xllamacpp is not installed; install it with: pip install "xllamacpp==' in before
    assert "ez-ptc demo --base-url" in before
    assert '    pip install "openai>=3"' in before
    assert re.search(r'^    pip install .*"xllamacpp==', before, re.MULTILINE)
    assert "Qwen2.5-Coder-1.5B-Instruct (Q4_K_M) wrote the programs below on 20" in after
    assert "→ find_customers('Porto')  2 records" in after
    assert "3 of 3 answers are correct." in after


def test_unwritable_cache_shows_recorded_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    (tmp_path / "ez-ptc").write_text("a file where a folder is wanted")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "The model is not available" in out
    assert "RECORDED RUN" in out
    assert "Apache License 2.0" in out


def test_a_run_can_be_recorded(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    with ChatServer("I cannot.", *ANSWERS) as server:
        assert demo(server, "--record", str(record)) == 0
    recording = Recording.load(record)
    assert recording.model == "scripted"
    assert [len(answers) for answers in recording.answers.values()] == [2, 1, 1]
    recording = replace(recording, date="2026-01-31")
    recording.save(record)
    assert json.loads(record.read_text())["date"] == "2026-01-31"


def test_recording_answers_only_its_questions() -> None:
    model = RecordedModel(Recording("m", "2026-01-31", {"Why?": ["Because.", "So."]}))
    _, asked = llm().provider(model).agent("Be brief.").converse("Why?")
    assert asked.text == "Because."
    assert asked.prompt("Really?") == "So."
    with pytest.raises(ProviderError, match=r"no answer for attempt 1 of: What\?"):
        llm().provider(model).prompt("What?")
