"""What OpenTelemetry is told of the operations, and what it isn't."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tiered_memory import NotFound
from tiered_memory.scope import digest

_EXPORTER = InMemorySpanExporter()


@pytest.fixture
def spans():
    """The spans that end during the test."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(_EXPORTER))
        trace.set_tracer_provider(provider)
    _EXPORTER.clear()
    return _EXPORTER.get_finished_spans


class TestSpans:
    def test_one_for_each_operation(self, mem, spans):
        """Each operation is a span that says its scope's token and how many things came back."""
        handle = mem.scoped("user:42")
        handle.remember(["exact", "near"])
        handle.recall("q", k=1)
        assert [(span.name, dict(span.attributes)) for span in spans()] == [
            ("tiered_memory.remember", {"tiered_memory.scope": digest("user:42"), "tiered_memory.count": 2}),
            ("tiered_memory.recall", {"tiered_memory.scope": digest("user:42"), "tiered_memory.count": 1}),
        ]

    def test_a_failure(self, mem, spans):
        """A failed operation carries its error's code; its message, which names the id, stays out."""
        with pytest.raises(NotFound):
            mem.update("secret-id", "semantic", text="near")
        (span,) = spans()
        assert span.attributes["error.type"] == "not_found"
        assert span.status.status_code is trace.StatusCode.ERROR
        assert "secret-id" not in span.to_json()

    def test_no_text(self, mem, spans):
        """Neither what is remembered nor what is asked gets into a span."""
        mem.remember("the launch code is 0000", metadata={"who": "nobody-else"})
        mem.recall("which launch code?")
        told = "".join(span.to_json() for span in spans())
        assert "launch" not in told
        assert "nobody-else" not in told
