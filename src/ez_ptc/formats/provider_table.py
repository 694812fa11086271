"""The one table of our providers. A new one is a folder in `formats/`, a module in `providers/` and a line here."""

from dataclasses import dataclass
from typing import Final

__all__ = ["PROVIDERS", "ProviderEntry"]


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A provider of ours, as data: reading it imports neither its format nor its SDK.

    Attributes:
        name: Its name in `"provider:model"`, and in `Answer.provider` if it reads answers itself.
        folder: Its folder in `formats/`, and its module in `providers/`.
        adapter: The class in that module.
        format: The name of its format for `to_format`, if it differs from the provider's.
        models: The beginning of its models' names, as a regular expression; empty to infer it from no model.
        keys: The environment variables of its key. Without a provider, the first entry with a key answers.
        hosts: The ends of the host names with a dialect of Chat Completions, which `dialect.py` in the folder declares.
        telemetry: Its name in OpenTelemetry's conventions, if it differs.
        content: The type of `Answer.content`, or None if another entry's format reads its answers.
        runs_programs: Whether it runs programs that call tools, and searches among tools.
    """

    name: str
    folder: str
    adapter: str
    format: str = ""
    models: str = ""
    keys: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    telemetry: str = ""
    content: type[dict[str, object] | list[object]] | None = None
    runs_programs: bool = False


# Keys are tried in this order.
PROVIDERS: Final = (
    ProviderEntry(
        "anthropic",
        "anthropic",
        "AnthropicProvider",
        models="claude-",
        keys=("ANTHROPIC_API_KEY",),
        content=list,
        runs_programs=True,
    ),
    ProviderEntry(
        "openai",
        "openai_responses",
        "OpenAIProvider",
        format="openai-responses",
        models=r"gpt-\d|chatgpt-|o\d(?!\w)",
        keys=("OPENAI_API_KEY",),
        content=list,
        runs_programs=True,
    ),
    ProviderEntry("openai-chat", "openai_chat", "OpenAIChatProvider", telemetry="openai", content=dict),
    ProviderEntry(
        "gemini",
        "gemini",
        "GeminiProvider",
        models="gemini-",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        telemetry="gcp.gemini",
        content=dict,
    ),
    ProviderEntry(
        "mistral",
        "mistral",
        "MistralProvider",
        models="(mistral|ministral|magistral|codestral|devstral)-",
        keys=("MISTRAL_API_KEY",),
        hosts=(".mistral.ai",),
        telemetry="mistral_ai",
    ),
)
