"""What asking took: requests, tokens, cost; and the budget, which is never overdrawn."""

import threading
from dataclasses import dataclass

from groupwise.errors import RewardEndedError

_COUNTED = ("requests", "retries", "from_cache", "tokens_in", "tokens_out", "cost", "unparsed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Of a million tokens, and what may be spent; in one currency, whichever."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0
    budget: float | None = None
    requests: int | None = None

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """What these tokens cost."""
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


class Ledger:
    """Counts, from many threads. A request is reserved at the most that it can cost, then settled."""

    def __init__(self, prices: Prices) -> None:
        self.prices = prices
        self._counts: dict[str, float] = dict.fromkeys(_COUNTED, 0.0)
        self._reserved = 0.0
        self._lock = threading.Lock()

    def counts(self) -> dict[str, float]:
        """A copy of what was counted so far."""
        with self._lock:
            return dict(self._counts)

    def count(self, name: str, by: float = 1) -> None:
        """Add to one of the counts."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0.0) + by

    def reserve(self, most: float) -> None:
        """Before a request that costs at most this. Raises RewardEndedError where the budget does not allow it."""
        with self._lock:
            sent, spent = self._counts["requests"], self._counts["cost"]
            if self.prices.requests is not None and sent >= self.prices.requests:
                raise RewardEndedError(
                    f"has sent the {self.prices.requests} requests that judge.budget_requests allows: raise it, or "
                    "judge less"
                )
            if self.prices.budget is not None and spent + self._reserved + most > self.prices.budget:
                raise RewardEndedError(
                    f"has spent {spent:.6g} in {sent:.0f} requests, and the next may take it over judge.budget = "
                    f"{self.prices.budget:g}: raise it, or judge less"
                )
            self._counts["requests"] += 1
            self._reserved += most

    def settle(self, most: float, cost: float = 0.0, *, tokens_in: int = 0, tokens_out: int = 0) -> None:
        """After it: what was reserved, and what it did cost."""
        with self._lock:
            self._reserved -= most
            self._counts["cost"] += cost
            self._counts["tokens_in"] += tokens_in
            self._counts["tokens_out"] += tokens_out
