"""The rule `flatten-loses-field`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import operands_of, walk
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.contracts import TRACING
from jaxaudit.rules.trees import nodes

_HEAD = "@jax.tree_util.register_pytree_node_class\nclass Gauss:\n"
_TAIL = (
    "\n    @classmethod\n    def tree_unflatten(cls, aux, children):\n        return cls(*children)\n\n"
    "def f(x):\n    return jax.jit(lambda g: g.mean * g.clip)(Gauss(x, 1.0, 5.0))\n"
)


_INHERITED = """
class Pair:
    def __init__(self, first, second):
        self.first = first
        self.second = second


@jax.tree_util.register_pytree_node_class
class Scaled(Pair):
    def __init__(self, size):
        super().__init__(jnp.ones(size), jnp.zeros(size))

    def tree_flatten(self):
        return ({children}), None{mark}

    @classmethod
    def tree_unflatten(cls, aux, children):
        made = object.__new__(cls)
        super(cls, made).__init__(*children)
        return made


def scale(pair, x):
    return pair.first * x + pair.second
"""


class FlattenLosesField(Rule):
    """An object does not survive being taken apart and put together again.

    ## What it does
    For classes with a flatten and an unflatten function it follows each field to the parameter of the constructor
    that gets it back, and from there to the attribute that keeps it, or to the attribute of a bare object that is set.
    Each must come back where it was, and as it was: a constructor that keeps `log(std)` must not be given that.
    Lists of data and meta fields must name every field. What is stored in a field later must cross as well.
    `run` and `trace` also take the first objects of each class apart, put them together again and compare.

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
        Example(_INHERITED.format(children="self.first, self.second", mark=""), "the constructor of the base"),
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
        Example(_INHERITED.format(children="self.second, self.first", mark="  #!"), "the constructor of the base"),
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
            _HEAD + "    def __init__(self, mean, clip):\n        self.mean, self.clip = mean, clip\n\n"
            "    def tree_flatten(self):\n        return (self.mean, self.clip), None\n"
            + _TAIL.replace("aux, children", "children, aux")
            .replace("(*children)", "(*children)  #!")
            .replace(", 5.0", ""),
            "the structure comes first",
        ),
        Example(
            _HEAD + "    def __init__(self, mean, std):\n        self.mean, self.log_std = jnp.asarray(mean), 0.0\n"
            "        scale = jnp.log(std)\n        self.log_std = scale\n\n    def tree_flatten(self):\n"
            "        return (self.mean, self.log_std), None\n" + _TAIL.replace("(*children)", "(*children)  #!"),
            "computed again at each rebuild",
        ),
        Example(
            """
            import dataclasses, functools

            @functools.partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=[])  #!
            @dataclasses.dataclass
            class Walk:
                x: jax.Array
                total: jax.Array = dataclasses.field(init=False)

                def __post_init__(self):
                    self.total = jnp.zeros(())

            def run(steps):
                def body(walk, step):
                    new = dataclasses.replace(walk, x=walk.x + step)
                    new.total = walk.total + jnp.abs(step)
                    return new, None
                return jax.lax.scan(body, Walk(jnp.zeros(())), steps)[0].total
            """,
            "a field that is set later and left out",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every class that says how it is taken apart."""
        yield from (_judge(op) for op in program.named("tree.class"))
        stores = [op for op in program.named("py.store_attr") if op.lost]
        rebuilt = _rebuilt(program) if stores else {}
        yield from (_stored(op, rebuilt, facts.flow) for op in stores)


def _rebuilt(program: Program) -> dict[str, Op]:
    """Return a transformation that takes instances apart, for each class that crosses into one or out of one."""
    found: dict[str, Op] = {}
    for op in program.having(Op.border):
        trees = [*(op.border.trees if op.border else ()), *(op.handed.trees if op.handed else ()), op.returned]
        for node in (node for tree in trees if tree is not None for node in nodes(tree)):
            if node.kind == "object" and node.registered == "yes" and op.name in TRACING:
                found.setdefault(node.name, op)
    return found


def _stored(op: Op, rebuilt: dict[str, Op], flow: Flow) -> Obligation:
    """Judge a value that is put into a field which is left out when the object is taken apart."""
    name, where, *declared = op.lost or ()
    crossed = rebuilt.get(name)
    if crossed is None:
        return unknown(op.span, f"no transformation in sight rebuilds a `{name}`")
    if _comes_again(op, flow):
        return proved(op.span, f"`{op.label}` is computed of the other fields, and can be computed again")
    return Obligation(
        where,
        message=f"`{op.label}` is set on a `{name}`, and lost when it is rebuilt: it is neither data nor structure",
        current="every transformation rebuilds the object without it",
        expected="every field that is set later is data, or structure",
        steps=(
            *(Step(span, f"`{op.label}` is declared here") for span in declared),
            Step(op.span, "a value is stored in it here"),
            Step(crossed.span, f"a `{name}` is taken apart and put together again here"),
        ),
        suggestion=f"list `{op.label}` among the fields that are data",
    )


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
    for param, kept, field in zip(params, stored, flattened, strict=True):
        if field and not kept:
            return unknown(op.span, f"whether `{op.class_name}` keeps `{param}` as it is given is not known")
    return proved(op.span, f"every field that `{op.class_name}` is taken apart into comes back where it was")


def _comes_again(op: Op, flow: Flow) -> bool:
    """Whether what is stored is computed of the other fields alone: it can be computed again when it is missing."""
    held = set(op.values or ())
    made_of = walk(op.operands, lambda value: () if value in held else operands_of(flow, value))
    return all(value in held or flow.maker(value) is not None for value in made_of)


def _broken(op: Op, message: str, severity: Severity) -> Obligation:
    return Obligation(
        op.span,
        severity=severity,
        message=message,
        current="every transformation rebuilds the object from what the flatten function gives",
        expected="the fields stand in the order of the constructor's parameters, all of them",
        steps=() if op.other_half is None else (Step(op.other_half, "the other half of the way is written here"),),
        suggestion="flatten every field, in the order in which the constructor takes them",
    )
