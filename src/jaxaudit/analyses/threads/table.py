"""What each op does to axes, by its name. An op without a row cuts every thread, visibly: its results are new axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.threads import layout, products, regions
from jaxaudit.analyses.threads.relation import Relation, Seen, Types
from jaxaudit.ir import Op

Rule = Callable[[Relation, Seen], None]

TABLE: Mapping[str, Rule] = {
    "array.map": layout.elementwise,
    "array.select": layout.elementwise,
    "array.convert": layout.elementwise,
    "array.normalise": layout.same,
    "array.scan": layout.same,
    "array.reduce": layout.reduce,
    "array.reshape": layout.reshape,
    "array.permute": layout.permute,
    "array.expand": layout.expand,
    "array.squeeze": layout.squeeze,
    "array.join": layout.join,
    "array.split": layout.split,
    "array.move": layout.moved,
    "array.order": layout.order,
    "array.linalg": layout.same,
    "array.create": layout.made,
    "array.dot": products.dot,
    "array.convolve": products.convolve,
    "array.gather": products.gather,
    "array.scatter": products.scatter,
    "py.item": layout.item,
    "py.unpack": layout.unpack,
    "py.const": layout.made,
    "key.seed": layout.made,
    "key.split": layout.keyed,
    "key.draw": layout.keyed,
    "key.fold_in": layout.keyed,
    "key.clone": layout.same,
    "key.wrap": layout.keyed,
    "grad.stop": layout.same,
    "device.place": layout.same,
    "collective": regions.kept,
    "py.call": regions.body,
    "jit": regions.body,
    "grad": regions.gradient,
    "jvp": regions.body,
    "vjp": regions.body,
    "checkpoint": regions.body,
    "custom_jvp": regions.body,
    "custom_vjp": regions.body,
    "transform": regions.body,
    "cond": regions.branches,
    "while": regions.loop,
    "fori": regions.loop,
    "scan": regions.scan,
    "vmap": regions.mapped,
    "map": regions.each,
    "pmap": regions.each,
    "shard_map": regions.sharded,
}


def relation_of(op: Op, types: Types) -> Relation:
    """Return what an op does to axes."""
    relation = Relation()
    rule = TABLE.get(op.name)
    if rule is not None and (op.results or op.operands):
        rule(relation, Seen(op, types))
    return relation
