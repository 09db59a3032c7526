"""Programs that say by marks what is found in them: `#! rule` an error, `#? rule` a warning, and nothing else is said.

The marks are taken out before the audit, which reads comments. A line with several findings has their rules in
alphabetical order: `#! rule-a, rule-b #? rule-c`.
"""

import re
import textwrap

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.reports.model import Report
from jaxaudit.session import audit

HEADER = """
import abc
import dataclasses
import functools
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import chex
import distrax
import equinox as eqx
import flax
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import struct
from flax.training.train_state import TrainState
from jax import lax, random, tree_util
from jax.flatten_util import ravel_pytree
from jax.tree_util import register_pytree_node, register_pytree_node_class
"""
"""The imports of every program."""

MARK = re.compile(r"\s*#([!?]) ([a-z0-9-]+(?:, [a-z0-9-]+)*)")
SEVERITIES = {"!": "error", "?": "warning"}

Finding = tuple[int, str, str]
"""The line in the program, the rule, and the severity: `error`, also for what only costs time, or `warning`."""


def marked(program: str) -> list[Finding]:
    """Return what the marks of a program say."""
    found = [
        (number, rule, SEVERITIES[mark[1]])
        for number, line in enumerate(program.splitlines(), 1)
        for mark in MARK.finditer(line)
        for rule in mark[2].split(", ")
    ]
    return sorted(found)


def audited(program: str, header: str = HEADER) -> Report:
    """Return the report of all rules on a program."""
    outcome = audit([SourceFile("program.py", header + textwrap.dedent(MARK.sub("", program)))], Config())
    assert outcome.faults == ()
    return outcome.report


def said(program: str, header: str = HEADER) -> list[Finding]:
    """Return what all rules say of a program."""
    report = audited(program, header)
    start = header.count("\n")
    issues = [(one.line - start, one.rule, "error") for one in report.issues]
    warnings = [(one.line - start, one.rule, "warning") for one in report.warnings]
    return sorted({*issues, *warnings})


def messages(program: str, rule: str) -> list[str]:
    """Return what one rule says of a program in words: of errors, then of warnings."""
    report = audited(program)
    return [one.message for one in (*report.issues, *report.warnings) if one.rule == rule]
