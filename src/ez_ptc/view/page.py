"""A whole page: one file with our style and script, whose policy allows nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Final

from ez_ptc.view.markup import element, markup_text

__all__ = ["asset", "content_policy", "document"]

_ASSETS: Final = Path(__file__).parent / "assets"


@functools.cache
def asset(name: str) -> str:
    """Return a style or a script of our own."""
    return (_ASSETS / name).read_text("utf-8").strip()


def _scripts(*, is_served: bool) -> list[str]:
    names = ["view.js"]
    if is_served:
        names.append("served.js")
    return [asset(name) for name in names]


def content_policy(*, is_served: bool = False) -> str:
    """Return the policy of a page: our style and script alone, by their hashes, and pictures inside the page.

    A served page may also call its own server.
    """
    scripts = " ".join(f"'{_hash(script)}'" for script in _scripts(is_served=is_served))
    connect = "'none'"
    if is_served:
        connect = "'self'"
    rules = [
        "default-src 'none'",
        f"script-src {scripts}",
        f"style-src '{_hash(asset('view.css'))}'",
        "img-src data:",
        f"connect-src {connect}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


def document(title: str, body: str, *, is_served: bool = False) -> str:
    """Return a whole page with a title, which is text, and a body of HTML."""
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy(is_served=is_served)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'
        # Browsers ask the server for a picture of the page otherwise, and log that there is none.
        '<link rel="icon" href="data:,">'
        f"<title>{markup_text(title, 200)}</title><style>{asset('view.css')}</style>"
    )
    main = element("main", body, id="main", data_served=is_served)
    scripts = "".join(f"<script>{script}</script>" for script in _scripts(is_served=is_served))
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{main}{scripts}</body></html>\n'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
