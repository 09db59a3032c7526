"""The rule `in-axes-structure-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.ir.trees import CONTAINERS, Border, Tree
from jaxaudit.libraries.packages import PLAIN, package
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.prefixes import is_matched, over_arguments, places, written, written_at
from jaxaudit.rules.pytrees._shared.crossing import is_called
from jaxaudit.rules.trees import Misfit
from jaxaudit.spans import Span

_FIRST = Tree("number")
"""What stands for `in_axes` where it is not given, and for keyword arguments always: the first axis."""


class InAxesStructureMismatch(Rule):
    """The axes given to `vmap` do not fit the arguments it is called with.

    ## What it does
    Compares `in_axes` with the positional arguments of each call of the mapped function: one entry for each argument,
    and for an argument that is a dict or a tuple, an entry with the same keys or as many items. At least one of them
    is mapped, and no number of Python's is: it has no axis.

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
        Example(
            "def f(x):\n    return jax.vmap(lambda x, p: x * p['rate'], in_axes=(0, None))(x, {'rate': 0.5})\n",
            "a number for all",
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
        Example(
            "turned = jax.vmap(jnp.roll, in_axes=(0, 0, 0))  #!\n\ndef f(x, steps):\n    return turned(x, steps, -1)\n",
            "the axis of a function of JAX",
        ),
        Example(
            "def f(x):\n    return jax.vmap(lambda x, p: x * p['rate'])(x, {'rate': 0.5})  #!\n", "a number has no axis"
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every call of a mapped function whose axes are given."""
        yield from (one for op in program.having(Op.options) for one in _judge(op))


def _judge(op: Op) -> Iterator[Obligation]:
    border, options, axes = op.border, op.options, written(op, "in_axes")
    if op.name not in ("vmap", "pmap") or package(op.spelling) not in PLAIN:
        return
    if border is None or options is None or not is_called(op):
        return
    span, static = written_at(op), options.get("static_broadcasted_argnums", ())
    if "in_axes" not in options:
        if (number := _number(op, border, _FIRST, static)) is not None:
            yield _mismatch(op, op.span, number)
        return
    if axes is None:
        return
    trouble = str(_trouble(op, axes, border, static) or _number(op, border, axes, static) or "")
    if not trouble and "axis_size" not in options and not border.keywords and not border.open_ended and _is_none(axes):
        trouble = f"`{op.name}` maps nothing: every entry of `in_axes` is `None`"
    if trouble:
        yield _mismatch(op, span, trouble)
    elif border.open_ended or axes.kind not in ("none", "number", "tuple", "list"):
        yield unknown(span, "the axes or the arguments are not known")
    elif axes.children and not all(map(is_matched, axes.children, border.trees)):
        yield unknown(span, "not all parts of an argument whose axes are named are known")
    else:
        yield proved(span, f"`in_axes` fits the arguments on line {op.span.line}")


def _trouble(op: Op, axes: Tree, border: Border, static: object) -> Misfit | None:
    if border.open_ended and axes.kind in ("tuple", "list"):
        return None
    fixed, count = static if isinstance(static, tuple) else (static,), len(axes.children)
    if fixed and axes.children and all(at < count or at in fixed for at in range(len(border.positional))):
        # `pmap` looks up no axis for an argument that is static.
        return None
    return over_arguments(op, "in_axes", border.positional, border.params)


def _number(op: Op, border: Border, axes: Tree, static: object) -> str | None:
    """Return that a number of Python's is mapped, which has no axis; None where none is."""
    fixed = static if isinstance(static, tuple) else (static,)
    several = axes.children if axes.kind in ("tuple", "list") else ()
    for at, tree in enumerate(border.trees):
        named = at >= len(border.positional)
        entry = _FIRST if named else several[at] if at < len(several) else axes
        if (at not in fixed or named) and (path := _mapped_number(entry, tree)) is not None:
            return f"`{op.name}` maps `{border.name(at) or f'argument {at + 1}'}{path}`, a number, which has no axis"
    return None


def _mapped_number(axes: Tree, tree: Tree) -> str | None:
    """Return the path of the first number in a tree that an axis is given for."""
    if axes.kind == "none" or tree.kind == "number":
        return "" if axes.kind == tree.kind == "number" else None
    if tree.kind not in CONTAINERS and tree.registered != "yes":
        return None
    for at, child in enumerate(tree.children):
        key = tree.keys[at] if at < len(tree.keys) else at
        entry = axes.child(str(key)) or axes if axes.keys else axes.children[at] if at < len(axes.children) else axes
        if (path := _mapped_number(entry, child)) is not None:
            return (f"[{key!r}]" if tree.kind in ("dict", "tuple", "list") else f".{key}") + path
    return None


def _is_none(axes: Tree) -> bool:
    """Whether axes are `None` at every depth."""
    return all(map(_is_none, axes.children)) if axes.children else axes.kind == "none"


def _mismatch(op: Op, span: Span, trouble: str) -> Obligation:
    return Obligation(
        span,
        message=trouble,
        current=f"{trouble}; this raises",
        expected="one entry for each positional argument, each a number, None, or a tree like the argument",
        steps=(*places(op, "in_axes"), Step(op.span, "the mapped function is called here")),
        suggestion="write a tuple with one entry for each positional argument: `in_axes=(..., ...)`",
    )
