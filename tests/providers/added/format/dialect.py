"""What the servers of this provider do differently."""

from typing import Final

from ez_ptc.formats.media import Unsupported
from ez_ptc.formats.openai_shapes.dialects import ChatDialect
from ez_ptc.messages import MediaMessage

__all__ = ["DIALECT"]


def _refuse_media(media: MediaMessage) -> Unsupported:
    return Unsupported.of("Acme", media)


DIALECT: Final = ChatDialect(
    title="Acme", media_part=_refuse_media, call_id=str.upper, max_tokens_key="budget", answer_after_results="Well."
)
