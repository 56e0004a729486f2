"""Counts of test cases, and how they are told: one line a stage, the output of what failed."""

import os
import sys
import time
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LOGS = os.path.join(ROOT, "build", "test-logs")


@dataclass
class Outcome:
    """How many cases passed; the failed ones as (name, output)."""

    passed: int = 0
    failures: list = field(default_factory=list)

    def add(self, other):
        """Adds another outcome to this one."""
        self.passed += other.passed
        self.failures += other.failures

    def fail(self, name, output=""):
        """Counts one failed case."""
        self.failures.append((name, output))


class Report:
    """Collects the stages of one run."""

    def __init__(self):
        self.total = Outcome()
        self._start = time.monotonic()
        self._rows = []

    def stage(self, name, work):
        """Runs `work() -> Outcome` and tells how it went. An exception counts as one failure."""
        say(f"== {name}")
        start = time.monotonic()
        try:
            outcome = work()
        except Exception as error:  # a broken stage must not hide the others
            outcome = Outcome()
            outcome.fail(name, f"{type(error).__name__}: {error}")
        shown = set()
        for failed, output in outcome.failures:
            say(f"FAILED {failed}")
            if output and output not in shown:  # one broken fixture fails many tests
                say(indent(tail(output, 80)))
            shown.add(output)
        self._rows.append((name, time.monotonic() - start, outcome.passed, len(outcome.failures)))
        say(f"== {name}: {outcome.passed} ok, {len(outcome.failures)} not ok, "
            f"{time.monotonic() - start:.0f} s")
        self.total.add(outcome)

    def finish(self):
        """Prints the table, the names of the failed cases and the closing line. Exit code."""
        say("")
        say(f"{'stage':<28}{'seconds':>9}{'ok':>8}{'not ok':>8}")
        for name, seconds, passed, failed in self._rows:
            say(f"{name:<28}{seconds:>9.0f}{passed:>8}{failed:>8}")
        say(f"{'all':<28}{time.monotonic() - self._start:>9.0f}")
        for name, _ in self.total.failures:
            say(f"not ok: {name}")
        say(f"logs: {os.path.relpath(LOGS, ROOT)}")
        say(f"{self.total.passed} passed, {len(self.total.failures)} failed")
        return 1 if self.total.failures or not self.total.passed else 0


def say(text):
    """One line on standard output, at once."""
    print(text, flush=True)
    sys.stdout.flush()


def tail(text, count):
    """The last lines of a text, with a mark where it was cut."""
    lines = text.rstrip().split("\n")
    if len(lines) <= count:
        return "\n".join(lines)
    return "\n".join([f"... {len(lines) - count} lines before ..."] + lines[-count:])


def indent(text):
    """The text moved right, so that a log cannot be taken for the runner's own words."""
    return "\n".join("  | " + line for line in text.split("\n"))
