"""Our client as the official conformance suite starts it: it lists, and calls each tool from a program.

python conformance_client.py URL
"""

import json
import os
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from ez_ptc import Elicitation, Toolkit

_METADATA_URL = "https://conformance-test.local/client-metadata.json"
_REDIRECT = "http://localhost:3000/callback"


class Storage:
    """Keeps tokens in memory."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self._tokens: OAuthToken | None = None
        self._client = client

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


class Browser:
    """Follows the authorization's redirect, as a person's browser would."""

    def __init__(self) -> None:
        self._query: dict[str, list[str]] = {}

    async def open(self, url: str) -> None:
        async with httpx2.AsyncClient() as client:
            response = await client.get(url)
        self._query = parse_qs(urlsplit(response.headers["location"]).query)

    async def answer(self) -> AuthorizationCodeResult:
        first = {key: values[0] for key, values in self._query.items()}
        return AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))


def authentication(url: str) -> OAuthClientProvider:
    """Return the SDK's OAuth for a server, with the client that the suite has registered, if it has."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    metadata = OAuthClientMetadata.model_validate({"client_name": "ez-ptc", "redirect_uris": [_REDIRECT]})
    registered = None
    if "client_id" in context:
        fields = {key: context[key] for key in ("client_id", "client_secret") if key in context}
        registered = OAuthClientInformationFull.model_validate(
            {**fields, "redirect_uris": [_REDIRECT], "token_endpoint_auth_method": "client_secret_basic"}
        )
    browser = Browser()
    return OAuthClientProvider(url, metadata, Storage(registered), browser.open, browser.answer, _METADATA_URL)


def accept(question: Elicitation) -> bool:
    """Accept a form as it is, with its defaults."""
    return question.schema is not None


def main(url: str) -> int:
    """Call each tool with numbers for its arguments, and return 0 if the calls succeed."""
    is_authorized = os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/")
    auth = authentication(url) if is_authorized else None
    with Toolkit.from_mcp(url, auth=auth, elicit=accept, resources=False) as toolkit:
        results = [toolkit.execute(f"print({tool.name}(*range({len(tool.parameter_names)})))") for tool in toolkit]
    for result in results:
        print(result.output, result.error)
    return 0 if all(result.success for result in results) else 1


sys.exit(main(sys.argv[1]))
