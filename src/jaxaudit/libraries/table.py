"""Writes rows compactly: one line of text gives many functions with the same parameters."""

from __future__ import annotations

from dataclasses import replace

from jaxaudit.libraries.rows import Row

Table = dict[str, Row]

ITSELF = "itself"
"""As a result: the row belongs to a class, and the result is an object of it."""


def rows(prefix: str, op: str, spec: str, *, key: str = "", result: str = "", **attrs: object) -> Table:
    """Builds a table from lines of the form `name name ...: parameter parameter ...`, all of them lowered to `op`.

    The prefix is put before each name with a dot. Parameters that come by keyword alone are left out, the key too.
    """
    table: Table = {}
    for line in spec.strip().splitlines():
        names, _, params = line.partition(":")
        shared = Row(op, tuple(params.split()), key, attrs, result)
        for name in names.split():
            qualified = f"{prefix}.{name}"
            if qualified in table:
                raise ValueError(f"{qualified} has two rows")
            table[qualified] = replace(shared, result=qualified) if result == ITSELF else shared
    return table


def merge(*tables: Table) -> Table:
    """Joins tables and refuses a name that stands in two of them."""
    joined: Table = {}
    for table in tables:
        twice = joined.keys() & table.keys()
        if twice:
            raise ValueError(f"these names have two rows: {', '.join(sorted(twice))}")
        joined.update(table)
    return joined
