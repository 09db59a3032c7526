"""`pytest --jaxaudit`: observes what the tests exercise and audits it at the end of the session.

Every pytest run of everyone who installs jaxaudit loads this module, so without the flag it does nothing, and it
imports nothing that costs time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

_STATE = "_jaxaudit_session"
_OUTCOME = "_jaxaudit_outcome"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag."""
    group = parser.getgroup("jaxaudit", "audit of JAX programs")
    group.addoption("--jaxaudit", action="store_true", help="audit the JAX functions that the tests exercise")
    group.addoption(
        "--no-probe", action="store_true", dest="jaxaudit_no_probe", help="with --jaxaudit: run no derivative rules"
    )


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin to look before the first test module is imported."""
    if not early_config.known_args_namespace.jaxaudit:
        return
    from jaxaudit.frontends.jaxpr.inprocess import Session

    session = Session(probe=not early_config.known_args_namespace.jaxaudit_no_probe)
    session.start()
    setattr(early_config, _STATE, session)


def pytest_configure(config: pytest.Config) -> None:
    """Follow which test runs, where somebody looks."""
    session = getattr(config, _STATE, None)
    if session is not None:
        config.pluginmanager.register(_Follower(session))


class _Follower:
    """Tells the session which test begins; apart, so that nobody is called for it without the flag."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say which test runs from now on."""
        self.session.begin(nodeid)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Audit what was seen; issues make a run fail that would have passed, and so does what could not be audited."""
    observed = getattr(session.config, _STATE, None)
    if observed is None:
        return
    from pathlib import Path

    from jaxaudit.config import find_config
    from jaxaudit.observation.conclude import conclude
    from jaxaudit.surfaces.options import fails

    reply = observed.stop()
    config = find_config(Path(session.config.rootpath))
    outcome = conclude(reply, [one.path for one in reply.captures if one.path], config, sections=False)
    setattr(session.config, _OUTCOME, outcome)
    if exitstatus == 0 and (outcome.faults or fails(outcome.report, strict=config.strict)):
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the report after the tests."""
    outcome = getattr(config, _OUTCOME, None)
    if outcome is None:
        return
    import io

    from jaxaudit.reports.formats.text import render_text

    text = io.StringIO()
    render_text(outcome.report, outcome.sources, text)
    terminalreporter.section("jaxaudit")
    terminalreporter.write_line(text.getvalue())
    for fault in (*outcome.remarks, *outcome.faults):
        terminalreporter.write_line(f"jaxaudit: {fault}")
