"""The docstring of a rule as a Markdown page, as every report and `explain` show it."""

from __future__ import annotations

import inspect
import re
from textwrap import dedent

from jaxaudit.rules.base import Rule

_HEADING = re.compile(r"^(## .+)\n(?!\n)", re.MULTILINE)
_INDENTED = re.compile(r"(?:^    .*\n(?:\n+(?=    ))?)+", re.MULTILINE)


def rule_page(rule: type[Rule]) -> str:
    """Return the documentation of a rule as Markdown, with blank lines below headings and fences around code."""
    text = _HEADING.sub(r"\1\n\n", inspect.getdoc(rule) or rule.summary)
    return text if "```" in text else _INDENTED.sub(lambda code: f"```python\n{dedent(code[0])}```\n", text)
