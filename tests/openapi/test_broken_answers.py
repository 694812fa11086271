"""An API's answer that breaks HTTP, and repeats a credential where no client expects one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from ez_ptc import Toolkit
from ez_ptc.redaction.redactor import Redactor
from tests.openapi.api import document
from tests.openapi.conftest import KEY
from tests.providers.loopback import LoopbackServer, broken_replies


@pytest.mark.parametrize("broken", broken_replies(b""))
@pytest.mark.parametrize("client_class", [httpx2.Client, httpx2.AsyncClient])
def test_broken_answer_puts_no_credential_in_logs_or_errors(
    broken: str, client_class: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with LoopbackServer(lambda _: broken_replies(KEY.encode())[broken]) as server:
        # No connection is left to be closed later, in another test.
        headers = {"authorization": f"Bearer {KEY}", "connection": "close"}
        client = client_class(base_url=f"{server.url}/v1", headers=headers)
        with Toolkit.from_openapi(document({"/x": {"get": {"operationId": "act"}}}), client=client) as toolkit:
            result = toolkit.execute("act()")
    redactor = Redactor([KEY])
    assert not redactor.is_in(caplog.text)
    assert not redactor.is_in(f"{result.error}{result.error_output}{result.tool_calls}")
