"""How much a client may ask for."""

from __future__ import annotations

import time
from dataclasses import dataclass

MOST_CLIENTS = 10_000  # addresses whose rate is remembered


@dataclass(frozen=True)
class Limits:
    """Of one server."""

    max_open: int = 10_000
    """Open tickets of a service."""
    max_body: int = 1_048_576
    """Bytes of a request."""
    rate: float = 10_000.0
    """Requests a second from one address, on average; a second's worth may come at once."""


class RequestRates:
    """A bucket of requests for every address, filled at the rate."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._buckets: dict[str, tuple[float, float]] = {}

    def admit(self, address: str, now: float | None = None) -> bool:
        """Whether one more request of this address is within the rate.

        >>> rates = RequestRates(2.0)
        >>> [rates.admit("a", now) for now in (0.0, 0.1, 0.2, 0.6)], rates.admit("b", 0.2)
        ([True, True, False, True], True)
        """
        now = time.monotonic() if now is None else now
        burst = max(1.0, self.rate)
        left, before = self._buckets.get(address, (burst, now))
        left = min(burst, left + (now - before) * self.rate)
        if address not in self._buckets and len(self._buckets) >= MOST_CLIENTS:
            self._forget(now)
        admitted = left >= 1.0
        self._buckets[address] = (left - 1.0 if admitted else left, now)
        return admitted

    def _forget(self, now: float) -> None:
        """Addresses whose buckets are full again; all of them if there are none such."""
        burst = max(1.0, self.rate)
        busy = {
            address: bucket
            for address, bucket in self._buckets.items()
            if bucket[0] + (now - bucket[1]) * self.rate < burst
        }
        self._buckets = busy if len(busy) < MOST_CLIENTS else {}
