"""Finds every rule: those of this package by walking it, those of other packages by their entry points."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import TypeGuard

from jaxaudit import rules
from jaxaudit.rules.base import Rule

GROUP = "jaxaudit.rules"
"""The entry point group under which another package names a module, or a class, that holds rules."""


@cache
def all_rules() -> tuple[type[Rule], ...]:
    """Return every rule, sorted by family and name."""
    found: dict[str, type[Rule]] = {}
    for holder in (*_own_modules(), *[point.load() for point in entry_points(group=GROUP)]):
        for rule in _rules_in(holder):
            found.setdefault(rule.name, rule)
    return tuple(sorted(found.values(), key=lambda rule: (rule.family, rule.name)))


def _own_modules() -> list[ModuleType]:
    walk = pkgutil.walk_packages(rules.__path__, rules.__name__ + ".")
    return [importlib.import_module(info.name) for info in walk if not info.ispkg]


def _rules_in(holder: object) -> list[type[Rule]]:
    members = [holder] if inspect.isclass(holder) else list(vars(holder).values())
    return [one for one in members if _is_rule(one)]


def _is_rule(one: object) -> TypeGuard[type[Rule]]:
    # Asked of an abstract class, `issubclass` would ask each of its subclasses in turn.
    return inspect.isclass(one) and Rule in one.__mro__ and not inspect.isabstract(one)
