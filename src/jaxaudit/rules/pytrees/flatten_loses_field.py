"""The rule `flatten-loses-field`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, proved

_HEAD = "@jax.tree_util.register_pytree_node_class\nclass Gauss:\n"
_TAIL = (
    "\n    @classmethod\n    def tree_unflatten(cls, aux, children):\n        return cls(*children)\n\n"
    "def f(x):\n    return jax.jit(lambda g: g.mean * g.clip)(Gauss(x, 1.0, 5.0))\n"
)


class FlattenLosesField(Rule):
    """An object does not survive being taken apart and put together again.

    ## What it does
    For classes with a flatten and an unflatten function it follows each field to the parameter of the constructor
    that gets it back, and from there to the attribute that keeps it, or to the attribute of a bare object that is set.
    Each must come back where it was, and as it was: a constructor that keeps `log(std)` must not be given that.
    Lists of data and meta fields must name every field.

    ## Why is this bad?
    Every transformation rebuilds its arguments. A field that is left out returns to its default, and two fields in
    another order change places. Nothing is raised.

    ## Example
        def tree_flatten(self):
            return (self.std, self.mean), None


        def tree_unflatten(cls, aux, children):
            return cls(*children)  # __init__(self, mean, std)

    ## Use instead
        def tree_flatten(self):
            return (self.mean, self.std), None

    ## When it cannot tell
    Unflatten functions that do more than hand fields on are left alone. A field whose default nobody changes in
    this file, or that nobody reads, is a warning.
    """

    summary = "A field is lost or changes place when the object is rebuilt."

    valid = (
        Example(
            _HEAD + "    def __init__(self, mean, std, clip=1.0):\n"
            "        self.mean, self.std, self.clip = mean, std, clip\n\n    def tree_flatten(self):\n"
            "        return (self.mean, self.std, self.clip), None\n" + _TAIL,
            "complete",
        ),
        Example(
            _HEAD + "    def __init__(self, mean, std):\n        self.mean = jnp.asarray(mean)\n"
            "        self.std = jnp.abs(std)\n\n    def tree_flatten(self):\n"
            "        return (self.mean, self.std), None\n" + _TAIL,
            "computing it twice changes nothing",
        ),
    )
    invalid = (
        Example(
            _HEAD + "    def __init__(self, mean, std, clip=1.0):\n"
            "        self.mean, self.std, self.clip = mean, std, clip\n\n    def tree_flatten(self):\n"
            "        return (self.mean, self.std), None  #!\n" + _TAIL,
            "a field is left out",
        ),
        Example(
            _HEAD + "    def __init__(self, mean, std, clip=1.0):\n"
            "        self.mean, self.std, self.clip = mean, std, clip\n\n    def tree_flatten(self):\n"
            "        return (self.std, self.mean, self.clip), None  #!\n" + _TAIL,
            "two fields change places",
        ),
        Example(
            _HEAD + "    def __init__(self, mean, std):\n        self.mean, self.log_std = jnp.asarray(mean), 0.0\n"
            "        scale = jnp.log(std)\n        self.log_std = scale\n\n    def tree_flatten(self):\n"
            "        return (self.mean, self.log_std), None\n" + _TAIL.replace("(*children)", "(*children)  #!"),
            "computed again at each rebuild",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every class that says how it is taken apart."""
        yield from (_judge(op) for op in program.named("tree.class"))


def _judge(op: Op) -> Obligation:
    params, stored, flattened = op.parameters or (), op.stored or (), op.flattened or ()
    if op.problem:
        return _broken(op, op.problem, Severity.ERROR)
    for field, kept in zip(flattened, stored, strict=True):
        if field and kept and kept != field and kept in flattened:
            return _broken(op, f"`{field}` comes back as `{kept}` when `{op.class_name}` is rebuilt", Severity.ERROR)
    for param, kept, field in zip(params, stored, flattened, strict=True):
        if field is None and kept and kept not in flattened:
            text = f"`{kept}` is lost when `{op.class_name}` is rebuilt: it is not flattened"
            return _broken(op, text, Severity.ERROR if param in (op.given_names or ()) else Severity.WARNING)
    return proved(op.span, f"every field of `{op.class_name}` comes back where it was")


def _broken(op: Op, message: str, severity: Severity) -> Obligation:
    return Obligation(
        op.span,
        severity=severity,
        message=message,
        current="every transformation rebuilds the object from what the flatten function gives",
        expected="the fields stand in the order of the constructor's parameters, all of them",
        suggestion="flatten every field, in the order in which the constructor takes them",
    )
