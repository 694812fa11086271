"""Arguments marked secret are in no record, and are what runs all the same."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel, SecretBytes, SecretStr

from ez_ptc import (
    Approve,
    ContinuationError,
    DecisionError,
    Deny,
    Journal,
    JournalError,
    PendingCall,
    ReplayDivergedError,
    Sensitive,
    Tool,
    Toolkit,
    ez_tool,
)
from ez_ptc.journal.arguments.sealing import Seal
from ez_ptc.sandbox.protocol.frames import CallFrame
from ez_ptc.schema.sensitive import SecretArguments

_SECRET = "hunter2-sesame"
_TOKEN = "'-'.join(['hunter2', 'sesame'])"  # not in the text of a program
_MASK = "**********"
_KEY = r"runs\.db-key"

_used: list[Any] = []


class _Card(BaseModel):
    number: SecretStr
    holder: str
    pin: Annotated[str, Sensitive] = "0000"


@pytest.fixture(autouse=True)
def used() -> list[Any]:
    _used.clear()
    return _used


@ez_tool(requires_approval=True)
def pay(token: SecretStr, amount: float) -> str:
    """Pay."""
    _used.append((token.get_secret_value(), amount))
    return "paid"


@ez_tool(requires_approval=True)
def send(password: Annotated[str, Sensitive], to: str = "Ada") -> str:
    """Send."""
    _used.append((password, to))
    return "sent"


@ez_tool(requires_approval=True)
def sign(key: SecretBytes, amount: int = 1) -> str:
    """Sign."""
    _used.append((key.get_secret_value(), amount))
    return "signed"


@ez_tool(requires_approval=True)
def charge(card: _Card, amount: float) -> str:
    """Charge."""
    _used.append((card.number.get_secret_value(), card.holder, amount))
    return "charged"


_TOOLS = [pay, send, sign, charge]
_CALLS = {
    "pay": f"pay({_TOKEN}, 5)",
    "pay by name": f"pay(amount=5, token={_TOKEN})",
    "send": f"send({_TOKEN})",
    "send long": f"send({_TOKEN} * 1000)",
    "sign": f"sign({_TOKEN}.encode())",
    "charge": f"charge({{'number': {_TOKEN}, 'holder': 'Ada', 'pin': {_TOKEN}}}, 5)",
}


def _is_stored(folder: Path) -> bool:
    """Return whether the secret is in any file, in any of its usual spellings."""
    spellings = [_SECRET.encode(), _SECRET.encode().hex().encode(), b"aHVudGVyMi1zZXNhbW"]
    files = [path for path in folder.iterdir() if path.is_file()]
    return any(spelling in path.read_bytes() for path in files for spelling in spellings)


@pytest.mark.parametrize("call", _CALLS.values(), ids=_CALLS)
def test_paused_secret_is_not_stored_and_runs(call: str, tmp_path: Path, used: list[Any]) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit(_TOOLS, journal=journal) as toolkit:
        paused = toolkit.execute(f"print({call})")
        assert paused.status == "paused"
        assert paused.run_id is not None
        (pending,) = journal.run(paused.run_id).pending
        assert _MASK in str(pending.arguments)
        assert _SECRET not in "".join(journal.export(paused.run_id)) + repr(journal.run(paused.run_id).result)
        assert not _is_stored(tmp_path)
    with Journal(tmp_path / "runs.db") as journal, Toolkit(_TOOLS, journal=journal) as toolkit:
        journal.decide(paused.run_id, {pending.id: True})
        assert toolkit.resume(paused.run_id).success
        assert _SECRET in str(used)
        assert toolkit.replay(paused.run_id).success
        assert len(used) == 1
        assert journal.verify() == 1
        assert not _is_stored(tmp_path)
    assert not _is_stored(tmp_path)


def test_visible_part_of_a_record_is_shown(tmp_path: Path) -> None:
    with Toolkit(_TOOLS, journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute(_CALLS["charge"])
    assert paused.pending[0].arguments == {"card": {"number": _MASK, "holder": "Ada", "pin": _MASK}, "amount": 5.0}


def test_digests_are_equal_for_the_same_secret_only() -> None:
    def sealed(value: str, *, key: bytes = b"key", run: str = "run", path: str = "1") -> CallFrame:
        tools = {"send": cast("Any", send).definition}
        return Seal(run, key, tools).apply(CallFrame(1, path, "send", (value,), {"to": "Eve"}, alone=True))

    assert sealed("a") == sealed("a")
    assert sealed("a").kwargs == {"to": "Eve"}
    others = [sealed("b"), sealed("a", key=b"other"), sealed("a", run="other"), sealed("a", path="2")]
    assert len({str(call.args) for call in (sealed("a"), *others)}) == 5


def test_equal_secrets_have_different_digests(tmp_path: Path) -> None:
    program = f"token = {_TOKEN}\nparallel(*[lambda: send(token)] * 2, lambda: send(token, token))"
    with Journal(tmp_path / "runs.db") as journal, Toolkit(_TOOLS, journal=journal) as toolkit:
        events = [
            event
            for _ in range(2)
            for event in journal.events(toolkit.execute(program).run_id or "")
            if event.kind == "pending"
        ]
    payloads = [event.payload for event in events]
    assert len(payloads) == len(set(payloads)) == 6


def test_short_secret_cannot_be_guessed_from_the_journal(tmp_path: Path) -> None:
    """With the journal alone, each of all values is as likely: the digest is made with a key."""
    payloads: list[bytes | None] = []
    for name in "ab":
        (tmp_path / name).mkdir()
        with Journal(tmp_path / name / "runs.db") as journal, Toolkit(_TOOLS, journal=journal) as toolkit:
            toolkit.execute("send(str(7))", run_id="same", principal="Ada")
            payloads += [event.payload for event in journal.events("same") if event.kind == "pending"]
            assert journal.path.with_name("runs.db-key").stat().st_mode & 0o777 == 0o600
    assert len(set(payloads)) == 2


@pytest.mark.parametrize("change", ["deleted", "other", "short"])
def test_run_without_its_key_is_denied_but_not_resumed(change: str, tmp_path: Path, used: list[Any]) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit(_TOOLS, journal=journal) as toolkit:
        paused = toolkit.execute(_CALLS["pay"])
    assert paused.run_id is not None
    key = tmp_path / "runs.db-key"
    kept = key.read_bytes()
    match change:
        case "deleted":
            key.unlink()
        case "other":
            key.write_bytes(bytes(len(kept)))
        case _:
            key.write_bytes(kept[:7])
    with Journal(tmp_path / "runs.db") as journal, Toolkit(_TOOLS, journal=journal) as toolkit:
        for decisions in ({paused.pending[0].id: True}, None):
            with pytest.raises(JournalError, match=_KEY):
                toolkit.resume(paused.run_id, decisions)
        journal.decide(paused.run_id, {paused.pending[0].id: Deny("no")})
        with pytest.raises(JournalError, match=_KEY):
            toolkit.resume(paused.run_id)
        if change == "deleted":  # a new one is made for new runs
            assert toolkit.execute(_CALLS["pay"]).status == "paused"
            with pytest.raises(JournalError, match=_KEY):
                toolkit.resume(paused.run_id)
        assert not used
        key.write_bytes(kept)
        assert toolkit.resume(paused.run_id).status == "failed"
    assert not used


def test_copied_journal_needs_its_key(tmp_path: Path, used: list[Any]) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit(_TOOLS, journal=journal) as toolkit:
        paused = toolkit.execute(_CALLS["pay"])
        (tmp_path / "copy").mkdir()
        journal.backup(tmp_path / "copy" / "runs.db")
    assert paused.run_id is not None
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["runs.db"]
    with Toolkit(_TOOLS, journal=tmp_path / "copy" / "runs.db") as toolkit:
        with pytest.raises(JournalError, match=_KEY):
            toolkit.resume(paused.run_id, {paused.pending[0].id: True})
        shutil.copy(tmp_path / "runs.db-key", tmp_path / "copy" / "runs.db-key")
        assert toolkit.resume(paused.run_id, {paused.pending[0].id: True}).success
    assert used == [(_SECRET, 5.0)]


def test_edit_beside_the_secret_keeps_the_secret(tmp_path: Path, used: list[Any]) -> None:
    with Toolkit(_TOOLS, journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute(_CALLS["pay"])
        assert paused.run_id is not None
        call = paused.pending[0]
        assert toolkit.resume(paused.run_id, {call.id: Approve({**call.arguments, "amount": 3})}).success
    assert used == [(_SECRET, 3.0)]
    assert not _is_stored(tmp_path)


@pytest.mark.parametrize("call", ["pay", "send", "sign"])
def test_edited_secret_is_refused_and_not_stored(call: str, tmp_path: Path, used: list[Any]) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit(_TOOLS, journal=journal) as toolkit:
        paused = toolkit.execute(_CALLS[call])
        assert paused.run_id is not None
        pending = paused.pending[0]
        name = next(name for name, value in pending.arguments.items() if value == _MASK)
        edit = {pending.id: Approve({**pending.arguments, name: _SECRET})}
        with pytest.raises(DecisionError, match=name):
            journal.decide(paused.run_id, edit)
        with pytest.raises(DecisionError, match=name):
            toolkit.resume(paused.run_id, edit)
        assert toolkit.resume(paused.run_id, {pending.id: True}).success
    assert len(used) == 1
    assert not _is_stored(tmp_path)


def test_part_of_a_record_with_a_secret_is_not_edited(tmp_path: Path, used: list[Any]) -> None:
    with Toolkit(_TOOLS, journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute(_CALLS["charge"])
        assert paused.run_id is not None
        call = paused.pending[0]
        card = {**call.arguments["card"], "holder": "Eve"}
        with pytest.raises(DecisionError, match="card"):
            toolkit.resume(paused.run_id, {call.id: Approve({**call.arguments, "card": card})})
    assert not used


@pytest.mark.parametrize("has_journal", [False, True])
def test_approver_never_runs_a_mask(has_journal: bool, tmp_path: Path, used: list[Any]) -> None:
    def approve(call: PendingCall) -> bool:
        call.arguments["card"]["holder"] = "Eve"
        return True

    journal = tmp_path / "runs.db" if has_journal else None
    with Toolkit(_TOOLS, journal=journal, approve=approve) as toolkit:
        assert not toolkit.execute(_CALLS["charge"]).success
    assert not used


def test_secret_of_an_approver_is_not_stored(tmp_path: Path, used: list[Any]) -> None:
    def approve(call: PendingCall) -> Approve:
        return Approve({**call.arguments, "token": _SECRET})

    with Toolkit(_TOOLS, journal=tmp_path / "runs.db", approve=approve) as toolkit:
        result = toolkit.execute("pay('other', 5)")
    assert "token" in (result.error or "")
    assert not used
    assert not _is_stored(tmp_path)


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("is_same_process", [False, True])
def test_correction_does_not_repeat_a_call_with_a_secret(
    is_same_process: bool, by_name: bool, tmp_path: Path, used: list[Any]
) -> None:
    call = f"pay(amount=5.0, token={_TOKEN})" if by_name else f"pay({_TOKEN}, 5)"
    with Toolkit(_TOOLS, journal=tmp_path / "runs.db", approve=lambda _: True) as toolkit:
        failed = toolkit.execute(f"{_CALLS['pay']}\n1 / 0", principal="Ada")
        assert failed.status == "failed"
        assert used == [(_SECRET, 5.0)]
        result = toolkit.execute(call, after=failed, principal="Ada") if is_same_process else None
    if result is None:
        failed.progress = None
        with Toolkit(_TOOLS, journal=tmp_path / "runs.db", approve=lambda _: True) as toolkit:
            result = toolkit.execute(call, after=failed, principal="Ada")
            assert toolkit.replay(result.run_id or "").success
    assert result.success
    assert used == [(_SECRET, 5.0)]
    with Toolkit(_TOOLS, journal=tmp_path / "runs.db", approve=lambda _: True) as toolkit:
        other = toolkit.execute("pay('another', 5)\n1 / 0", principal="Ada")
        assert toolkit.execute(call, after=other, principal="Ada").success
        assert used == [(_SECRET, 5.0), ("another", 5.0), (_SECRET, 5.0)]
        (tmp_path / "runs.db-key").unlink()
        with pytest.raises(ContinuationError, match=_KEY):
            toolkit.execute(call, after=other, principal="Ada")
    assert not _is_stored(tmp_path)


def test_session_with_secrets_goes_on_in_another_process(tmp_path: Path, used: list[Any]) -> None:
    with Toolkit(_TOOLS, journal=tmp_path / "runs.db", approve=lambda _: True) as toolkit:
        with toolkit.session() as session:
            assert session.execute(f"receipt = {_CALLS['send']}").success
            name = session.id
        with toolkit.session(name) as session:
            assert session.execute("receipt").return_value == "sent"
    assert used == [(_SECRET, "Ada")]
    assert not _is_stored(tmp_path)


def test_text_like_a_digest_is_not_taken_for_a_secret(tmp_path: Path, used: list[Any]) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit(_TOOLS, journal=journal) as toolkit:
        paused = toolkit.execute(_CALLS["send"])
        assert paused.run_id is not None
        (event,) = [event for event in journal.events(paused.run_id) if event.kind == "pending"]
        digest = (event.payload or b"").decode().split('"')[1]
        copied = toolkit.execute(f"send({digest!r})")
        assert copied.run_id is not None
        assert toolkit.resume(copied.run_id, {copied.pending[0].id: True}).success
    assert used == [(digest, "Ada")]


def test_toolkit_without_secrets_makes_no_key(tmp_path: Path) -> None:
    @ez_tool
    def greet(name: str) -> str:
        """Greet."""
        return name

    with Toolkit([greet], journal=tmp_path / "runs.db") as toolkit:
        assert toolkit.execute("greet('Ada')").success
    assert not (tmp_path / "runs.db-key").exists()


def test_changed_marker_is_another_tool(tmp_path: Path) -> None:
    with Toolkit(_TOOLS, journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute(_CALLS["send"])
    assert paused.run_id is not None

    @ez_tool(requires_approval=True)
    def send(password: str, to: str = "Ada") -> str:
        """Send."""
        return password + to

    with (
        Toolkit([pay, send, sign, charge], journal=tmp_path / "runs.db") as toolkit,
        pytest.raises(ReplayDivergedError, match="send"),
    ):
        toolkit.resume(paused.run_id, {paused.pending[0].id: True})


def test_correction_answers_each_of_two_calls_with_secrets(tmp_path: Path, used: list[Any]) -> None:
    calls = f"pay({_TOKEN}, 5)\nsend({_TOKEN})\npay({_TOKEN}, 6)"
    with Toolkit(_TOOLS, journal=tmp_path / "runs.db", approve=lambda _: True) as toolkit:
        failed = toolkit.execute(f"{calls}\n1 / 0")
        assert toolkit.execute(calls, after=failed).success
    assert used == [(_SECRET, 5.0), (_SECRET, "Ada"), (_SECRET, 6.0)]


@pytest.mark.parametrize(("first", "second"), [("5", "5.0"), ("5.0", "5"), ("2 ** 70", "2.0 ** 70")])
def test_correction_may_spell_a_secret_number_otherwise(first: str, second: str, tmp_path: Path) -> None:
    opened: list[float] = []

    @ez_tool
    def unlock(pin: Annotated[float, Sensitive]) -> str:
        """Unlock."""
        opened.append(pin)
        return "open"

    with Toolkit([unlock], journal=tmp_path / "runs.db") as toolkit:
        failed = toolkit.execute(f"unlock({first})\n1 / 0")
        assert toolkit.execute(f"print(unlock({second}))", after=failed).output == "open\n"
    assert len(opened) == 1


_SECRET_TEXT: dict[str, Any] = {"type": "string", "writeOnly": True}
_LOOPS: dict[str, dict[str, Any]] = {
    "itself": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, _SECRET_TEXT]}},
    "each other": {
        "a": {"oneOf": [{"$ref": "#/$defs/b"}, {"type": "integer"}]},
        "b": {"anyOf": [{"$ref": "#/$defs/a"}, _SECRET_TEXT]},
    },
}


@pytest.mark.parametrize("definitions", _LOOPS.values(), ids=_LOOPS)
def test_secret_of_a_schema_that_applies_itself_is_masked(definitions: dict[str, Any], tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"token": {"$ref": "#/$defs/a"}}, "$defs": definitions}
    tool = Tool.from_schema("open_door", "Open.", schema, dict[str, Any], requires_approval=True)
    with Toolkit([tool], journal=tmp_path / "runs.db") as toolkit:
        paused = toolkit.execute(f"print(open_door(token={_TOKEN}))")
    assert (paused.status, paused.pending[0].arguments) == ("paused", {"token": _MASK})
    assert not _is_stored(tmp_path)


def test_secrets_that_many_branches_mark_are_masked() -> None:
    record: dict[str, Any] = {"properties": {"token": _SECRET_TEXT, "to": {"type": "string"}}}
    definitions = {"d0": record}
    for number in range(1, 40):
        branch = {"$ref": f"#/$defs/d{number - 1}"}
        definitions[f"d{number}"] = {"anyOf": [branch, {"allOf": [branch]}]}
    root = {"properties": {"it": {"items": {"$ref": "#/$defs/d39"}}}, "$defs": definitions}
    arguments = SecretArguments(root, root["properties"])

    value = [{"token": _SECRET, "to": "Ada"}, {"other": 1}, None, 5]
    assert arguments.mask("it", value) == [{"token": _MASK, "to": "Ada"}, {"other": _MASK}, None, _MASK]
