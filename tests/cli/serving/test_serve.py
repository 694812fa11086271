"""`ez-ptc serve`: the entry for a desktop client's configuration, and the token of a server over HTTP."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ez_ptc.cli.app import main
from ez_ptc.cli.run import CommandError
from ez_ptc.cli.serving.tokens import keep_token, token_path

NOBODY = 65534
MODULE = """
from ez_ptc import Toolkit, ez_tool

@ez_tool
def price(product: str) -> float:
    "Look up a price."
    return 39.5

toolkit = Toolkit([price])
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the module with the toolkit in a folder, go there, and return it."""
    folder = tmp_path / "a shop"
    folder.mkdir()
    (folder / "served_shop.py").write_text(MODULE)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "served_shop", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("EZ_PTC_MCP_TOKEN", raising=False)
    return folder


def printed_entry(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[dict[str, Any], str]:
    """Return the printed entry of the server, and what was written on standard error."""
    assert main(["serve", "served_shop:toolkit", "--print-config", *options]) == 0
    printed = capsys.readouterr()
    return json.loads(printed.out)["mcpServers"]["served_shop"], printed.err


@pytest.mark.security
def test_printed_command_serves_the_toolkit_from_any_folder(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry, errors = printed_entry(capsys, "--mode", "tools")
    assert (entry["command"], errors) == (sys.executable, "")
    assert entry["args"][-4:] == ["--folder", str(shop), "--mode", "tools"]
    (tmp_path / "mcp.py").write_text("raise SystemExit('a file of the client\\'s folder was imported')")
    served = subprocess.run(
        [entry["command"], *entry["args"]],
        input=f"{json.dumps(INITIALIZE)}\n",
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(served.stdout)["result"]["serverInfo"]["name"] == "served_shop", served.stderr


def test_prints_of_the_module_stay_out_of_the_entry(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "served_shop.py").write_text(f"print('the shop opens')\n{MODULE}")
    entry, errors = printed_entry(capsys)
    assert entry["command"] == sys.executable
    assert errors == "the shop opens\n"


def test_two_toolkits_of_a_module_have_entries_of_their_own(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "served_shop.py").write_text(f"{MODULE}\nother = Toolkit([price])")
    names: list[str] = []
    for options in ([], ["--http", "8000"]):
        for name in ("toolkit", "other"):
            assert main(["serve", f"served_shop:{name}", "--print-config", *options]) == 0
            names += json.loads(capsys.readouterr().out)["mcpServers"]
    assert names == ["served_shop", "served_shop-other"] * 2


def test_toolkit_is_named_as_for_the_other_commands_too(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry, _ = printed_entry(capsys)
    assert main(["serve", "--tools", "served_shop:toolkit", "--print-config"]) == 0
    assert json.loads(capsys.readouterr().out)["mcpServers"] == {"served_shop": entry}
    assert str(shop) in entry["args"]


def test_token_is_printed_only_if_that_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hidden, errors = printed_entry(capsys, "--http", "8000")
    (file,) = (tmp_path / "data" / "ez-ptc" / "tokens").iterdir()
    token = file.read_text().strip()
    assert hidden["url"] == "http://127.0.0.1:8000/mcp"
    assert hidden["headers"] == {"Authorization": "Bearer ${EZ_PTC_MCP_TOKEN}"}
    assert str(file) in errors
    assert token not in errors
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    shown, errors = printed_entry(capsys, "--http", "8000", "--show-token")
    assert shown["headers"] == {"Authorization": f"Bearer {token}"}
    assert token in errors


def test_other_addresses_have_other_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["8000"], ["8001"], ["8000", "--host", "::"], ["8000"]):
        entry, _ = printed_entry(capsys, "--http", *options)
        assert entry["url"].startswith(("http://127.0.0.1:800", "http://[::]:8000", "http://127"))
    files = list((tmp_path / "data" / "ez-ptc" / "tokens").iterdir())
    assert len({file.read_text() for file in files}) == len(files) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--show-token"], "are about HTTP: add --http PORT"),
        (["--http", "0"], "--print-config needs the port that clients connect to: write --http 8000"),
        (["--http", "65536"], "--print-config needs the port that clients connect to"),
        (["--http", "-1"], "--print-config needs the port that clients connect to"),
    ],
)
def test_entry_that_no_client_could_use_is_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "served_shop:toolkit", "--print-config", *options]) == 2
    assert message in capsys.readouterr().err


def test_server_without_a_token_has_no_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry, _ = printed_entry(capsys, "--http", "8000", "--no-token")
    assert entry == {"type": "http", "url": "http://127.0.0.1:8000/mcp"}
    assert not (tmp_path / "data").exists()


# The file of a token --------------------------------------------------------------------------------------------------


def test_two_servers_at_once_agree_on_a_token(tmp_path: Path) -> None:
    path = token_path(tmp_path / "tokens", "shop:toolkit", "/shop.py", "127.0.0.1:8000")
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(keep_token, [path] * 64))) == 1
    assert list(path.parent.iterdir()) == [path]


def test_each_toolkit_and_address_has_a_file(tmp_path: Path) -> None:
    texts = [
        ("a:b", "/c", "d:1"),
        ("a:b", "/c", "d:2"),
        ("a:b", "/d", "d:1"),
        ("a:c", "/c", "d:1"),
        ("a-b", "/c", "d:1"),
    ]
    assert len({token_path(tmp_path, *text) for text in texts}) == len(texts)
    assert token_path(tmp_path, "../../x:y", "", "").parent == tmp_path


def link_file(path: Path) -> None:
    """Put a link to a file of another's in the place of the file."""
    other = path.parent.parent / "other"
    other.write_text("a-token-that-others-know")
    other.chmod(0o600)
    path.symlink_to(other)


