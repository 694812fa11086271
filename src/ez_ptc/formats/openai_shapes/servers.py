"""Servers that speak OpenAI's formats, by host name."""

from typing import Final

from ez_ptc.messages import Answer

__all__ = ["OPENAI", "is_mistral", "is_openai", "is_original"]

# The default server of a request.
OPENAI: Final = "api.openai.com"

_OPENAI_HOSTS: Final = (".openai.com", ".azure.com")
_MISTRAL_HOST: Final = ".mistral.ai"


def is_openai(server: str) -> bool:
    """Return whether a server is OpenAI's own, or Azure's with the same models.

    Others speak an older dialect, and their chat templates are strict about the order of roles.
    """
    host = server.partition(":")[0]
    return f".{host.lower()}".endswith(_OPENAI_HOSTS)


def is_mistral(server: str) -> bool:
    """Return whether a server is Mistral's."""
    return f".{server.partition(':')[0].lower()}".endswith(_MISTRAL_HOST)


def is_original(answer: Answer, provider: str, server: str) -> bool:
    """Return whether an answer's `content` came in this format from this server, and may go back to it unchanged."""
    return answer.provider == provider and answer.details.get("server", server) == server
