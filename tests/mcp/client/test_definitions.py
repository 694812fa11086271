"""The names of several servers' tools in a toolkit."""

import pytest

from ez_ptc.mcp.client.definitions import distinct_names


@pytest.mark.parametrize(
    ("names", "prefix", "distinct"),
    [
        (["git_log", "git_diff", "clone"], "git_", ["git_log", "git_diff", "git_clone"]),
        (["log", "git_log"], "git_", ["git_log_2", "git_log"]),
        (["git_log", "log"], "git_", ["git_log", "git_log_2"]),
        (["git-log"], "git_", ["git_log"]),
        (["my_server_find"], "my-server_", ["my_server_find"]),
        (["github_log"], "git_", ["git_github_log"]),
        (["log"], "", ["log"]),
    ],
)
def test_prefix_is_not_doubled(names: list[str], prefix: str, distinct: list[str]) -> None:
    assert distinct_names(names, [prefix] * len(names)) == distinct


def test_two_servers_of_one_prefix_share_no_name() -> None:
    assert distinct_names(["log", "git_log", "log"], ["git_", "git_", "other_"]) == [
        "git_log_2",
        "git_log",
        "other_log",
    ]
