"""The keys domain: where each random key comes from, and where it is used."""

from jaxaudit.analyses.keys.domain import KeysDomain
from jaxaudit.analyses.keys.facts import KeyFacts
from jaxaudit.analyses.keys.uses import How, Scope, Use

__all__ = ["How", "KeyFacts", "KeysDomain", "Scope", "Use"]
