"""What Prometheus reads: requests, groups, and the counts of every service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from advmdp.web.exchange import Exchange

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """Counters of one server."""

    def __init__(self, exchanges: Mapping[str, Exchange]) -> None:
        self._exchanges = exchanges
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "advmdp_requests", "Requests answered.", ["call", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "advmdp_request_seconds",
            "From the first byte to the answer.",
            ["call"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._groups = Histogram(
            "advmdp_group_episodes",
            "Episodes closed with one wait for the disk.",
            ["service"],
            buckets=SIZES,
            registry=self._registry,
        )
        self._waits = Histogram(
            "advmdp_group_seconds",
            "Learning from a group and waiting for the disk.",
            ["service"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._known: dict[tuple[str, int], tuple[Any, Any]] = {}  # children, found once
        self._registry.register(self)

    def seen(self, call: str, status: int, seconds: float) -> None:
        """A request was answered."""
        key = (call, status)
        if key not in self._known:
            found = self._requests.labels(call, str(status)), self._seconds.labels(call)
            self._known[key] = found
        counter, histogram = self._known[key]
        counter.inc()
        histogram.observe(seconds)

    def group_of(self, service: str) -> Any:
        """The function that is told of the groups of a service."""
        sizes, waits = self._groups.labels(service), self._waits.labels(service)

        def told(size: int, seconds: float) -> None:
            sizes.observe(size)
            waits.observe(seconds)

        return told

    def collect(self) -> Iterator[Metric]:
        """The counts of the services, at the moment they are read."""
        closed = CounterMetricFamily(
            "advmdp_episodes", "Episodes that are closed.", labels=["service", "how"]
        )
        clipped = CounterMetricFamily(
            "advmdp_clipped_losses", "Losses moved into [0, 1].", labels=["service"]
        )
        still = GaugeMetricFamily("advmdp_open_episodes", "Open tickets.", labels=["service"])
        for name, exchange in self._exchanges.items():
            service = exchange.service
            closed.add_metric([name, "finished"], service.finished)
            closed.add_metric([name, "abandoned"], service.abandoned)
            clipped.add_metric([name], service.clipped)
            still.add_metric([name], service.n_open)
        yield from (closed, clipped, still)

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self._registry)
