"""References: arrays that are read and written in place, as Pallas hands them to a kernel.

`ref[...]` is an array, `ref[i] = v` and `ref.at[i].set(v)` change what the reference is to, and `ref.at[i]` is a
reference again.
"""

from __future__ import annotations

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.likeness import leaf_by_leaf
from jaxaudit.frontends.source.interpret.staging import signature_of
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import Transformed, name_of
from jaxaudit.frontends.source.values.model import Abstract, Leaf
from jaxaudit.frontends.source.values.structure import leaves
from jaxaudit.ir import Value
from jaxaudit.libraries.jax import KERNEL, REFERENCE
from jaxaudit.spans import Span

_BLOCKS = frozenset("grid grid_spec in_specs out_specs scratch_shapes".split())
"""Options by which a kernel sees other blocks than the whole arrays, or further references."""


def is_kernel(callee: Transformed) -> bool:
    """Whether a function is called by Pallas, with references."""
    return callee.spelling == KERNEL


def run_kernel(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> Abstract:
    """Interpret the call of a kernel: it is given references to its inputs and outputs, and gives nothing itself."""
    # Transformations know how to call a function; they come to this module for its references.
    from jaxaudit.frontends.source.interpret import transforms

    made_of = callee.options.get("out_shape")
    outside = [*given.all(), *([] if made_of is None else [made_of])]
    whole = tuple(value for one in outside for value in leaves(it, one)) if _BLOCKS.isdisjoint(callee.options) else ()
    names = signature_of(callee.function).names
    label = name_of(callee.function)
    with it.builder.nested("function", label, span) as region:
        references = [_reference(it, at, whole, name, span) for at, name in enumerate(names)]
        # What a kernel takes by `*` are further references, as many as its options ask for.
        rest = it.unknown("further references", span)
        transforms.call_inside(it, callee.function, Arguments(tuple(references), star=rest), span)
    it.builder.close(region)
    attrs = {"function": label, "spelling": callee.spelling}
    operands = tuple(dict.fromkeys(value for one in given.all() for value in leaves(it, one)))
    result = it.emit("callback", span, attrs=attrs, operands=operands, regions=(region,)).result
    return Leaf(result) if made_of is None else leaf_by_leaf(it, made_of, result, span)


def _reference(it: Interpreter, at: int, whole: tuple[Value, ...], name: str, span: Span) -> Leaf:
    if at >= len(whole):
        return Leaf(it.unknown("a block of an array", span, name).value, REFERENCE)
    made = it.emit("tree.leaf", span, {"like": whole[at], "tree": whole[at]}).result
    made.name = name
    return Leaf(made, REFERENCE)
