"""How fast a server is asked: evenly, at most so often, and not at all while it wants to be left alone."""

import threading
import time


class Closed(Exception):  # noqa: N818  # a state
    """The judge was closed while something waited."""


class Pace:
    """Gives each request its time: `rate` a second, evenly; `hold` delays all that come later."""

    def __init__(self, rate: float | None) -> None:
        self.gap = 1 / rate if rate else 0.0
        self._next = self._held = 0.0
        self._lock, self._closed = threading.Lock(), threading.Event()

    def wait(self) -> None:
        """Until this request may go. Raises Closed."""
        with self._lock:
            slot = self._slot()
        while True:
            self.sleep(max(slot - time.monotonic(), 0))
            with self._lock:
                if time.monotonic() >= self._held:
                    return
                slot = self._slot()  # told meanwhile to leave the server alone

    def hold(self, seconds: float) -> None:
        """No request before that."""
        with self._lock:
            self._held = max(self._held, time.monotonic() + seconds)

    def _slot(self) -> float:
        slot = max(time.monotonic(), self._next, self._held)
        self._next = slot + self.gap
        return slot

    def sleep(self, seconds: float) -> None:
        """Wait, unless the judge is closed. Raises Closed."""
        if self._closed.wait(seconds):
            raise Closed

    def close(self) -> None:
        """Wake up all that waits."""
        self._closed.set()
