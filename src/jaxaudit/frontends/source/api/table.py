"""Writes rows compactly: one line of text gives many functions with the same parameters."""

from __future__ import annotations

from jaxaudit.frontends.source.api.rows import Row

Table = dict[str, Row]


def rows(prefix: str, op: str, spec: str, *, key: str = "", result: str = "", **attrs: object) -> Table:
    """Builds a table from lines of the form `name name ...: parameter parameter ...`, all of them lowered to `op`.

    The prefix is put before each name with a dot. A `key` holds only for the functions that have such a parameter
    by position; functions that take their key by keyword alone list it last.
    """
    table: Table = {}
    for line in spec.strip().splitlines():
        names, _, params = line.partition(":")
        row = Row(op, tuple(params.split()), key, attrs, result)
        for name in names.split():
            qualified = f"{prefix}.{name}" if prefix else name
            if qualified in table:
                raise ValueError(f"{qualified} has two rows")
            table[qualified] = row
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
