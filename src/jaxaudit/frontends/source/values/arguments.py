"""The arguments of one call, and how they bind to a parameter list."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.callables import Attribute, BoundMethod, ClassValue, FunctionValue, PartialValue
from jaxaudit.frontends.source.values.heap import DictBox, ListBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Record, Ref, Sequence, TupleValue, placed
from jaxaudit.frontends.source.values.structure import argument, in_a_row
from jaxaudit.ir.record import record, replace
from jaxaudit.libraries.python import COMMAND_LINE
from jaxaudit.spans import Span

OPEN = "the user may set it"
"""Why it is not known what an option holds."""


@record
class Arguments:
    """Positional and keyword arguments; `star` and `stars` hold what `*x` and `**x` gave where it is not known.

    What stands behind such a `*x` has no place of its own either, and is part of `star`.
    """

    positional: tuple[Abstract, ...] = ()
    keywords: Mapping[str, Abstract] = field(default_factory=dict)
    star: Abstract | None = None
    stars: Abstract | None = None
    spread: bool = False
    """Whether some of them were written as `*x`."""

    def all(self) -> list[Abstract]:
        """Return every argument, in order."""
        rest = [value for value in (self.star, self.stars) if value is not None]
        return [*self.positional, *self.keywords.values(), *rest]

    def get(self, position: int, name: str) -> Abstract | None:
        """Return the argument at a position or of a name."""
        if 0 <= position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name)

    def prepended(self, *values: Abstract) -> Arguments:
        """Return the same arguments with further ones in front."""
        return Arguments((*values, *self.positional), self.keywords, self.star, self.stars)


def unfolded(callee: Abstract, given: Arguments) -> tuple[Abstract, Arguments]:
    """Return what a method or a `functools.partial` calls, with the arguments that it brings along."""
    while isinstance(callee, BoundMethod | PartialValue):
        if isinstance(callee, BoundMethod):
            given = given.prepended(callee.receiver)
        else:
            given = replace(given.prepended(*callee.args), keywords={**callee.kwargs, **given.keywords})
        callee = callee.function
    return callee, given


def evaluate_arguments(it: Interpreter, node: ast.Call, *, at_once: bool = False) -> Arguments:
    """Evaluate the arguments of a call expression; `at_once`: the callee runs through iterators before it returns."""
    positional: list[Abstract] = []
    rows: list[Abstract] = []
    spread = False
    for item in node.args:
        if isinstance(item, ast.Starred):
            spread = True
            value = it.evaluate(run_through(item.value))
            items = known_items(it, value)
        else:
            value = placed(it.evaluate(run_through(item) if at_once else item), it.span(item))
            items = (value,)
        if items is None:
            rows.append(value)
        elif not rows:
            positional.extend(items)
        elif isinstance(rows[-1], TupleValue):
            rows[-1] = TupleValue((*rows[-1].items, *items))
        else:
            rows.append(TupleValue(items))
    keywords: dict[str, Abstract] = {}
    stars: Abstract | None = None
    for keyword in node.keywords:
        value = placed(it.evaluate(keyword.value), it.span(keyword.value))
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Ref) and isinstance(box := it.heap[value], DictBox) and box.rest is None:
            keywords.update((str(key), item) for key, item in box.entries.items())
        else:
            stars = value
    return Arguments(tuple(positional), keywords, _in_a_row(it, rows, it.span(node)), stars, spread)


def _in_a_row(it: Interpreter, rows: list[Abstract], span: Span) -> Abstract | None:
    """Return what all that stands from the first unknown `*x` on gives."""
    if len(rows) < 2:
        return next(iter(rows), None)
    return in_a_row(it, [argument(it, row, span) for row in rows], span)


def run_through(node: ast.expr) -> ast.expr:
    """Return a generator expression as the list that it gives to whoever runs through it at once."""
    return (
        ast.copy_location(ast.ListComp(node.elt, node.generators), node) if isinstance(node, ast.GeneratorExp) else node
    )


def known_items(it: Interpreter, value: Abstract) -> tuple[Abstract, ...] | None:
    """Return the items of a sequence that is known item by item; None for any other value."""
    if isinstance(value, (TupleValue, Record)):
        return value.items
    if isinstance(value, ClassValue):
        members = [name for name, held in value.namespace.items() if not isinstance(held, FunctionValue)]
        named = (name for name in members if not name.startswith("_"))
        return tuple(Attribute(value, name) for name in named) if value.kind == "enum" else None
    if isinstance(value, Ref):
        box = it.heap[value]
        if isinstance(box, ListBox):
            return box.items
        if isinstance(box, DictBox) and box.rest is None:
            return tuple(Const(key) for key in box.entries)
    return None


def is_command_line(value: Abstract | None) -> bool:
    """Whether something is the options of a command line, by name: whatever is not among them keeps its default."""
    return isinstance(value, Leaf) and value.cls == COMMAND_LINE


def is_numeric(it: Interpreter, value: Abstract) -> bool:
    """Whether something is a number, or numbers alone; a switch is none."""
    if isinstance(value, Const):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    items = known_items(it, value) if isinstance(value, TupleValue | Ref) else None
    listed = not isinstance(value, Ref) or isinstance(it.heap[value], ListBox)
    return bool(items) and listed and all(is_numeric(it, one) for one in items or ())


def bind(
    it: Interpreter, params: ast.arguments, defaults: Mapping[str, Abstract], given: Arguments, where: ast.AST
) -> dict[str, Abstract]:
    """Bind arguments to a Python parameter list; what is missing becomes unknown."""
    names = [param.arg for param in (*params.posonlyargs, *params.args)]
    bound: dict[str, Abstract] = dict(zip(names, given.positional, strict=False))
    keywords = dict(given.keywords)
    for at, param in enumerate((*params.posonlyargs, *params.args, *params.kwonlyargs)):
        name = param.arg
        if name in keywords and name not in bound:
            bound[name] = keywords.pop(name)
        if name not in bound:
            behind = at - len(given.positional) if at < len(names) and name not in defaults else None
            bound[name] = _missing(it, param, defaults, given, behind)
    if params.vararg is not None:
        bound[params.vararg.arg] = _rest(it, params.vararg, given, len(names))
    if params.kwarg is not None:
        rest_value = None if given.stars is None else _as_leaf(it, given.stars, params.kwarg).value
        bound[params.kwarg.arg] = it.heap.new(DictBox(keywords, rest_value))
    return bound


def _rest(it: Interpreter, param: ast.arg, given: Arguments, taken: int) -> Abstract:
    """Return what `*rest` of a function holds whose first `taken` arguments have a parameter of their own."""
    rest, star = given.positional[taken:], given.star
    if star is None:
        return TupleValue(rest)
    if isinstance(star, Sequence) and len(given.positional) == taken:
        return Sequence(star.item, kind="tuple")
    return _as_leaf(it, star, param)


def _missing(
    it: Interpreter, param: ast.arg, defaults: Mapping[str, Abstract], given: Arguments, behind: int | None
) -> Abstract:
    """Return what a parameter is that no argument was bound to; `behind`: the item of `*x` that it must be."""
    if behind is not None and isinstance(given.star, Leaf) and given.stars is None:
        item = it.emit("py.item", it.span(param), {"base": given.star.value, "index": behind}).result
        item.name = param.arg
        return Leaf(item)
    if given.star is None and given.stars is None and param.arg in defaults:
        return defaults[param.arg]
    reason = "given by * or **" if given.star is not None or given.stars is not None else "no argument is given"
    return it.unknown(reason, it.span(param), param.arg)


def _as_leaf(it: Interpreter, value: Abstract, param: ast.arg) -> Leaf:
    if isinstance(value, Leaf):
        return value
    return it.unknown("given by * or **", it.span(param), param.arg)


@record
class Fit:
    """How what a call gives compares with the parameters of what it calls; both texts are empty where it fits."""

    wrong: str = ""
    """Why the call raises."""
    open: str = ""
    """Why it cannot be told."""
    loose: tuple[str, ...] = ()
    """The keywords that no parameter has: `**` takes them."""


@record
class Parameters:
    """What a function takes: what may be given by position, what has a name, and what must be given."""

    places: tuple[str, ...]
    named: frozenset[str]
    required: tuple[str, ...]
    rest: bool = False
    """Whether any number of further positional arguments may be given."""
    others: bool = False
    """Whether any other keyword may be given."""


def parameters(function: FunctionValue) -> Parameters:
    """Return what a function takes."""
    params = function.node.args
    only = tuple(param.arg for param in params.kwonlyargs)
    behind = [param.arg for param in params.posonlyargs]
    places = (*behind, *(param.arg for param in params.args))
    required = tuple(name for name in (*places, *only) if name not in function.defaults)
    named = frozenset((*places, *only)).difference(behind)
    return Parameters(places, named, required, params.vararg is not None, params.kwarg is not None)


def fit(params: Parameters, given: Arguments, kind: str = "parameter") -> Fit:
    """Compare arguments with parameters: too many always count, missing ones where all that is given is known."""
    count = len(given.positional)
    taken = params.places[:count]
    if count > len(params.places) and not params.rest:
        most = len(params.places)
        return Fit(f"takes {most} positional argument{'s' if most != 1 else ''} and is given {count}")
    strange = [name for name in given.keywords if name not in params.named]
    if strange and not params.others:
        return Fit(f"has no {kind} `{strange[0]}`")
    twice = [name for name in taken if name in given.keywords and name in params.named]
    if twice and given.star is None:
        return Fit(f"is given `{twice[0]}` twice")
    missing = [f"`{name}`" for name in params.required if name not in taken and name not in given.keywords]
    takes_all = params.rest and not missing and given.stars is None
    if (given.star is not None or given.stars is not None) and not takes_all:
        return Fit(open=f"what `{'*' if given.stars is None else '**'}` gives is not known")
    return Fit(f"is given nothing for {' and '.join(missing)}" if missing else "", loose=tuple(strange))
