"""Our verdicts on the errors of the ecosystem run, read from `judgements.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from audit import Error

FILE = Path(__file__).with_name("judgements.toml")
VERDICTS = ("true", "false", "debatable")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What we think of one error, and why."""

    package: str
    path: str
    rule: str
    text: str
    verdict: str
    why: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The same key as the error's."""
        return self.package, self.path, self.rule, self.text


def read_judgements() -> list[Judgement]:
    """Read all judgements; a verdict that is none of the three is an error."""
    if not FILE.exists():
        return []
    found = [Judgement(**entry) for entry in tomllib.loads(FILE.read_text(encoding="utf-8")).get("judgement", [])]
    for one in found:
        if one.verdict not in VERDICTS:
            raise ValueError(f"{FILE}: {one.path}: the verdict {one.verdict!r} is none of {', '.join(VERDICTS)}")
    return found


def unjudged(errors: list[Error], judged: list[Judgement]) -> list[Error]:
    """Return the errors that nobody has judged."""
    known = {one.key for one in judged}
    return [error for error in errors if error.key not in known]
