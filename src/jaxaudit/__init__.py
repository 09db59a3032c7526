"""Audits JAX programs: what JAX demands of them, and what their own code relies on."""

from __future__ import annotations

import jaxaudit.unshadow  # noqa: F401

# isort: split
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jaxaudit.version import VERSION

if TYPE_CHECKING:
    from jaxaudit.reports.model import Report

__all__ = ["__version__", "audit", "check"]

__version__ = VERSION


def check(*paths: str, select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> Report:
    """Audit Python files and directories without running them, as `jaxaudit check` does."""
    # Imported here, so that `jaxaudit --version` stays fast.
    from jaxaudit.config import find_config
    from jaxaudit.discover import common_directory
    from jaxaudit.session import audit_paths

    config = find_config(common_directory(paths)).with_options(select, ignore, strict=False)
    return audit_paths(paths or (".",), config).report


def audit(function: Callable[..., Any], *args: Any, axes: Mapping[str, str] | None = None, **kwargs: Any) -> Report:
    """Trace one call of a function abstractly and audit it with the source of its file; needs jax.

    `axes` names the axes of arguments, such as `{"obs": "batch time feat"}`. Nothing is computed; an exception that
    tracing raises is an issue of the report.
    """
    from jaxaudit.observation.audit import audit_call

    return audit_call(function, args, kwargs, axes or {}).report
