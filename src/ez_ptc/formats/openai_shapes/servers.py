"""Servers that speak OpenAI's formats, by host name."""

from typing import Final

from ez_ptc.messages import Answer

__all__ = ["OPENAI", "is_at", "is_openai", "is_original"]

# The default server of a request.
OPENAI: Final = "api.openai.com"

_OPENAI_HOSTS: Final = (".openai.com", ".azure.com")


def is_openai(server: str) -> bool:
    """Return whether a server is OpenAI's own, or Azure's with the same models.

    Others speak an older dialect, and their chat templates are strict about the order of roles.
    """
    return is_at(server, _OPENAI_HOSTS)


def is_at(server: str, hosts: tuple[str, ...]) -> bool:
    """Return whether a server's host name ends in one of these, each of which begins with a dot."""
    return f".{server.partition(':')[0].lower()}".endswith(hosts)


def is_original(answer: Answer, provider: str, server: str) -> bool:
    """Return whether an answer's `content` came in this format from this server, and may go back to it unchanged."""
    return answer.provider == provider and answer.details.get("server", server) == server
