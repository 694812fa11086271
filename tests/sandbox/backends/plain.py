"""Programs in plain processes, which nothing confines: the smallest backend."""

import os
import socket
import subprocess
import sys
import threading
from select import select

from ez_ptc.sandbox.host.backend import PooledSandbox
from ez_ptc.sandbox.host.workers.capacity import Capacity
from ez_ptc.sandbox.host.workers.handle import WorkerHandle
from ez_ptc.sandbox.host.workers.ready import ReadyWorkers
from ez_ptc.sandbox.protocol.isolation import Layer, Report


class PlainProcesses:
    """Makes workers, each a process of its own."""

    report = Report((Layer(name="isolation", required=False, held=False, detail="for trusted programs only"),), "plain")

    def __init__(self) -> None:
        self.ready = ReadyWorkers()
        self.refusal, self.refusals = "", 0
        self._starting: dict[socket.socket, subprocess.Popen[bytes]] = {}
        self._started: list[subprocess.Popen[bytes]] = []
        self._is_closed = False
        # A signal handler may interrupt its holder, and come back in the same thread.
        self._lock = threading.RLock()

    @property
    def ordered(self) -> int:
        return len(self._starting)

    def order(self, number: int) -> None:
        for _ in range(number):
            ours, theirs = socket.socketpair()
            with theirs, self._lock:
                if self._is_closed:
                    ours.close()
                    return
                # A real backend isolates this process.
                command = [sys.executable, "-m", "ez_ptc.sandbox.worker.alone", str(theirs.fileno())]
                self._starting[ours] = subprocess.Popen(command, env={}, pass_fds=[theirs.fileno()])

    def receive(self) -> None:
        with self._lock:
            for link in select([*self._starting], [], [], 0)[0]:
                process = self._starting.pop(link, None)
                if process is not None:
                    self._take(link, process)
            self._started = [process for process in self._started if process.poll() is None]

    def _take(self, link: socket.socket, process: subprocess.Popen[bytes]) -> None:
        with link:
            self._started.append(process)
            if link.recv(1) == b"R":
                self.ready.add(WorkerHandle(process.pid, link.detach(), os.pidfd_open(process.pid)))
                self.refusals = 0
            else:
                self.refusal = "the process of a worker did not start"
                self.refusals += 1

    def wait(self) -> None:
        threading.Event().wait(0.02)

    def expect_nothing_late(self) -> None:
        """No order is lost."""

    def ask(self, worker: WorkerHandle) -> None:
        """No one has to be asked."""

    def exit_reason(self, worker: WorkerHandle) -> str:
        return "the program's process has ended"

    def disown(self) -> None:
        self._lock = threading.RLock()
        self.ready.disown()
        for link in self._starting:
            link.close()
        for process in (*self._starting.values(), *self._started):
            process.returncode = 0  # the parent waits for it
        self._starting, self._started = {}, []

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self.ready.close()
            for process in (*self._starting.values(), *self._started):
                process.kill()
                process.wait()
            for link in self._starting:
                link.close()
            self._starting, self._started = {}, []


class PlainSandbox(PooledSandbox):
    """Runs each program in a plain process."""

    def __init__(self) -> None:
        super().__init__(PlainProcesses, Capacity(ready=1, running=8, waiting=100, seconds=60.0))
