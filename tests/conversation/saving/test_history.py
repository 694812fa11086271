import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import llm
from ez_ptc.conversation.saving.history import History
from ez_ptc.errors import HistoryError
from ez_ptc.messages import Answer, Entry, MessageRole, TextMessage, ToolCall, ToolResultMessage
from ez_ptc.providers.scripted import ScriptedProvider

_PROGRAM = """
import sys
from ez_ptc.conversation.saving.history import History
from ez_ptc.messages import TextMessage

path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
said = []
with History(path) as history:
    sys.stdin.readline()
    for number in range(count):
        history.save([TextMessage(f"{name} {number}")])
        said.append(TextMessage(f"{name} and {number}"))
        id = history.save(said, id="shared" if number == 0 else id)
print(id)
"""


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.db") as opened:
        yield opened


def _said(*texts: str) -> list[Entry]:
    return [TextMessage(text) for text in texts]


def get_weather(location: str) -> str:
    """Say what the weather is like."""
    return f"sunny in {location}"


async def test_loaded_conversation_sends_same_request(history: History, anyio_backend: str) -> None:
    first = ScriptedProvider(ToolCall("", "get_weather", {"location": "Paris"}), "Sunny.")
    _, saved = await llm().agent("Be short.").tool(get_weather).provider(first).prompt_conversation("Weather?")
    loaded = llm().tool(get_weather).continued(*history.load(history.save(saved)))
    assert loaded.entries == saved.entries
    asked: list[ScriptedProvider] = []
    for each in (saved, loaded):
        asked.append(ScriptedProvider("You are welcome."))
        await each.provider(asked[-1]).prompt_conversation("Thanks!")
    assert asked[0].prompts[0].entries == asked[1].prompts[0].entries


def test_the_file_is_created_on_first_use(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with History(path) as history:
        assert not path.exists()
        assert history.list() == ()
    assert path.exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with History(tmp_path / "history.db") as history:
            history.save(_said("secret"))
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"history.db": 0o600, "history.db-wal": 0o600, "history.db-shm": 0o600}


