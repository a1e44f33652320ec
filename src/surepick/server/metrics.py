"""What the service counts about itself, in Prometheus' words."""

from __future__ import annotations

import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

#: names the folder in which several processes share their counts (prometheus_client reads it)
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)

requests = Counter("surepick_requests", "Requests answered.", ["method", "route", "status"])
seconds = Histogram(
    "surepick_request_seconds",
    "Time from a request to its response; for asks, with the time that they waited.",
    ["route"],
    buckets=_BUCKETS,
)
asked = Counter("surepick_pulls_asked", "Measurements handed out.")
told = Counter("surepick_rewards_told", "Rewards received, by status.", ["status"])
failed = Counter("surepick_pulls_failed", "Measurements that workers gave back.")
refused = Counter(
    "surepick_requests_refused", "Requests refused before they were handled.", ["why"]
)
studies_open = Gauge("surepick_studies_open", "Studies kept open.", multiprocess_mode="livesum")
asks_waiting = Gauge(
    "surepick_asks_waiting", "Asks that wait for a measurement.", multiprocess_mode="livesum"
)
streams_open = Gauge(
    "surepick_streams_open", "Streams of events that are open.", multiprocess_mode="livesum"
)


def text() -> bytes:
    """All counts, of all processes."""
    if FOLDER not in os.environ:
        return generate_latest(REGISTRY)
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return generate_latest(registry)
