"""Writes rows compactly: one line of text gives many functions with the same parameters."""

from __future__ import annotations

from jaxaudit.ir.record import replace
from jaxaudit.libraries.results import ITSELF, Made, parse
from jaxaudit.libraries.rows import Row

Table = dict[str, Row]


def rows(
    prefix: str,
    op: str,
    spec: str,
    *,
    key: str = "",
    result: str = "",
    roles: str = "",
    plain: str = "",
    holds: str = "",
    **attrs: object,
) -> Table:
    """Build a table from lines of the form `name name ...: parameter parameter ... -> result`, all lowered to `op`.

    The prefix is put before each name with a dot. A parameter may say what it holds (`params:tree`). Parameters that
    come by keyword alone are left out, the key too. `results.py` has the notation of results; `result` is that of the
    lines that name none.
    """
    table: Table = {}
    parts, options = frozenset(roles.split()), frozenset(plain.split())
    for line in spec.strip().splitlines():
        names, _, rest = line.partition(":")
        given, _, gives = rest.partition("->")
        params = [param.partition(":") for param in given.split()]
        kinds = {name.lstrip("*"): kind for name, _, kind in params if kind}
        made = parse(gives or result)
        shared = Row(op, tuple(name for name, _, _ in params), key, attrs, made, kinds, parts, holds, options)
        for name in names.split():
            qualified = f"{prefix}.{name}"
            if qualified in table:
                raise ValueError(f"{qualified} has two rows")
            itself = made if isinstance(made, Made) and made.cls == ITSELF else None
            table[qualified] = shared if itself is None else replace(shared, result=Made(qualified, itself.inside))
    return table


def layers(
    prefix: str,
    spec: str,
    *,
    op: str = "py.call_library",
    key: str = "",
    call_key: str = "",
    plain: str = "",
    roles: str = "",
    class_roles: str = "",
) -> Table:
    """Build the rows of layers and of their calls from lines `Name ...: parameters | parameters of the call -> result`.

    `key` is the key that the layer is made with, `call_key` that of its call.
    """
    table: Table = {}
    for line in spec.strip().splitlines():
        names, _, rest = line.partition(":")
        made, _, called = rest.partition("|")
        calls = " ".join(f"{name}.__call__" for name in names.split())
        table |= rows(prefix, op, f"{names}: {made}", key=key, result=ITSELF, plain=plain, roles=class_roles)
        call_op = "key.draw" if call_key else "py.call_library"
        table |= rows(prefix, call_op, f"{calls}: {called}", key=call_key, plain=plain, roles=f"layer {roles}")
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
