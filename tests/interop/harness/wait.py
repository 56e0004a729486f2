"""Waiting for a condition, never for a time."""

import threading
import time

_never = threading.Event()


class Timeout(AssertionError):
    """The condition did not come true in time."""


def until(condition, what, deadline_s=30.0, every_s=0.05):
    """Polls `condition()` until it returns something true, and returns that.

    An exception of kind OSError or AssertionError from the condition counts as "not yet"; the last
    one is named when the deadline of `deadline_s` seconds has passed.
    """
    end = time.monotonic() + deadline_s
    last = None
    while True:
        try:
            value = condition()
            if value:
                return value
            last = f"last value {value!r}"
        except (OSError, AssertionError) as error:
            last = f"last error {error!r}"
        if time.monotonic() >= end:
            raise Timeout(f"not within {deadline_s} s: {what}; {last}")
        _never.wait(every_s)
