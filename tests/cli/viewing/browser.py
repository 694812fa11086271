"""A real headless browser, driven over two pipes by the DevTools protocol: tests need no package for it."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

__all__ = ["Browser", "Tab", "find_browser", "running_browser"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_SECONDS: Final = 60
# The browser reads commands from file descriptor 3, and writes to 4.
_LAUNCHER: Final = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_OPTIONS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-pipe",
)
_CODES: Final = {"Enter": 13, "Tab": 9, " ": 32, "Escape": 27, "ArrowDown": 40}
_TEXTS: Final = {"Enter": "\r", "Tab": None, "Escape": None, "ArrowDown": None}


def find_browser() -> str | None:
    """Return the path of a browser: that in `EZ_PTC_BROWSER`, or one of a usual name; None without any."""
    names = (os.environ.get("EZ_PTC_BROWSER", ""), *_NAMES)
    return next((path for name in names if name and (path := shutil.which(name))), None)


class BrowserError(Exception):
    """The browser refused a command, or its tab went elsewhere meanwhile."""


class Browser:
    """A browser that is running."""

    def __init__(self, commands: int, answers: int) -> None:
        """Take the ends of the pipes."""
        self._commands = commands
        self._answers: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._number = 0
        self.tabs: dict[str, Tab] = {}
        self.reader = threading.Thread(target=self._read, args=(answers,))
        self.reader.start()

    def _read(self, answers: int) -> None:
        rest = b""
        while received := os.read(answers, 1 << 20):
            *messages, rest = (rest + received).split(b"\0")
            for message in messages:
                self._answers.put(json.loads(message))
        self._answers.put(None)

    def call(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        """Send a command, and return its result; what happens meanwhile is kept in the tabs."""
        self._number += 1
        number = self._number
        command: dict[str, object] = {"id": number, "method": method, "params": params}
        if session is not None:
            command["sessionId"] = session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        while True:
            try:
                message = self._answers.get(timeout=_SECONDS)
            except Empty:
                message_text = f"the browser does not answer {method}"
                raise TimeoutError(message_text) from None
            assert message is not None, "the browser has ended"
            if message.get("id") == number:
                if "error" in message:
                    raise BrowserError(message["error"]["message"])
                return message["result"]
            tab = self.tabs.get(message.get("sessionId", ""))
            if tab is not None:
                tab.notice(message["method"], message["params"])

    @contextmanager
    def tab(self, address: str) -> Generator["Tab"]:
        """Open an address in a tab of its own, and close it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session: str = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.tabs[session] = tab = Tab(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            tab.call(f"{domain}.enable")
        tab.go(address)
        try:
            yield tab
        finally:
            self.call("Target.closeTarget", targetId=target)
            del self.tabs[session]


class Tab:
    """A tab: `problems` are the errors of its console, `requests` the addresses it has asked for."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.problems: list[str] = []
        self.requests: list[str] = []

    def notice(self, event: str, params: dict[str, Any]) -> None:
        """Keep what an event says."""
        if event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event == "Runtime.exceptionThrown" or (event == "Log.entryAdded" and params["entry"]["level"] == "error"):
            self.problems.append(json.dumps(params))

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Send a command to the tab, and return its result."""
        return self._browser.call(method, self._session, **params)

    def go(self, address: str) -> None:
        """Go to an address."""
        assert "errorText" not in self.call("Page.navigate", url=address)

    def evaluate(self, script: str) -> Any:  # noqa: ANN401 - any JSON
        """Return the value of an expression, of a promise once it is there."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> Any:  # noqa: ANN401 - any JSON
        """Wait until an expression is true, and return its value."""
        script = f"""new Promise((resolve, reject) => {{
            const look = (left) => {{
                const value = {condition};
                if (value) resolve(value);
                else if (left === 0) reject(new Error({json.dumps(condition)} + ": " + document.body.innerText));
                else setTimeout(() => look(left - 1), 20);
            }};
            look(1000);
        }})"""
        refusal = BrowserError()
        for _ in range(5):
            try:
                return self.evaluate(script)
            except BrowserError as error:  # the page was loaded again
                refusal = error
        raise refusal

    def press(self, key: str, *, modifiers: int = 0, commands: tuple[str, ...] = ()) -> None:
        """Press a key, and let it go."""
        fields: dict[str, object] = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": _CODES.get(key, 0)}
        text = _TEXTS.get(key, key)
        if text is not None and not modifiers:
            fields["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", commands=commands, **fields)
        self.call("Input.dispatchKeyEvent", type="keyUp", **fields)

    def tab_to(self, text: str) -> None:
        """Press Tab until the focus is on an element with a text."""
        for _ in range(100):
            if self.evaluate("document.activeElement.textContent") == text:
                return
            self.press("Tab")
        message = f"no way to {text!r} by the keyboard"
        raise AssertionError(message)


@contextmanager
def running_browser(path: str, profile: Path) -> Generator[Browser]:
    """Run a browser with a profile of its own."""
    to_browser, commands = os.pipe()
    answers, from_browser = os.pipe()
    words = [sys.executable, "-c", _LAUNCHER, str(to_browser), str(from_browser), path]
    process = subprocess.Popen(
        [*words, *_OPTIONS, f"--user-data-dir={profile}"],
        pass_fds=(to_browser, from_browser),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    browser = Browser(commands, answers)
    try:
        yield browser
    finally:
        os.close(commands)  # which ends it
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(20)
        browser.reader.join(20)
        os.close(answers)
