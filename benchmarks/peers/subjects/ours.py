"""This library, through the door that its users take."""

from benchmarks.peers.subject import TOOLS, Subject

__all__ = ["start"]


def start() -> Subject:
    """Return a toolkit over the tools."""
    return _Ours()


class _Ours:
    offers_tools = True

    def __init__(self) -> None:
        from ez_ptc import Toolkit, ez_tool

        self._toolkit = Toolkit([ez_tool(function) for function in TOOLS.values()])

    def run(self, code: str) -> object:
        result = self._toolkit.execute(code)
        result.raise_for_error()
        return result.return_value

    def close(self) -> None:
        self._toolkit.close()
