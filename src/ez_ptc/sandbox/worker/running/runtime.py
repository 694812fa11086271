"""Running one program, from its run frame to its done frame."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import sys
import types
import weakref
from _sitebuiltins import Quitter, _Helper  # pyright: ignore[reportPrivateUsage] - what `site` gives to programs
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ...check.proposals import describe_mistakes, proposal, sole_correction
from ...check.reading.program import SETTLE, compile_program, file_name, read_program, run_compiled
from ...check.repeatable import is_repeatable
from ...check.report import describe, is_clean_exit
from ...check.runtime.corrections import find_fix
from ...check.signatures import Shapes
from ...check.silent_programs import UnawaitedCoroutines, explain_idleness, explain_silence, find_last_assigned
from ...check.type_names import type_names
from ...check.value_text import safe_value_text
from ...protocol.both_ends.errors import ToolError, is_denial
from ...protocol.both_ends.limits import limit_error
from ...protocol.both_ends.predefined import MODULES
from ...protocol.both_ends.quoting import MAX_LINE, on_one_line, quoted
from ...protocol.values import codec as values
from . import call_paths, warm_up
from . import determinism as chance
from . import recursion as depth
from .async_support import settle
from .checking import check_program, check_programs, find_shapes, is_known
from .link import read_frame
from .pictures import PICTURES
from .program_end import drop_module, finish, may_have_finalizers, wait_for_threads
from .streams import Output
from .tools import Tools

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Mapping, Sequence

    from ...check.mistakes import ProgramMistake
    from .link import Link
    from .platform import Platform

__all__ = ["Runtime", "replace_builtins"]

# The characters of a traceback, where a frame has room for them.
_MAX_TRACE = 1 << 20
_MIN_TRACE = 20_000
_SIZED = (str, list, dict, tuple, set, frozenset)
_UNPRINTED = "[The program printed nothing: this is what its last line has set. Use print() for each result you need.]"


class Runtime:
    """Runs a program, or those of a session, for the host at the other end of `link`.

    Everything independent of the program is prepared in advance, before a caller waits.
    """

    def __init__(self, link: Link, platform: Platform) -> None:
        self._link = link
        self._platform = platform
        self._running = False
        self._programs = 0
        self._limits: dict[str, Any] = {}
        self._renewals: Sequence[Callable[[], object]] = ()
        self._last: object = None
        self._attached: list[bytes] = []  # the attachments of the done frame
        self._rehearsal = warm_up.answered_run(is_checked=True)
        self._clock: chance.ProgramClock | None = None
        self._repairs: tuple[str, ...] = ()
        self._messages: dict[str, str] = {}
        self._output = Output(link)
        self._unawaited = UnawaitedCoroutines()
        self._tools = Tools(link, platform, self._output.flush)
        self._main = types.ModuleType("__main__")
        self._namespace: dict[str, object] = vars(self._main)

    @property
    def tools(self) -> Tools:
        """The tools of its programs."""
        return self._tools

    def enter(self) -> None:
        """Set up a program's environment: streams, built-ins, and the first call path."""
        self._output.install()
        self._unawaited.install()
        vars(sys.modules["builtins"])["parallel"] = self._tools.parallel
        call_paths.begin()
        # This stops the program at its deadline.
        self._platform.on_stop(self._stop)

    def _stop(self, reason: str) -> None:
        """Raise TimeoutError in the program."""
        if not self._running:
            return
        if self._link.mid_frame:
            # A torn frame would cost the result: retry after it is written.
            self._platform.stop_again()
            return
        self._tools.closed = error = TimeoutError(self._messages[reason])
        raise error

    def warm_up(self, body: bytes, *, whole: bool = False) -> None:
        """Run a dummy program to warm caches; its output is discarded. No limit is set unless it runs as a `whole`."""
        pipe, limits, messages = self._link.pipe, self._limits, self._messages
        pipe.mute()
        frame = read_frame(body)
        self._prepare(frame)
        if whole:
            self._platform.limit(self._limits, in_session=False)
        self._answer(frame, limit=whole)
        pipe.unmute()
        self._limits, self._messages = limits, messages
        self._programs = 0
        self._tools.forget()
        self._link.restart()
        call_paths.begin()

    def serve(self) -> None:
        """Receive one run frame, run its program, if it has one, and send the done frame.

        Raises HostGoneError if the host closed the socket.
        """
        self._take(self._link.receive())

    def serve_head(self, renewals: Sequence[Callable[[], object]]) -> None:
        """Receive the limits and tools of programs after each of which this process is restored to what it is then.

        `renewals` are called before each of them. Raises HostGoneError if the host closed the socket.
        """
        frame = self._link.receive()
        # They share the CPU time that is counted. The zygote ends this process before one has less than its limit.
        frame["limits"]["cpu"] += 1
        self._take(frame)
        self._renewals = renewals

    def _take(self, frame: dict[str, Any]) -> None:
        in_session = frame.get("session", False)
        if "code" not in frame and frame["tools"]:
            # There is time until its program comes, and most programs call tools.
            self.warm_up(self._rehearsal)
        if "limits" in frame:
            self._prepare(frame)
        if "limits" in frame or in_session:
            # The programs of a session share their process's CPU time, so each one has a limit of its own.
            stack = self._platform.limit(self._limits, in_session=in_session)
            depth.make_room(self._limits["memory"], stack)
        if frame.get("checks"):
            check_programs(self._link, self._tools, self._namespace)
        if "code" in frame:
            for renew in self._renewals:
                renew()
            self._answer(frame, limit=True)

    def _answer(self, frame: dict[str, Any], *, limit: bool) -> None:
        limits = self._limits
        self._begin(frame, limits)
        if limits.get("seed") is not None and self._programs == 1:
            self._clock = chance.pin(limits["seed"], limits.get("clock"), self._platform.forget_lookups)
            self._platform.take_turns(self._link, self._clock)
        elif self._clock is not None and limits.get("clock") is not None:
            self._clock.move_to(limits["clock"])
        self._link.expect(frame.get("recorded"))
        done = self._run(frame, in_session=frame.get("session", False), is_checked="checked" in frame)
        if limit and not frame.get("session"):
            self._end(frame["code"])
        self._platform.release_memory()
        self._tools.closed = RuntimeError("the program is over")
        self._link.end()
        if left_out := PICTURES.finish():
            done["images_left"] = left_out
        try:
            self._output.end()
        except Exception as error:  # noqa: BLE001 - foreign code: a program may have put its own things there
            done.setdefault("error", describe(error, Shapes({}), {})[0])
        done |= {"dropped": self._output.dropped, "repaired": [*self._repairs]}
        if events := self._link.schedule.take_added():
            done["events"] = events
        if not frame.get("session"):
            # No more replies come, and the next worker needs the core.
            self._link.pipe.spin_seconds = 0.0
        self._finish(done, limits["frame"])

    def _prepare(self, frame: dict[str, Any]) -> None:
        """Take the limits and the tools of the next program, which may come later."""
        self._limits, self._messages = frame["limits"], frame["messages"]
        self._link.room = self._limits["outstanding"]
        self._link.most = self._limits["frame"]
        if not self._programs:
            # Made now: the collector looks at nothing that was there before the fork.
            self._main = sys.modules["__main__"] = types.ModuleType("__main__")
            self._namespace = vars(self._main)
            self._namespace.update(__builtins__=sys.modules["builtins"], __annotations__={})
            self._tools.functions(frame["tools"])
            self._tools.bind(self._namespace)

    def _begin(self, frame: dict[str, Any], limits: dict[str, Any]) -> None:
        self._link.pipe.spin_seconds = frame["spin"]
        self._programs += 1
        if self._programs > 1:
            call_paths.begin(self._programs)
        self._output.begin(limits["output"])
        # Each is a frame, in which base64 may make three bytes four.
        PICTURES.begin(min(limits["images"], limits["frame"] // 2), self._link)
        self._tools.begin(limits["calls"], limits["elements"])
        if "results" in frame:
            # A session's program may have variables of these names.
            for name, reader in self._tools.results(frame["results"]).items():
                self._namespace.setdefault(name, reader)
        self._tools.add(frame.get("named", ()), frame.get("unnamed", 0), self._namespace)
        self._unawaited.begin()

    def _run(self, frame: dict[str, Any], *, in_session: bool, is_checked: bool) -> dict[str, object]:
        tree: ast.Module | None = None
        text, older, self._repairs = str(frame["code"]), dict(self._namespace), ()
        try:
            self._running, self._namespace["__file__"] = True, file_name(self._programs)
            text, tree, self._repairs = read_program(text, self._programs, rules=frame.get("rules"))
            if self._programs > 1:
                self._tools.restore(self._namespace, tree)
            known = partial(is_known, namespace=self._namespace)
            self._namespace.update(type_names(tree, text, self._tools.type_texts, known))
            is_unchecked = not is_checked and self._tools.are_named_in(text)
            if is_unchecked and (problems := check_program(tree, text, self._shapes(), self._namespace)):
                return self._refuse(problems, text)
            value = run_compiled(compile_program(tree, self._programs, awaits="await" in text), self._namespace)
            wait_for_threads()
            self._platform.finish_jobs()
            self._output.flush_replacements()
            self._tools.note_replaced(self._namespace, in_session=in_session)
            is_shown = PICTURES.end(value)
            note = self._explain_silence(tree, value, in_session=in_session)
            self._running = False
        except BaseException as error:  # noqa: BLE001 - foreign code: whatever a program raises is its result
            self._running = False
            self._platform.release_memory()
            if self._tools.closed is None:  # otherwise there is no time left to draw in
                with contextlib.suppress(BaseException):  # foreign code: its failure to draw is not the program's error
                    self._output.flush_replacements()
                    PICTURES.end(None)
            return self._failure(error, tree, text, older)
        value = None if is_shown else value
        if note:
            return {"t": "done", "value": None, "described": note}
        try:
            sent = values.encode(value, most=self._limits["elements"], attached=self._attached)
        except values.CannotCrossError as error:
            return self._undelivered_value(value, str(error))
        except BaseException as error:  # noqa: BLE001 - foreign code: a value's own methods may do anything
            return self._undelivered_value(value, describe(error, Shapes({}), {})[0])
        self._last = value  # to be described if it is too long to send
        return {"t": "done", "value": sent}

    def _explain_silence(self, tree: ast.Module, value: object, *, in_session: bool) -> str:
        """Return a note if a program neither printed nor returned anything, and its text says why; else ""."""
        held: list[object] = [*self._namespace.values(), value]
        is_coroutine = type(value) is types.CoroutineType
        if value is not None and not is_coroutine:
            return explain_idleness(tree) if type(value) is str and "\n" in value else ""  # a text may be a plan
        self._output.flush()
        unawaited = self._unawaited.names(held)
        if is_coroutine:
            cast("Any", value).close()  # without CPython's warning, whose line would be one of this runtime
        if self._output.has_printed or PICTURES.count or PICTURES.left_out:
            return ""
        if unawaited or not (self._tools.made or in_session):  # a session's later programs call its functions
            return explain_silence(tree, unawaited, self._namespace)
        name = find_last_assigned(tree)
        assigned = self._namespace.get(name or "")
        # An empty result has causes that the host explains.
        if in_session or assigned is None or (type(assigned) in _SIZED and not assigned):
            return ""
        return f"{name} = {self._describe_value(assigned)}\n{_UNPRINTED}"

    def _undelivered_value(self, value: object, why: str) -> dict[str, object]:
        """Return the done frame of a program whose value cannot be sent."""
        self._attached.clear()
        text = self._describe_value(value)
        reason = f"[This is the value of the last expression, which is not returned: {on_one_line(why, MAX_LINE)}.]"
        return {"t": "done", "value": None, "described": f"{text}\n{reason}"}

    def _describe_value(self, value: object) -> str:
        self._running = True  # its time goes on: a value's `repr` is code of the program
        try:
            text = safe_value_text(value)
        except BaseException:  # noqa: BLE001 - foreign code: a value's own methods may do anything
            text = quoted(value)
        self._running = False
        return text

    def _end(self, text: str) -> None:
        """End the program as CPython would, unless its time is up."""
        try:  # not `suppress`, which writes to 17 more pages
            self._running = self._tools.closed is None
            if self._running:
                self._platform.finish_jobs()
                finish()
                if may_have_finalizers(text):
                    alive = weakref.ref(self._main)
                    self._main, self._namespace = types.ModuleType("__main__"), {}
                    drop_module(alive)
        except BaseException:  # noqa: BLE001, S110 - foreign code: its exceptions no longer matter
            pass
        self._running = False

    def _shapes(self) -> Shapes:
        return find_shapes(self._tools, self._namespace)

    def _suggest(
        self, error: BaseException, tree: ast.Module, text: str, older: Mapping[str, object]
    ) -> tuple[str, dict[str, object]]:
        """Return the correction of a failed program, as text after its traceback, or as a field of the frame.

        An unchecked program, which names no tool, may have meant one. In a session it may still have called one,
        through names that an earlier program defined.
        """
        shapes = self._shapes()
        try:
            if issubclass(type(error), NameError) and not self._tools.are_named_in(text) and not self._tools.made:
                mistakes = check_program(tree, text, shapes, self._namespace)
                return proposal(mistakes, text, shapes, self._namespace) or "", {}
            fix = find_fix(error, text, shapes, self._tools.remembered)
            proposed = proposal(fix, text, shapes, self._namespace)
            if not fix or proposed or not is_repeatable(tree, older, self._tools.described):
                return proposed or "", {}
            return "", self._correct(fix, text, "")
        except BaseException:  # noqa: BLE001 - the program may have changed what looking at it takes
            return "", {}

    def _correct(self, mistakes: Sequence[ProgramMistake], text: str, trace: str) -> dict[str, object]:
        """Return the corrected program for the done frame, if its text does not have it."""
        correction: str | None = None
        if not trace.endswith("```\n"):
            correction = sole_correction(mistakes, text, self._shapes(), self._namespace)
        return {"correction": correction or ""}

    def _refuse(self, mistakes: Sequence[ProgramMistake], text: str) -> dict[str, object]:
        """Return the done frame of a program with mistakes, which has not run."""
        self._running = False
        error, trace = describe_mistakes(mistakes, text, self._shapes(), self._namespace)
        return {"t": "done", "error": error, "trace": trace, "kind": "error", **self._correct(mistakes, text, trace)}

    def _failure(
        self, error: BaseException, tree: ast.Module | None, text: str, older: Mapping[str, object]
    ) -> dict[str, object]:
        if is_clean_exit(error):
            return {"t": "done", "value": None}
        error_kind = "error"
        if is_denial(error):
            error_kind = "denied"
        if issubclass(type(error), MemoryError):
            error_kind = "memory"
        try:
            # The host keeps the whole; JSON may take six characters for one.
            most = min(_MAX_TRACE, self._limits["frame"] // 16)
            line, trace = describe(error, self._shapes(), self._namespace, max(most, _MIN_TRACE))
        except MemoryError:
            line, trace = "MemoryError", "MemoryError\n"
        proposed, fields = "", dict[str, object]()
        if tree is not None and error_kind == "error" and not trace.endswith("```\n"):
            proposed, fields = self._suggest(error, tree, text, older)
        return {"t": "done", "error": line, "trace": trace + proposed, "kind": error_kind, **fields}

    def _finish(self, done: dict[str, object], most: int) -> None:
        value, self._last = self._last, None
        body, problem = b"", ""
        try:
            body = values.dumps(done)
            size = len(body) + sum(map(len, self._attached))
            if size > most:
                problem = f"it has {size:,} bytes, and {limit_error('frame', limit=most, verb='be returned')}"
        except (MemoryError, ValueError) as error:
            problem = f"it is too large to be returned ({type(error).__name__})"
        if problem:
            described = values.dumps(
                self._undelivered_value(value, problem)
                | {name: done[name] for name in ("dropped", "events", "repaired") if name in done}
            )
            least = {"t": "done", "error": f"TypeError: {problem}", "kind": "error", "dropped": 0}
            body = described if len(described) <= most else values.dumps(least)
        self._link.send_body(body, self._attached)
        self._attached.clear()


def replace_builtins() -> None:
    """Give programs their own module of built-ins, with the predefined names.

    A program's changes to it do not affect this runtime or the standard library.
    """
    names = {name: importlib.import_module(name) for name in MODULES} | {"ToolError": ToolError, SETTLE: settle}
    names |= {name: Quitter(name, "the end of input") for name in ("exit", "quit")} | {"help": _Helper()}
    module = types.ModuleType("builtins", builtins.__doc__)
    vars(module).update(vars(builtins) | names)
    sys.modules["builtins"] = module
