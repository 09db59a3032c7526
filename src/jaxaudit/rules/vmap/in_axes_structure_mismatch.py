"""The rule `in-axes-structure-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.ir.trees import Border, Tree
from jaxaudit.libraries.packages import PLAIN, package
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.pytrees._shared.crossing import is_called
from jaxaudit.spans import Span


class InAxesStructureMismatch(Rule):
    """The axes given to `vmap` do not fit the arguments it is called with.

    ## What it does
    Compares `in_axes` with the positional arguments of each call of the mapped function: one entry for each argument,
    and for an argument that is a dict or a tuple, an entry with the same keys or as many items. At least one of them
    is mapped.

    ## Why is this bad?
    `vmap` raises when it is called, or already when it is made: a bare dict is not a tuple of entries. Keyword
    arguments are always mapped over their first axis and have no entry.

    ## Example
        jax.vmap(trace, in_axes={"origin": 0, "centre": None})(scene)

    ## Use instead
        jax.vmap(trace, in_axes=({"origin": 0, "centre": None},))(scene)

    ## When it cannot tell
    When `in_axes` is computed, or arguments come by `*`.
    """

    summary = "`in_axes` has another structure than the arguments."
    always_raises = True

    valid = (
        Example("def f(d, x):\n    return jax.vmap(lambda d, x: x, in_axes=(None, 0))(d, x)\n", "fits"),
        Example(
            "def f(x, y):\n    d = {'a': x, 'b': y}\n"
            "    return jax.vmap(lambda d: d['a'], in_axes=({'a': 0, 'b': None},))(d)\n",
            "a dict in a tuple",
        ),
    )
    invalid = (
        Example(
            "def f(x, y):\n    d = {'a': x, 'b': y}\n"
            "    return jax.vmap(lambda d: d['a'], in_axes={'a': 0, 'b': None})(d)  #!\n",
            "a bare dict",
        ),
        Example("def f(x, y):\n    return jax.vmap(lambda x, y: x + y, in_axes=(0,))(x, y)  #!\n", "too few entries"),
        Example(
            "def f(x, y):\n"
            "    return jax.vmap(lambda d: d['a'], in_axes=({'a': 0, 'c': None},))({'a': x, 'b': y})  #!\n",
            "other keys",
        ),
        Example(
            "import jax\n\ndef f(x, y):\n    return jax.vmap(lambda x, y: x + y, in_axes=(None, None))(x, y)  #!\n",
            "nothing is mapped",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every call of a mapped function whose axes are given."""
        yield from (one for op in program.having(Op.options) for one in _judge(op))


def _judge(op: Op) -> Iterator[Obligation]:
    border, options = op.border, op.options
    if op.name not in ("vmap", "pmap") or package(op.spelling) not in PLAIN:
        return
    if border is None or options is None or "in_axes" not in options or not is_called(op):
        return
    axes = options["in_axes"]
    span = op.wrapped if op.wrapped is not None and op.wrapped.line else op.span
    trouble = _trouble(axes, border, options.get("static_broadcasted_argnums", ()))
    if (
        not trouble
        and "axis_size" not in options
        and not border.keywords
        and not border.open_ended
        and _is_none(axes)
        and axes != ()
    ):
        trouble = f"`{op.name}` maps nothing: every entry of `in_axes` is `None`"
    if trouble:
        yield _mismatch(op, span, trouble)
    elif border.open_ended or not (axes is None or isinstance(axes, (int, tuple))):
        yield unknown(span, "the axes or the arguments are not known")
    elif isinstance(axes, tuple) and not all(map(_is_matched, axes, border.trees)):
        yield unknown(span, "not all parts of an argument whose axes are named are known")
    else:
        yield proved(span, f"`in_axes` fits the arguments on line {op.span.line}")


def _trouble(axes: object, border: Border, static: object) -> str:
    if isinstance(axes, Mapping):
        return "`in_axes` is a dict; it must be a number or a tuple with one entry for each argument"
    if not isinstance(axes, tuple) or border.open_ended:
        return ""
    count = len(border.positional)
    fixed = static if isinstance(static, tuple) else (static,)
    if fixed and all(at < len(axes) or at in fixed for at in range(count)):
        # `pmap` looks up no axis for an argument that is static.
        return ""
    if len(axes) != count:
        return f"`in_axes` has {len(axes)} entries for {count} positional argument{'s' * (count != 1)}"
    found = (
        _misfit(axis, tree, border.name(at)) for at, (axis, tree) in enumerate(zip(axes, border.trees, strict=False))
    )
    return next((text for text in found if text), "")


def _is_none(axes: object) -> bool:
    """Whether axes are `None` at every depth."""
    if isinstance(axes, Mapping):
        return all(map(_is_none, axes.values()))
    return all(map(_is_none, axes)) if isinstance(axes, tuple) else axes is None


def _is_matched(axis: object, tree: Tree) -> bool:
    """Whether an entry of `in_axes` surely fits an argument: one number for all of it, or one for each known part."""
    if isinstance(axis, Mapping):
        same = tree.kind == "dict" and set(axis) == set(tree.keys)
        return same and all(_is_matched(axis[key], part) for key, part in zip(tree.keys, tree.children, strict=True))
    if isinstance(axis, tuple):
        same = tree.kind in ("tuple", "list") and len(axis) == len(tree.children)
        return same and all(map(_is_matched, axis, tree.children))
    return axis is None or isinstance(axis, int)


def _misfit(axis: object, tree: Tree, name: str) -> str:
    where = f" of `{name}`" if name else ""
    if isinstance(axis, Mapping) and tree.kind == "dict" and set(axis) != set(tree.keys):
        odd = sorted(set(axis) ^ set(tree.keys))
        return f"the entry{where} and the argument differ in the key {odd[0]!r}"
    if isinstance(axis, tuple) and tree.kind in ("tuple", "list") and len(axis) != len(tree.children):
        return f"the entry{where} has {len(axis)} items for {len(tree.children)}"
    return ""


def _mismatch(op: Op, span: Span, trouble: str) -> Obligation:
    return Obligation(
        span,
        message=trouble,
        current=f"{trouble}; this raises",
        expected="one entry for each positional argument, each a number, None, or a tree like the argument",
        steps=(Step(op.span, "the mapped function is called here"),),
        suggestion="write a tuple with one entry for each positional argument: `in_axes=(..., ...)`",
    )
