"""Removing a model's reasoning from its answer: what it only considered is no program.

Reasoning stands between tags (`<think>` and similar ones, `[THINK]`), before an end tag whose beginning the prompt
already had, after a tag that never ends, in the analysis channel of a gpt-oss model, or between `Thought:` and `Code:`.
Tags inside of a closed Markdown block are part of a program. The time is linear in the length of the answer.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["remove_reasoning"]

# With what vendors write around the words: `ant:thinking`, `begin_of_thought`, `chain_of_thought`, `thinking_process`.
_NAME: Final = (
    r"(?:[\w.▁-]{1,20}[:_▁-])?(?:ant)?"
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflections?|scratchpad|monologue|analysis|cot)"
    r"(?:[_▁-][\w▁-]{1,20})?"
)
_START: Final = (
    rf"<(?!end){_NAME}(?:\s[^<>\n]{{0,80}})?>|<[|\uff5c](?!end){_NAME}[|\uff5c]>|\[THINK(?:ING)?\]|◁think▷"
    r"|<unused\d{1,3}>thought\b|<\|channel>thought\b"
)
_END_TAG: Final = (
    rf"</{_NAME}[ ]?>|<[|\uff5c](?:/|end[_▁]?){_NAME}[|\uff5c]>|\[/THINK(?:ING)?\]|◁/think▷"
    r"|<unused\d{1,3}>|<channel\|>"
)
# Only at the edge of a line, and an end before words or a fence: a program may print a tag, or look for one.
_MARK: Final = re.compile(
    rf"^[ \t]*+(?:{_START})"
    rf"|(?P<end>{_END_TAG})(?=[ \t]*+(?:$|[`~]{{3}})|(?-i:[A-Z*#]))"
    rf"|^[ \t]*+(?P<end_first>{_END_TAG})"
    r"|^[ \t>*+.)\d-]*+(?P<fence>`{3,}+|~{3,}+)(?P<info>[^\n]*+)$"
    r"|(?<!`)(?P<inner>`{3,}+)(?:python3?|py)[ \t]*+$",
    re.MULTILINE | re.IGNORECASE,
)
_END: Final = re.compile(_END_TAG, re.IGNORECASE)
_CHANNEL: Final = re.compile(
    r"(?:<\|start\|>[^<\n]*+)?<\|channel\|>\s*+(\w++)[^<\n]*+(?:<\|constrain\|>[^<\n]*+)?<\|message\|>"
)
# A gpt-oss model sends programs to its own Python tool in the channel of its reasoning.
_TO_PYTHON: Final = re.compile(r"\bto=python\b")
_CHANNEL_END: Final = re.compile(r"<\|(?:end|start|channel|return|call)\|>")
_THOUGHT: Final = re.compile(r"^[ \t]*+\**Thoughts?\b[ \t]*:", re.MULTILINE)
_FENCE: Final = re.compile(r"`{3,}+|~{3,}+")
_CODE: Final = re.compile(r"^[ \t]*+\**(?:Code|Action)\b[ \t]*:", re.MULTILINE)


def remove_reasoning(text: str, *, drops_above: bool = False) -> str:
    """Return an answer without the model's reasoning; `drops_above` also drops the words above a `Thought:`."""
    messages: dict[str, str] = {}
    for start in _CHANNEL.finditer(text):
        end = _CHANNEL_END.search(text, start.end())
        content = text[start.end() : end.start() if end else len(text)]
        if _TO_PYTHON.search(start[0]):
            messages["python"] = content if _FENCE.search(content) else f"```python\n{content}\n```"
        else:
            messages[start[1].lower()] = content
    if messages:  # a program may name a channel, too
        messages.pop("analysis", None)
        text = messages.get("final") or "\n".join(messages.values())
    text = _without_tagged(text)
    thought = _THOUGHT.search(text)
    code = thought and _CODE.search(text, thought.end())
    if not (thought and code) or _FENCE.search(text, 0, thought.start()):
        return text
    fences = len(_FENCE.findall(text, thought.end(), code.start()))
    # Within a block, or below one and above none, it is no heading of a program.
    if fences % 2 or (fences and not _FENCE.search(text, code.end())):
        return text
    above = text[: thought.start()]
    if above.strip() and not drops_above:  # words above may say that another wrote what follows
        return f"{above}{text[code.start() :]}"
    return text[code.end() :]


def _without_tagged(text: str) -> str:
    """Return text without what stands between tags, before an end tag alone, and after a tag without an end."""
    kept: list[str] = []
    ends: dict[str, re.Match[str] | None] = {}
    start = position = 0
    while mark := _MARK.search(text, position):
        position = mark.end()
        if (info := mark["info"]) and _END.match(info.lstrip()):  # the fence ends a block, the tag the reasoning
            position = mark.start("info")
        elif fence := mark["fence"] or mark["inner"]:
            # A block ends at a bare fence; at another's beginning, it has never ended.
            end = ends.get(fence)
            # Searched for once: many openings may have the same end far below, or none.
            if fence not in ends or (end and end.start() < position):
                pattern = rf"^[ \t]*+{re.escape(fence[0])}{{{len(fence)},}}+(?P<info>[^\n]*+)$"
                end = ends[fence] = re.compile(pattern, re.MULTILINE).search(text, position)
            if end and not end["info"].strip():
                position = end.end()
        elif mark["end"] or mark["end_first"]:
            kept.clear()
            start = position
        else:
            kept.append(text[start : mark.start()])
            end = _END.search(text, position)
            start = position = end.end() if end else len(text)
    kept.append(text[start:])
    return "".join(kept)
