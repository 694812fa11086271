"""What Mistral does differently from other servers of Chat Completions."""

from typing import Final

from ez_ptc.formats.mistral.media import media_part
from ez_ptc.formats.openai_shapes.dialects import ChatDialect

__all__ = ["DIALECT"]

DIALECT: Final = ChatDialect(
    title="Mistral",
    media_part=media_part,
    result_media_part=media_part,
    # It accepts a system message only after a user message, and not as the last message.
    has_late_instructions=False,
    # It rejects a user message directly after a tool's result.
    answer_after_results="OK.",
)
