"""A receiver of OpenTelemetry's protocol over HTTP, written from its package of messages."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["Receiver", "receiver"]


@dataclass
class Receiver:
    """What was received: spans, and the last points of each metric by its name."""

    endpoint: str = ""
    bodies: list[bytes] = field(default_factory=list[bytes])
    spans: list[Any] = field(default_factory=list[Any])
    points: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def take(self, path: str, body: bytes) -> None:
        """Take a request."""
        self.bodies.append(body)
        if path == "/v1/traces":
            request: Any = ExportTraceServiceRequest.FromString(body)
            self.spans += [
                span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans
            ]
            return
        metrics: Any = ExportMetricsServiceRequest.FromString(body)
        for resource in metrics.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points = getattr(metric, metric.WhichOneof("data")).data_points
                    self.points.setdefault(metric.name, []).extend(points)

    def parents(self) -> dict[str, list[str]]:
        """Return the names of all spans by that of their parent; "" is none."""
        names = {span.span_id: span.name for span in self.spans} | {b"": ""}
        children: dict[str, list[str]] = {}
        for span in self.spans:
            children.setdefault(names.get(span.parent_span_id, "unknown"), []).append(span.name)
        return children

    def attributes(self, metric: str) -> list[dict[str, str]]:
        """Return the attributes of a metric's points."""
        return [
            {item.key: item.value.string_value for item in point.attributes} for point in self.points.get(metric, ())
        ]


@contextmanager
def receiver() -> Generator[Receiver]:
    """Run a receiver."""
    received, lock = Receiver(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            with lock:
                received.take(self.path, body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received.endpoint = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield received
        finally:
            server.shutdown()
            thread.join()
