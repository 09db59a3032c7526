"""The one policy on intent: what may be meant lowers a verdict, after the rules have judged and in no other place.

`policy.SIGNALS` lists every sign of purpose with where it is read from and how far it lowers which rules. Rules judge
what the code does; they attach what a sign is looked for in (`Obligation.subject`) and what they rest on
(`Obligation.basis`), and read neither names, nor comments, nor paths.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.rules.base import Obligation, Rule
from jaxaudit.rules.callers import with_callers
from jaxaudit.rules.intent.policy import based, lowered
from jaxaudit.rules.origins import with_origins


def judged(rule: type[Rule], facts: Facts) -> Iterator[Obligation]:
    """Let a rule judge a program, note what its findings rest on and due to whom, and lower what may be meant."""
    found = based(rule, rule().run(facts.program, facts), facts)
    return with_origins(lowered(with_callers(rule, found, facts), facts), facts)
