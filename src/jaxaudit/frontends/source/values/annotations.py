"""Annotations: what a parameter or a field is said to be, where the name leads to a class that is known."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache

from jaxaudit.frontends.source.classes.members import ancestry
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.modules import Module
from jaxaudit.frontends.source.values.callables import ClassValue, Library, ModuleValue
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Record
from jaxaudit.ir import Value
from jaxaudit.libraries.lookup import canonical

# Types of arrays and of plain Python values: their methods are looked up as those of arrays, or not at all.
_PLAIN = frozenset(
    """jax.Array jax.numpy.ndarray numpy.ndarray chex.Array chex.ArrayTree chex.PRNGKey chex.Numeric chex.Scalar
    jax.typing.ArrayLike jax.random.PRNGKey jax.core.Tracer""".split()
)
_AMBIGUOUS = frozenset(("haiku.Transformed", "haiku.TransformedWithState"))
"""Types that do not say how they are called: `without_apply_rng` gives the same type and takes one argument less."""


def annotated_value(it: Interpreter, annotation: ast.expr | None, value: Value, module: Module) -> Abstract:
    """Return a value nothing is known of but its annotation."""
    named = None if annotation is None else resolve(annotation, module)
    if isinstance(named, Library):
        name = canonical(named.name)
        last = name.rpartition(".")[2]
        known = (
            last[:1].isupper()
            and name not in _PLAIN | _AMBIGUOUS
            and name.partition(".")[0] not in ("builtins", "typing")
        )
        return Leaf(value, name if known else "")
    if isinstance(named, ClassValue):
        return instance(it, named, value, derived=True)
    return Leaf(value)


def instance(it: Interpreter, cls: ClassValue, value: Value, *, derived: bool = False) -> Abstract:
    """Return an instance of a class of the audited code, or of one derived from it, of which nothing more is known."""
    if cls.kind == "namedtuple":
        items = [it.emit("py.attr", value.span, {"base": value}, {"name": name}).result for name in cls.fields]
        for item, name in zip(items, cls.fields, strict=True):
            item.name = name
            if value in it.outside:
                it.stores.reads(cls, name, item, it.builder.root)
        return Record(cls, tuple(Leaf(item) for item in items), derived=derived)
    if cls.kind == "enum":
        return Leaf(value)
    return it.heap.new(ObjectBox(cls, {}, value, derived=derived))


def field_annotation(cls: ClassValue, name: str) -> tuple[ast.expr, Module] | None:
    """Return the annotation of a field, with the module it is written in."""
    for current in ancestry(cls):
        annotation = None if current.node is None else _annotations(current.node).get(name)
        if annotation is not None:
            return annotation, current.frame.module
    return None


@lru_cache(maxsize=4096)
def _annotations(node: ast.ClassDef) -> Mapping[str, ast.expr]:
    """Return the annotations of the fields that a class declares; the first of each."""
    found: dict[str, ast.expr] = {}
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            found.setdefault(one.target.id, one.annotation)
    return found


def resolve(annotation: ast.expr, module: Module) -> Abstract | None:
    """Follow a plain or dotted name, quoted or not; anything more (unions, optionals, generics) says too little."""
    annotation = unquoted(annotation)
    if isinstance(annotation, ast.Name):
        return module.member(annotation.id)
    if isinstance(annotation, ast.Attribute):
        base = resolve(annotation.value, module)
        if isinstance(base, Library):
            return Library(f"{base.name}.{annotation.attr}")
        if isinstance(base, ModuleValue):
            return base.module.member(annotation.attr)
    return None


def unquoted(annotation: ast.expr) -> ast.expr:
    """Return what an annotation says, where it is quoted too."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval").body
        except (SyntaxError, ValueError):
            pass
    return annotation
