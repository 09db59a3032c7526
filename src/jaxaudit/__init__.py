"""Audits JAX programs: what JAX demands of them, and what their own code relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxaudit.version import VERSION

if TYPE_CHECKING:
    from jaxaudit.reports.model import Report

__all__ = ["__version__", "check"]

__version__ = VERSION


def check(*paths: str, select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> Report:
    """Audit Python files and directories without running them, as `jaxaudit check` does."""
    # Imported here, so that `jaxaudit --version` stays fast.
    from jaxaudit.config import find_config
    from jaxaudit.discover import common_directory
    from jaxaudit.session import audit_paths

    config = find_config(common_directory(paths)).with_options(select, ignore, strict=False)
    return audit_paths(paths or (".",), config).report
