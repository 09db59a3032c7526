"""Audits JAX programs: what JAX demands of them, and what their own code relies on."""

__version__ = "0.1.0"
