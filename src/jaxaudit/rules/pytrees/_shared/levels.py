"""At which level of a path names stand: those of modules in front, those of their parameters last."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.ir import Op, Program
from jaxaudit.ir.record import record
from jaxaudit.libraries.flax_layers import PARAMETERS
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.trees import nodes

_LINEN = "flax.linen."
_PARAM = "flax.linen.Module.param"


@record
class Names:
    """The names that a program with modules of linen gives to layers, and to anything else that a path may hold."""

    layers: frozenset[str]
    others: frozenset[str]
    has_layers: bool


@remembered
def names_of(facts: Facts) -> Names:
    """Collect the names of layers, of parameters that modules make themselves, and of entries of dicts."""
    program = facts.program
    calls = [op for op in program.named("py.call_library") if op.qualified.startswith(_LINEN)]
    said = [(op, name) for op in calls if isinstance(name := op.arguments.get("name"), str)]
    held = {op.label for op in program.named("py.store_attr") if "flax.linen.Module" in (op.bases or ())}
    own = {name for op, name in said if op.qualified == _PARAM}
    layers = {name for op, name in said if op.qualified != _PARAM} | held
    return Names(
        frozenset(layers),
        frozenset(own | set(_entries(program))),
        any(plays(op.qualified, "module.reads") and op.qualified != _PARAM for op in calls),
    )


def _entries(program: Program) -> Iterator[str]:
    """Return the keys of dicts that the code makes."""
    for op in program.having(Op.border):
        trees = () if op.border is None else op.border.trees
        yield from (key for tree in trees for node in nodes(tree) if node.kind == "dict" for key in node.keys)
    yield from (key for op in program.named("py.set_item") if isinstance(key := op.arguments.get("index"), str))


def misplaced(names: Names, texts: frozenset[str], place: int) -> str:
    """Return why no path has one of some texts in a place; empty where one may."""
    if not names.has_layers or texts & names.others:
        return ""
    if place == 0 and texts <= PARAMETERS and not texts & names.layers:
        return "the first key is the name of a layer, and those of its parameters come last"
    if place == -1 and texts <= names.layers and not texts & PARAMETERS:
        return "the last key is the name of a parameter, and those of layers come before"
    return ""
