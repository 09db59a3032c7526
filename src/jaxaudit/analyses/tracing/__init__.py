"""Tracedness: which values JAX traces, which Python knows, and what each op did with them in each context."""

from jaxaudit.analyses.tracing.boundaries import leaf_of
from jaxaudit.analyses.tracing.domain import TracingDomain
from jaxaudit.analyses.tracing.facts import NUMBER, Kind, Trace, TracingFacts, Visit

__all__ = ["NUMBER", "Kind", "Trace", "TracingDomain", "TracingFacts", "Visit", "leaf_of"]