def link_nothing(path: Path) -> None:
    path.symlink_to(path.parent.parent / "nothing")


def link_folder(path: Path) -> None:
    path.parent.rmdir()
    (path.parent.parent / "other").mkdir(mode=0o700)
    path.parent.symlink_to(path.parent.parent / "other")


def open_file(path: Path) -> None:
    path.write_text("a-token-that-others-know")
    path.chmod(0o644)


def open_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def fill(text: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.touch(0o600)
        path.write_text(text)

    return write


def give_file(path: Path) -> None:
    fill("a-token-that-others-know")(path)
    os.chown(path, NOBODY, -1)


def give_folder(path: Path) -> None:
    os.chown(path.parent, NOBODY, -1)


TRAPS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link": (link_file, "cannot keep the token in .*: Too many levels of symbolic links; pass one in EZ_PTC"),
    "a link to nothing": (link_nothing, "cannot keep the token in"),
    "a link as the folder": (link_folder, "expected no link or other special file; remove it"),
    "a file for all": (open_file, r"other users may access .* \(mode 0644"),
    "a folder for all": (open_folder, r"other users may access .* \(mode 0777"),
    "a folder as the file": (Path.mkdir, "cannot keep a token in .*: expected no link or other special file"),
    "a pipe": (os.mkfifo, "expected no link or other special file"),
    "no token": (fill(""), "has no token that this command has made: remove the file, and a new one will be made"),
    "a short token": (fill("short"), "has no token that this command has made"),
    "a header": (fill("a-token-of-enough-length\nX-Other: 1"), "has no token that this command has made"),
    "a long token": (fill("a" * 5000), "has no token that this command has made"),
}
if os.geteuid() == 0:  # only root can give a file away
    TRAPS["a file of another user"] = (give_file, rf"other users may access .* owner {NOBODY}")
    TRAPS["a folder of another user"] = (give_folder, rf"other users may access .* owner {NOBODY}")


@pytest.mark.parametrize(("set_trap", "message"), TRAPS.values(), ids=TRAPS)
def test_token_that_others_know_is_not_used(tmp_path: Path, set_trap: Callable[[Path], None], message: str) -> None:
    path = token_path(tmp_path / "tokens", "shop:toolkit", "/shop.py", "127.0.0.1:8000")
    path.parent.mkdir(mode=0o700)
    set_trap(path)
    with pytest.raises(CommandError, match=message):
        keep_token(path)


def test_folder_that_cannot_be_made_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match="pass one in EZ_PTC_MCP_TOKEN instead"):
        keep_token(tmp_path / "file" / "tokens" / "x.token")
