"""Addresses relative to others (RFC 3986, section 5.2)."""

import re
from typing import Final

__all__ = ["join_address"]

# RFC 3986, appendix B, without the fragment.
_PARTS: Final = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?", re.DOTALL)


def join_address(base: str, reference: str) -> str:
    """Return the address that a reference without a fragment means below a base, which may be relative as well."""
    scheme, authority, path, query = _split(reference)
    base_scheme, base_authority, base_path, base_query = _split(base)
    if scheme is None:
        scheme = base_scheme
        if authority is None:
            authority = base_authority
            if path:
                path = (
                    path if path.startswith("/") else _merge_paths(base_path, path, has_authority=authority is not None)
                )
            else:
                path, query = base_path, query or base_query
    start = f"{scheme}:" if scheme is not None else ""
    if authority is not None:
        start += f"//{authority}"
    return f"{start}{_without_dots(path)}{query or ''}"


def _split(address: str) -> tuple[str | None, str | None, str, str | None]:
    match = _PARTS.match(address)
    if match is None:  # the pattern matches any text
        return None, None, address, None
    return match[1], match[2], match[3], match[4]


def _merge_paths(base: str, path: str, *, has_authority: bool) -> str:
    if has_authority and not base:
        return f"/{path}"
    return base.rpartition("/")[0] + "/" + path if "/" in base else path


def _without_dots(path: str) -> str:
    if "/." not in path and not path.startswith("."):
        return path
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and segments[-1:] not in ([], [""], [".."]):
            segments.pop()
        elif segment not in (".", ".."):
            segments.append(segment)
    if path.rpartition("/")[2] in (".", ".."):
        segments.append("")
    return "/".join(segments)
