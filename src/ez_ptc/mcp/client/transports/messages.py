"""Messages that the strict parser refuses: what can be kept of them, so that no request waits for a lost answer."""

from __future__ import annotations

import json
import re
from typing import Any, Final, cast

import mcp_types as types

from ez_ptc.mcp.client.transports.watch import invalid_text

__all__ = ["salvage_answer"]

# Reading a message three times takes long if it is large.
_MAX_LENGTH: Final = 4 * 2**20
_HEAD: Final = 200
_ID: Final = re.compile(r'"id"\s*:\s*(\d{1,15})\s*[,}]')


def salvage_answer(text: str, error: ValueError) -> types.JSONRPCResponse | types.JSONRPCError | None:
    """Return the answer in a line that the parser has refused, or None if it is no answer.

    Half of a surrogate pair and deep nesting do not make an answer unusable. If it is, an error takes its place.
    """
    content = _lenient(text)
    if content is None or "method" in content or not isinstance(content.get("id"), int | str):
        return None
    try:
        return types.JSONRPCResponse.model_validate(content, by_name=False)
    except ValueError as later:
        reason = invalid_text(error if "result" not in content and "error" not in content else later)
    problem = types.ErrorData(code=types.INTERNAL_ERROR, message=f"the server's answer is invalid: {reason}")
    return types.JSONRPCError(jsonrpc="2.0", id=content["id"], error=problem)


def _lenient(text: str) -> dict[str, Any] | None:
    """Return a message by Python's parser, without halves of surrogate pairs; if it fails too, only the id."""
    if len(text) <= _MAX_LENGTH:
        try:
            content: object = json.loads(text)
            content = json.loads(json.dumps(content, ensure_ascii=False).encode(errors="replace"))
        except (ValueError, RecursionError):
            pass
        else:
            return cast("dict[str, Any]", content) if isinstance(content, dict) else None
    match = _ID.search(text, 0, _HEAD)
    if match is None or '"method"' in text[:_HEAD]:
        return None
    return {"id": int(match[1])}
