"""The file of a server's token, which several processes may make at once."""

import os
from pathlib import Path

import pytest

from ez_ptc.cli.serving.tokens import keep_token


def test_token_of_a_faster_process_is_everyones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link, faster = tmp_path / "tokens" / "shop.token", os.link, list[str]()

    def link_late(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        faster.append(keep_token(path))
        link(source, target)

    monkeypatch.setattr(os, "link", link_late)
    assert keep_token(path) == faster[0] == keep_token(path)
    assert [*path.parent.iterdir()] == [path]
