"""Finds every rule: those of this package by walking it, those of other packages by their entry points."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from abc import ABCMeta
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

from jaxaudit import rules
from jaxaudit.rules.base import Rule

GROUP = "jaxaudit.rules"
"""The entry point group under which another package names a module, or a class, that holds rules."""


@cache
def all_rules() -> tuple[type[Rule], ...]:
    """Return every rule, sorted by family and name."""
    found: dict[str, type[Rule]] = {}
    for holder in (*_own_modules(), *_other_modules()):
        for rule in _rules_in(holder):
            found.setdefault(rule.name, rule)
    return tuple(sorted(found.values(), key=lambda rule: (rule.family, rule.name)))


def _own_modules() -> Iterator[object]:
    top = Path(rules.__path__[0])
    for folder, folders, files in os.walk(top):
        folders.sort()
        names = (rules.__name__, *Path(folder).relative_to(top).parts)
        for file in sorted(files):
            if file.endswith(".py") and file != "__init__.py":
                yield importlib.import_module(".".join((*names, file.removesuffix(".py"))))


def _other_modules() -> Iterator[object]:
    if not any(map(_names_rules, sys.path)):
        return
    from importlib.metadata import entry_points

    yield from (point.load() for point in entry_points(group=GROUP))


def _names_rules(place: str) -> bool:
    """Whether a package installed there may name rules; to read the files is faster than to import what parses them."""
    try:
        return any(f"[{GROUP}]" in found.read_text("utf-8") for found in Path(place).glob("*.*-info/entry_points.txt"))
    except (OSError, UnicodeDecodeError):
        return True


def _rules_in(holder: object) -> list[type[Rule]]:
    members = [holder] if inspect.isclass(holder) else list(vars(holder).values())
    return [one for one in members if _is_rule(one)]


def _is_rule(one: object) -> TypeGuard[type[Rule]]:
    # Asked of an abstract class, `issubclass` would ask each of its subclasses in turn.
    return isinstance(one, ABCMeta) and Rule in one.__mro__ and not inspect.isabstract(one)
