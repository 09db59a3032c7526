"""Audits that a long process holds in memory, by the content of all that was read for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.solve import solve
from jaxaudit.analyses.uses import Uses
from jaxaudit.analyses.versions import Versions
from jaxaudit.config import Config, find_config
from jaxaudit.discover import common_directory, decode_file, find_files, loader, show_path
from jaxaudit.observation.store import facts_of
from jaxaudit.outcome import Outcome
from jaxaudit.reports.model import Finding, Report
from jaxaudit.session import audit

MOST_AUDITS = 16
"""How many audits are held; those that were asked for longest ago go first."""


@dataclass(frozen=True)
class Held:
    """One audit, with the facts behind it when somebody asks."""

    outcome: Outcome

    @property
    def report(self) -> Report:
        """What the audit says."""
        return self.outcome.report

    @cached_property
    def facts(self) -> Facts:
        """The facts about single values."""
        return solve(self.outcome.program, (KeyFacts, Versions, Uses))

    @property
    def is_current(self) -> bool:
        """Whether the files that it read besides those it audited say the same."""
        load = loader(())
        now = ((text, load(path)) for path, text in self.outcome.asked.items())
        return all(text == (None if file is None else file.text) for text, file in now)


class Audits:
    """The audits of one process."""

    def __init__(self) -> None:
        self._held: OrderedDict[object, Held] = OrderedDict()

    def of(self, paths: Sequence[str]) -> Held:
        """Return the audit of some paths, made anew where a file has changed."""
        config = find_config(common_directory(paths))
        texts = {path: _content(path) for path in find_files(paths or (".",), config)}
        known = facts_of(texts)
        key = (Path.cwd(), repr(config), known.digest, tuple(texts.items()))
        held = self._held.pop(key, None)
        if held is None or not held.is_current:
            entered, _ = known.read()
            files = [decode_file(show_path(path), text) for path, text in texts.items()]
            held = Held(audit(files, config, observed=entered))
        self._held[key] = held
        while len(self._held) > MOST_AUDITS:
            self._held.popitem(last=False)
        return held

    def finding(self, name: str) -> tuple[Held, Finding] | None:
        """Return a finding of any audit that is held by its id, the newest audit first."""
        for held in reversed(self._held.values()):
            for one in (*held.report.issues, *held.report.warnings):
                if one.id == name:
                    return held, one
        return None


def settings(paths: Sequence[str]) -> Config:
    """Return the configuration of some paths."""
    return find_config(common_directory(paths))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
