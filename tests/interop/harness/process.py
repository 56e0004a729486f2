"""Child processes that cannot outlive the test run.

The kernel kills each child when the runner dies (PR_SET_PDEATHSIG); a normal end stops them one by
one. Nothing is ever killed by name.
"""

import atexit
import ctypes
import os
import signal
import socket
import subprocess

from harness import wait

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
_running = []


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    """A TCP port on 127.0.0.1 that nobody used a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """One child process with its output in a log file."""

    def __init__(self, name, command, log, env=None, cwd=None, stdin=subprocess.DEVNULL, stdout=None):
        self.name = name
        self.log = log
        os.makedirs(os.path.dirname(log), exist_ok=True)
        with open(log, "ab") as out:
            self.child = subprocess.Popen(
                command, stdin=stdin, stdout=stdout or out, stderr=out, cwd=cwd,
                env={**os.environ, **(env or {})}, preexec_fn=_die_with_parent)
        _running.append(self)

    @property
    def pid(self):
        """Process id, also after the end."""
        return self.child.pid

    def alive(self):
        """Whether the process still runs."""
        return self.child.poll() is None

    def signal(self, number):
        """Sends a signal if the process still runs."""
        if self.alive():
            self.child.send_signal(number)

    def stop(self, deadline_s=30):
        """SIGTERM, and SIGKILL if that does not help in time. Returns the exit code."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            code = self.child.wait(deadline_s)
        except subprocess.TimeoutExpired:
            code = self.kill()
        self._forget()
        return code

    def kill(self):
        """SIGKILL. Returns the exit code, -9."""
        self.signal(signal.SIGKILL)
        code = self.child.wait(30)
        self._forget()
        return code

    def pause(self):
        """SIGSTOP: the process keeps its sockets and answers nothing."""
        self.signal(signal.SIGSTOP)

    def resume(self):
        """SIGCONT."""
        self.signal(signal.SIGCONT)

    def memory_bytes(self, key="VmRSS"):
        """Resident memory now (VmRSS) or at most so far (VmHWM)."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) * 1024
        raise OSError(f"no {key} for {self.name}")

    def cpu_seconds(self):
        """User and system time of all its threads so far."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def output(self):
        """All it has said so far."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_ready(self, ready, what, deadline_s=60):
        """Polls `ready()`; an end of the process fails at once with the tail of its log."""
        def check():
            if not self.alive():
                raise RuntimeError(f"{self.name} ended with {self.child.returncode} before {what}:\n"
                                   + self.output()[-3000:])
            return ready()
        return wait.until(check, f"{self.name}: {what}", deadline_s)

    def _forget(self):
        if self in _running:
            _running.remove(self)


@atexit.register
def kill_all():
    """Ends whatever is left."""
    for process in list(_running):
        process.kill()