def test_a_history_in_memory_creates_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with History(":memory:") as history:
        assert history.load(history.save(_said("Hello"))) == tuple(_said("Hello"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_a_file_that_exists_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.touch()
    path.chmod(0o640)
    with (
        pytest.warns(UserWarning, match=r"other users may access .*history\.db \(mode 0640\)"),
        History(path) as history,
    ):
        history.save(_said("shared with a group"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


_LOOSE = "CREATE TABLE loose AS SELECT * FROM entries; DROP TABLE entries; ALTER TABLE loose RENAME TO entries"
_TAMPERED = {
    "text that is not JSON": "UPDATE entries SET json = 'no'",
    "text that is not UTF-8": "UPDATE entries SET json = CAST(x'ff' AS TEXT)",
    "bytes": f"{_LOOSE}; UPDATE entries SET json = x'00ff'",
    "a missing text": f"{_LOOSE}; UPDATE entries SET json = NULL",
    "another shape": """UPDATE entries SET json = '{"type": "text"}'""",
    "deep JSON": f"UPDATE entries SET json = '{'[' * 100_000}'",
    "a time that is out of range": "UPDATE conversations SET changed = 1e300",
    "a missing table": "DROP TABLE entries",
    "a missing column": "ALTER TABLE entries RENAME COLUMN json TO other",
}


@pytest.mark.parametrize("change", _TAMPERED.values(), ids=_TAMPERED)
def test_a_tampered_file_is_a_history_error(change: str, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with History(path) as history:
        known = history.save(_said("Hello"))
    database = sqlite3.connect(path)
    database.execute("PRAGMA foreign_keys = OFF")
    database.executescript(change)
    database.commit()
    database.close()
    with History(path) as history, pytest.raises(HistoryError) as caught:
        _ = history.load(known), history.list(), history.search("Hello")
    assert str(caught.value).isprintable()


def test_id_with_lone_surrogate_is_usable(history: History) -> None:
    known = history.save(_said("Hello"), id="a\ud83d")
    assert history.load("a\ud83d") == history.load(known) == tuple(_said("Hello"))
    history.delete("a\ud83d")
    with pytest.raises(HistoryError):
        history.load(known)


def test_continued_conversation_keeps_id_and_title(history: History) -> None:
    known = history.save(_said("  What is\n the time? ", "a"))
    assert history.save(_said("  What is\n the time? ", "a", "b"), id=known) == known
    assert history.save(_said("  What is\n the time? ", "a", "b"), id=known) == known
    (record,) = history.list()
    assert (record.id, record.title, record.messages) == (known, "What is the time?", 3)
    assert history.load(known) == tuple(_said("  What is\n the time? ", "a", "b"))


def test_a_title_may_be_given_and_stays(history: History) -> None:
    known = history.save(_said("a"), title="Mine", id="my-id")
    history.save(_said("a", "b"), id=known)
    assert [(each.id, each.title) for each in history.list()] == [("my-id", "Mine")]


@pytest.mark.parametrize(
    ("entries", "title"),
    [
        ([], "(no title)"),
        ([TextMessage("Be short.", role=MessageRole.SYSTEM), TextMessage(" "), TextMessage("Hello")], "Hello"),
        ([TextMessage("x" * 61)], f"{'x' * 59}…"),
        ([TextMessage("half \ud800")], "half \N{REPLACEMENT CHARACTER}"),
    ],
)
def test_the_title_is_the_first_question(entries: list[Entry], title: str, history: History) -> None:
    history.save(entries)
    assert [each.title for each in history.list()] == [title]


def test_diverging_conversation_gets_new_id(history: History) -> None:
    known = history.save(_said("a", "b"), title="First")
    other = history.save(_said("a", "c"), id=known)
    shorter = history.save(_said("a"), id=known)
    assert len({known, other, shorter}) == 3
    assert [history.load(each) for each in (known, other, shorter)] == [
        tuple(_said("a", "b")),
        tuple(_said("a", "c")),
        tuple(_said("a")),
    ]
    assert {each.title for each in history.list()} == {"First"}


@given(data=st.data())
def test_every_saved_entry_is_loaded(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    expected: dict[str, tuple[Entry, ...]] = {}
    with History(tmp_path_factory.mktemp("history") / "history.db") as history:
        for _ in range(data.draw(st.integers(1, 5))):
            entries = _said(*data.draw(st.lists(st.sampled_from("ab"), max_size=4)))
            known = history.save(entries, id=data.draw(st.sampled_from([None, "one", *expected])))
            assert expected.get(known, ()) == tuple(entries[: len(expected.get(known, ()))])
            expected[known] = tuple(entries)
        assert {each.id: history.load(each.id) for each in history.list()} == expected


def test_list_is_latest_first_and_limited(history: History) -> None:
    ids = [history.save(_said(text)) for text in "abc"]
    history.save(_said("a", "more"), id=ids[0])
    assert [each.id for each in history.list()] == [ids[0], ids[2], ids[1]]
    assert len(history.list(limit=2)) == 2
    assert history.list()[0].changed.tzinfo is not None


@pytest.fixture(params=["with an index", "without an index"])
def searched(request: pytest.FixtureRequest, history: History, monkeypatch: pytest.MonkeyPatch) -> History:
    """A history, with SQLite's index of texts and as it is where SQLite has none."""
    if request.param == "without an index":

        class WithoutIndex(sqlite3.Connection):
            def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
                if "fts5" in sql:
                    message = "no such module: fts5"
                    raise sqlite3.OperationalError(message)
                return super().execute(sql, *values)  # pyright: ignore[reportArgumentType] - as it is called here

        def connect(path: Path, **options: object) -> sqlite3.Connection:
            return WithoutIndex(path, **options)  # pyright: ignore[reportArgumentType] - as it is called here

        monkeypatch.setattr(sqlite3, "connect", connect)
    return history


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("weather", ["weather"]),
        ("WEATHER in PARIS", ["weather"]),
        ("eath", ["weather"]),
        ("sunny", ["weather"]),
        ("strasse", ["street"]),
        ("tokyo", []),
        ("in", ["street", "weather"]),
        ("東京", ["tokyo"]),
        ("100%", ["street"]),
        ("1%0", []),
        ("a_b", []),
        ('"quoted" OR', ["tokyo"]),
        ("my street", ["street"]),
        ("22", ["weather"]),
        ("", []),
        (" ", []),
        ("x" * 100_000, []),
        ("\0", []),
        ("\ud800", []),
    ],
)
def test_search_finds_conversations_by_words(text: str, found: list[str], searched: History) -> None:
    searched.save(_said('東京 is "quoted" OR not'), id="tokyo")
    answer = Answer(messages=(TextMessage("It is sunny.", role=MessageRole.ASSISTANT),))
    searched.save([*_said("Weather in Paris?"), answer, ToolResultMessage("1", {"temp": 22})], id="weather")
    searched.save(_said("in der Straße, 100% sure"), title="My Street", id="street")
    assert [each.id for each in searched.search(text)] == found
    assert [each.id for each in searched.search(text)] == found


def test_search_finds_later_saves(searched: History) -> None:
    searched.save(_said("first apple"), id="1")
    assert [each.id for each in searched.search("apple")] == ["1"]
    searched.save(_said("second apple"), id="2")
    assert [each.id for each in searched.search("apple")] == ["2", "1"]
    searched.delete("2")
    assert [each.id for each in searched.search("apple")] == ["1"]
    searched.save(_said("third pear"), id="3")
    assert [each.id for each in searched.search("apple")] == ["1"]


def test_a_deleted_conversation_is_gone(history: History) -> None:
    known = history.save(_said("a secret"))
    history.search("secret")
    history.delete(known)
    assert (history.list(), history.search("secret")) == ((), ())
    for act in (history.load, history.delete):
        with pytest.raises(HistoryError, match="has no conversation"):
            act(known)


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    path, count = tmp_path / "history.db", 20
    command = [sys.executable, "-c", _PROGRAM, str(path)]
    processes = [
        subprocess.Popen([*command, name, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ids = [process.communicate(timeout=60)[0].strip() for process in processes]
    with History(path) as history:
        assert [len(history.load(each)) for each in ids] == [count, count]
        assert len(history.list(limit=1000)) == 2 * count + 2
        assert "shared" in ids


def test_new_file_can_be_opened_concurrently(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    for number in range(60):
        begin = Barrier(3)

        def save(path: Path = tmp_path / f"{number}.db", begin: Barrier = begin) -> str:
            begin.wait(20)
            with History(path) as history:
                return history.save(_said("said"))

        with ThreadPoolExecutor(3) as threads:
            saved = [threads.submit(save) for _ in range(3)]
            assert len({each.result(60) for each in saved}) == 3


def test_threads_share_one_history(history: History) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as threads:
        ids = list(threads.map(history.save, [_said(str(number)) for number in range(20)], timeout=60))
    assert {each.id for each in history.list()} == set(ids)


@pytest.mark.parametrize("content", [b"only text, but enough of it", b"x", b"SQLite format 3\0" + b"x" * 1000])
def test_non_database_file_is_left_unchanged(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    path.chmod(0o600)
    with History(path) as history, pytest.raises(ValueError, match=r"notes\.txt is not a usable history"):
        history.list()
    assert path.read_bytes() == content


def test_foreign_database_is_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    path.touch(0o600)
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE things (name TEXT)")
    database.commit()
    database.close()
    before = path.read_bytes()
    with History(path) as history, pytest.raises(ValueError, match="it is another application's database"):
        history.save(_said("a"))
    assert path.read_bytes() == before


def test_newer_history_is_left_unchanged(history: History) -> None:
    history.save(_said("a"))
    history.close()
    database = sqlite3.connect(history.path)
    database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(ValueError, match="expected version 1, got 2"):
        history.list()


def test_unopenable_history_names_reason(tmp_path: Path) -> None:
    with (
        History(tmp_path / "missing" / "history.db") as history,
        pytest.raises(OSError, match="cannot open the history file"),
    ):
        history.list()


def test_a_closed_history_is_opened_again(history: History) -> None:
    known = history.save(_said("a"))
    history.close()
    history.close()
    assert history.load(known) == tuple(_said("a"))


def test_a_failed_save_leaves_nothing_behind(history: History) -> None:
    with pytest.raises(ValueError, match="cannot save"):
        history.save([TextMessage("a"), Answer(messages=(), content=object())])
    assert history.list() == ()
