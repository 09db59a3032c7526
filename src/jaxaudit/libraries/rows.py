"""The row type of the library model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from jaxaudit.ir.record import record
from jaxaudit.libraries.results import Like, Made, Parts, Result, Shaped

ROLES = {
    "optimizer.init": "makes the state of an optimizer for a tree of parameters",
    "optimizer.step": "takes gradients and state, gives updates and the next state",
    "optimizer.apply": "adds updates to parameters",
    "optimizer.moments": "makes an optimizer whose state has an array like each parameter",
    "optimizer.direct": "makes an optimizer that keeps nothing of a step, unless it has momentum or a schedule",
    "optimizer.whole": "makes an optimizer whose updates are scaled by a learning rate and point downhill",
    "optimizer.limit": "makes a transformation that leaves the direction and the scale of small gradients as they are",
    "optimizer.partition": "makes an optimizer out of several, each for some of the parameters",
    "optimizer.sequence": "makes an optimizer out of several, one after the other",
    "optimizer.decay": "makes a part of an optimizer that adds a share of the parameters to the step",
    "optimizer.chain": "makes one optimizer of others",
    "average": "mixes two trees of parameters leaf by leaf",
    "model.train": "changes the parameters of a model in place",
    "train_state.create": "makes an object of parameters and optimizer state",
    "train_state.replace": "copies it with other fields",
    "train_state.step": "applies gradients to it",
    "module.make": "makes a module of a function",
    "module.convert": "makes a module of a module",
    "module.init": "makes the parameters of a module",
    "module.apply": "runs a module with parameters",
    "module.reads": "reads parameters of the module it is called in, without being handed them",
    "module.variable": "holds an array in a module, and its class says of what kind it is",
    "module.averages": "keeps running averages in the state of the module it is called in",
    "module.own_averages": "keeps running averages in itself, and changes them when it is called",
    "module.draws": "draws with a key of the run that it is called in, but for evaluations",
    "module.scoped": "runs a module with the keys that it is given, and lets change what it is told may change",
    "module.own_draws": "keeps a stream of keys in itself, and counts what it draws when it is called",
    "key.counting": "makes a stream of keys that counts them in a variable",
    "layer": "is a call of a layer",
    "loss.regression": "gives the error between predictions and targets",
    "nonnegative": "gives numbers that are never below zero",
    "loss.of_shares": "gives a cost that is never below zero where its labels lie between zero and one",
    "distribution.numbers": "makes a distribution over numbers, one for each entry of its parameters",
    "distribution.choices": "makes one over classes, along the last axis of its parameters",
    "distribution.vectors": "makes one over vectors, along the last axis of its parameters",
    "distribution.transformed": "makes a distribution of what a bijector makes of another one",
    "distribution.independent": "makes a distribution over arrays of one over their entries",
    "bijector.each": "makes a bijector that changes each number by itself, if those that it is made of do",
    "environment.make": "makes an environment by its name",
    "environment.space": "gives a space of an environment",
    "space": "makes a space",
    "density.correction": "gives by how much a bijector changes volumes",
    "cell.first": "takes the state of a recurrent network first, and gives the next one first",
    "cell.second": "takes the state of a recurrent network second, and gives the next one second",
    "cell.alone": "takes the state of a recurrent network second, and gives nothing but the next one",
    "model.filter": "gives a model with parts of it left out",
    "tree.parted": "chooses entries of a tree by a function of the caller's",
    "model.partition": "gives a model as two, each with parts of it left out",
    "model.split": "gives the structure of a model, and its state in parts",
    "model.state": "gives those parts of a model's state that filters name",
    "model.update": "puts a state into a model",
    "object.change": "changes the object that it is called on in place",
    "model.join": "makes a model of what it was divided into",
    "optimizer.make": "makes an optimizer of its two functions",
    "tree.leaves": "gives the leaves of a tree as a list",
    "tree.flatten": "gives the leaves of a tree and its structure",
    "tree.unravel": "gives a tree like the one that its object was made of",
    "assertion": "raises where arrays are not as they should be",
    "assertion.shapes": "asserts the shapes of its first argument",
    "assertion.ranks": "asserts how many axes its first argument has",
    "assertion.alike": "asserts that arrays have as many axes as one another",
    "assertion.axis": "asserts the size of one axis",
    "assertion.letters": "makes an object that gives shapes by letters",
    "writes": "writes what it is given to a file, or to a service that keeps it",
    "record.copy": "gives a changed copy of a record or tree",
}

_SIDES = (("x1", "x2"), ("a", "b"))
"""What libraries call the two operands of a function that operators stand for: `x` and `y` in the IR."""


@record
class Row:
    """What one library function takes, does and gives."""

    op: str
    """A name of `ir.ops.VOCABULARY`: what a call of it lowers to."""
    params: tuple[str, ...] = ()
    """The function's parameters in order, by the library's own names; `*name` takes the remaining positional ones.
    Keyword-only parameters need no row: keywords bind by their name."""
    key: str = ""
    """The parameter that holds the random key, for `key.*` ops. Always lowered as argument `key`. A call that gives it
    no value uses no key, and is then an ordinary library call."""
    attrs: Mapping[str, object] = field(default_factory=dict)
    """Further attributes of the op."""
    result: Result = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What the parameters hold, of those for which the row says it: `tree`, `function`, ..."""
    roles: frozenset[str] = frozenset()
    """The parts that the function plays in protocols that several libraries share (`ROLES`)."""
    holds: str = ""
    """The parameter with a function, or several, that the object it makes calls later."""
    plain: frozenset[str] = frozenset()
    """Options that are no parameters above and leave the result as the row states it; any other makes it unknown."""

    @property
    def cls(self) -> str:
        """The qualified class of the result (`distrax.Distribution`), so that its methods can be looked up."""
        return self.result.cls if isinstance(self.result, Made) else ""

    @property
    def trees(self) -> tuple[str, ...]:
        """The parameters that hold trees, in order."""
        return tuple(name for name, kind in self.kinds.items() if kind == "tree")

    @property
    def computed_from(self) -> frozenset[str]:
        """The arguments that the shape of the result is computed from."""
        return frozenset(_arguments(self.result))

    def role(self, param: str) -> str:
        """Return the name of a parameter's argument in the IR, which is one for all libraries that have the function."""
        if self.op == "array.map" and self.params in _SIDES:
            return dict(zip(self.params, ("x", "y"), strict=True)).get(param, param)
        return "key" if param == self.key else param

    def position(self, param: str) -> int:
        """Return the place of a parameter among the positional ones, or -1."""
        return self.params.index(param) if param in self.params else -1

    def like(self, position: int | None = None) -> Like | None:
        """Return which argument the result is like, or that item of a result that is a tuple."""
        result = self.result
        if position is not None:
            items = result.items if isinstance(result, Parts) else ()
            result = items[position] if 0 <= position < len(items) else None
        return result if isinstance(result, Like) else None


def _arguments(result: Result) -> Iterator[str]:
    if isinstance(result, Parts):
        for item in result.items:
            yield from _arguments(item)
    elif isinstance(result, Made):
        yield from _arguments(result.inside)
    elif isinstance(result, Shaped):
        yield from result.arguments
