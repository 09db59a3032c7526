"""Def-use and lineage: who reads each value, and where it comes from."""

from jaxaudit.analyses.lineage.index import Flow

__all__ = ["Flow"]
