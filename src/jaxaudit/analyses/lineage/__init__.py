"""Def-use and lineage: who reads each value, where it comes from, and which value is a newer version of which."""

from jaxaudit.analyses.lineage.index import Flow

__all__ = ["Flow"]
