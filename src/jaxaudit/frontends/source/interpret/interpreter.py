"""The abstract interpreter: its state, and the dispatch from syntax to what knows each kind (`dispatch.py`).

It executes a program without running it: every statement is read in the order Python would, structure is followed
exactly as far as it is known, and what happens to everything else is written down as IR. Whatever is not modelled
becomes an unknown value with a reason; nothing is guessed and nothing of the audited code is ever imported or run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from jaxaudit.frontends.source.interpret import ends
from jaxaudit.frontends.source.interpret.budget import Budget
from jaxaudit.frontends.source.interpret.modules import Module, Project
from jaxaudit.frontends.source.interpret.stores import Stores
from jaxaudit.frontends.source.interpret.syntax import FunctionNode
from jaxaudit.frontends.source.values.callables import Attribute, ClassValue, FunctionValue, ModuleValue, Transformed
from jaxaudit.frontends.source.values.frames import Frame
from jaxaudit.frontends.source.values.heap import Heap
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf
from jaxaudit.ir import Argument, ArrayType, Declared, Exit, Op, Region, Root, Value
from jaxaudit.ir.builder import Builder
from jaxaudit.ir.fits import CallFit
from jaxaudit.ir.functions import COMPARISONS, KINDS
from jaxaudit.ir.ops import REPEATED
from jaxaudit.spans import Span, span_of

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.derivatives import Rules
    from jaxaudit.frontends.source.interpret.regions import Entered, Parametrised
    from jaxaudit.frontends.source.notes.iterators import Opened
    from jaxaudit.frontends.source.values.arguments import Arguments
    from jaxaudit.frontends.source.values.sides import Sides

Reads = tuple[dict[tuple[Value, str], Leaf], dict[str, Abstract]]
"""Attributes and module-level variables that were read already."""

_COMPILED = frozenset(("jit", "pmap", "shard_map"))
"""Transformations that keep what they traced and run it again and again."""

_TRACED_ONCE = _COMPILED | REPEATED
"""Transformations that run what they traced more than once: in later calls, or in later turns."""

_ASKING = frozenset(("array.shape", "array.map", "py.operator", "py.join"))
"""Ops that ask what kind of array something is, or compare and combine the answers."""

_NOTHING: Mapping[str, Argument] = {}
_NO_ATTRS: Mapping[str, object] = {}


def _answers(op: Op, kinds: set[Value]) -> bool:
    """Whether an op compares or combines some of the values that tell what kind of array something is."""
    return (op.name != "array.map" or op.function in COMPARISONS) and not kinds.isdisjoint(op.operands)


class Language(NamedTuple):
    """What knows how each kind of syntax is interpreted."""

    expressions: Mapping[type[ast.AST], Callable[..., Abstract]]
    statements: Mapping[type[ast.AST], Callable[..., Exit]]
    call: Callable[[Interpreter, Abstract, Arguments, Span], Abstract]
    """Calls an abstract value."""
    load: Callable[[Interpreter, Attribute, Span], Leaf]
    """Reads an attribute that turned out to be data rather than a method."""
    enter: Callable[[Interpreter, Module], None]
    """Interprets the top level of a module, if nobody has."""


class Interpreter:
    """The state of one reading: the open frame, the heap, the builder, and what has been entered so far."""

    def __init__(self, project: Project, language: Language) -> None:
        self.project, self.language = project, language
        self.builder, self.heap = Builder(), Heap()
        self.frame: Frame
        self.rebound: list[dict[tuple[Frame, str], Abstract]] = []
        """For each open loop, which variables of enclosing functions it changed, and what they held before."""
        self.entered: set[FunctionNode] = set()
        self.left_out: dict[FunctionNode, str] = {}
        """Functions that are not entered on purpose, and why."""
        self.packed: dict[Span, tuple[str, ...]] = {}  # What the items of each tuple are called where it is written.
        self.defined: dict[FunctionNode, FunctionValue] = {}
        """Every function met so far, by its latest value: an earlier one may belong to an abandoned attempt."""
        self.wrappers: dict[FunctionNode, Transformed] = {}
        """The outermost transformation each function was given to."""
        self.derivatives: dict[FunctionNode, Rules] = {}
        """The rules of functions with their own derivative."""
        self.served: dict[FunctionNode, FunctionValue] = {}
        """The function that each rule for a derivative belongs to."""
        self.followed_rules: dict[FunctionNode, list[Span]] = {}
        """The calls whose rules were interpreted."""
        self.active: list[FunctionNode] = []
        """Functions being interpreted now, outermost first."""
        self.handed_on: ast.expr | None = None
        """The expression that is all that the open region does, as a `lambda` has that a loop or a map runs."""
        self.rebuilding: set[int] = set()
        """Objects being copied now."""
        self.loaded: dict[tuple[Value, str], Leaf] = {}
        """Attributes already read from objects that are known as one value only."""
        self.read_from: set[Value] = set()
        """The objects among whose attributes some were read."""
        self.updates: dict[Value, Mapping[str, Argument]] = {}
        """What each `x.at[i]` refers to: its base and index."""
        self.uncalled: FunctionNode | None = None
        """The function that is interpreted though nobody calls it: its arguments are made up."""
        self.compiled: list[Entered] = []
        """The marks of the compiled functions that are open: what is older than the last was captured by it."""
        self.traced: list[Entered] = []  # The same, and loops: whatever is traced once and runs more than once.
        self.budget = Budget(sum(module.text.count("\n") for module in project.modules.values()))
        self.roots: list[Root] = []
        self.declared: dict[Value, Declared] = {}
        self.stores = Stores()
        self.outside: set[Value] = set()
        """Objects that come from outside: the parameters of roots, and what is read from them or handed on."""
        self.replaceable: dict[Value, str] = {}
        """Methods that were read of objects which may have others in their place, by name."""
        self.handed: set[int] = set()  # Containers and objects given to code out of sight, which may have changed them.
        self.observed: dict[Value, ArrayType] = {}
        """The types that arguments had in runs and tests."""
        self.options: dict[Value, dict[str, Abstract]] = {}
        """What each parser of a command line gives for its options unless the user sets them."""
        self.flags: dict[str, Abstract] = {}
        """The same for the flags that a program defines."""
        self.makers: dict[int, FunctionValue | None] = {}
        """The function that made an object, None for a module's top level."""
        self.unfinished: list[Abstract] = []
        """The objects whose constructors are open."""
        self.taken: set[ast.stmt] = set()
        """The first statements of the sides of conditions that were interpreted."""
        self.decided: dict[int, Const] = {}
        """The switches that chose something on the way to here, by their identity."""
        self.standing: dict[Value, Value] = {}
        """What stands for a value of a caller in a function that is read in place, and that value."""
        self.sides: Sides = {}
        """What the conditions ask whose sides are open, and the answers."""
        self.chosen: dict[Value, tuple[tuple[Sides, Abstract], ...]] = {}
        """For values that a condition chose, what it asked for each of the things it may be."""
        self.set_up: set[int] = set()  # The linen modules whose `setup` was run.
        self.schedules: set[FunctionNode] = set()  # What optimizers call with the number of steps taken.
        self.optimizers: dict[ast.AST, FunctionValue] = {}  # For the `update` of an optimizer its `init`.
        self.written: dict[Span, dict[str, Span]] = {}  # Options of a transformation, by the call that made it.
        self.iterators: dict[object, Opened] = {}  # By the identity of what stands for them.
        self.classes: list[ClassValue] = []
        self.compared: dict[Span, CallFit] = {}
        """How calls compare with the parameters of what they call, those that are refused excepted."""
        self.kinds: set[Value] = set()
        """Values that tell what kind of array something is, and answers to questions about them."""
        self.ends: dict[Value, tuple[Value, int]] = {}  # Which axis of which array a number names: `ends.py`.
        self.unpacked: dict[Span, int] = {}  # How many parts are unpacked where that many are known to be there.
        self.mapped: dict[object, tuple[int, tuple[Abstract, ...]]] = {}  # Trees of tuples: `notes/unpacking.py`.
        self.heirs: dict[ClassValue, list[ClassValue]] = {}  # Each class with those that inherit from it.

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.excepthandler | ast.alias) -> Span:
        """Return the place of a node in the file being interpreted."""
        # Most nodes are met again and again, so the place is kept where the node keeps what else is known of it.
        found = node.__dict__.get("span")
        if found is None:
            found = node.__dict__["span"] = span_of(node, self.frame.module.path)
        return found

    def emit(
        self,
        name: str,
        span: Span,
        arguments: Mapping[str, Argument] = _NOTHING,
        attrs: Mapping[str, object] = _NO_ATTRS,
        *,
        operands: tuple[Value, ...] | None = None,
        results: int | tuple[Value, ...] = 1,
        regions: tuple[Region, ...] = (),
    ) -> Op:
        """Append an op to the open region."""
        if self.frame.guarded:
            attrs = {**attrs, "guarded": True}
        if known := self.frame.asked:
            used = arguments.values() if operands is None else operands
            asked = tuple(known[one] for one in used if isinstance(one, Value) and one in known)
            attrs = {**attrs, "questioned": asked} if asked else attrs
        op = self.builder.emit(name, span, arguments, attrs, operands=operands, results=results, regions=regions)
        if name in _ASKING:
            if op.function in KINDS or (self.kinds and _answers(op, self.kinds)):
                self.kinds.update(op.results)
            ends.note(self, op)
        return op

    def unknown(self, reason: str, span: Span, name: str = "") -> Leaf:
        """Make a value nothing is known of, with the reason."""
        value = self.emit("py.unknown", span, attrs={"reason": reason}).result
        value.name = name
        return Leaf(value)

    def evaluate(self, node: ast.expr) -> Abstract:
        """Return the abstract value of an expression."""
        handler = self.language.expressions.get(type(node))
        if handler is None:
            return self.unknown(f"{type(node).__name__} expressions are not modelled", self.span(node))
        return handler(self, node)

    def execute(self, body: list[ast.stmt]) -> Exit:
        """Interpret statements in order, up to the first that does not fall through."""
        for node in body:
            handler = self.language.statements.get(type(node))
            if handler is None:
                continue
            leaving = handler(self, node)
            if leaving is not Exit.FALL:
                return leaving
        return Exit.FALL

    def call(self, callee: Abstract, arguments: Arguments, span: Span) -> Abstract:
        """Call an abstract value."""
        return self.language.call(self, callee, arguments, span)

    @contextmanager
    def inside(self, transform: str, inputs: Parametrised) -> Iterator[None]:
        """Interpret the body of a transformation: code that is compiled keeps what it reads from outside."""
        opened = [self.compiled] * (transform in _COMPILED) + [self.traced] * (transform in _TRACED_ONCE)
        for marks in opened:
            marks.append(inputs.entered)
        try:
            yield
        finally:
            for marks in opened:
                marks.pop()

    @property
    def in_loop(self) -> bool:
        """Whether the body of one of JAX's loops is open, or of a map."""
        return len(self.traced) > len(self.compiled)

    @contextmanager
    def own_sides(self) -> Iterator[None]:
        """Interpret a function's body or a turn of a loop: what it learns by going on is not known where it ends."""
        known = self.sides
        try:
            yield
        finally:
            self.sides = known

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """Read state for the sake of changing it alone: `count += 1` uses no old value but its own."""
        compiled = self.compiled
        self.compiled = []
        try:
            yield
        finally:
            self.compiled = compiled

    def note_read(self, kind: str, owner: int | str, name: object, span: Span, value: Abstract) -> None:
        """Write down that compiled code reads state which lives outside of it."""
        arguments = {"value": value.value} if isinstance(value, Leaf) else {}
        attrs = {"kind": kind, "owner": owner, "name": name}
        self.emit("py.read", span, arguments, attrs, results=0)

    def load_attribute(self, value: Attribute, span: Span) -> Leaf:
        """Read an attribute that turned out to be data rather than a method."""
        return self.language.load(self, value, span)

    def module_value(self, module: Module) -> ModuleValue:
        """Return a module of the project, interpreting its top level first if nobody has."""
        self.language.enter(self, module)
        return ModuleValue(module)

    def begin_root(self, frame: Frame) -> None:
        """Start on a new root: nothing that was read or followed for another counts here."""
        self.frame = frame
        self.active = []
        self.loaded = {}
        self.compiled = []
        self.traced = []
        self.decided = {}
        self.uncalled = None
        self.budget.begin_root(frame.module.path, self.builder.emitted)

    def remember(self, key: tuple[Value, str], value: Leaf) -> None:
        """Keep an attribute that was read, for whoever reads it next."""
        self.loaded[key] = value
        self.read_from.add(key[0])

    def reads(self) -> Reads:
        """Return what was read so far, so that it can be taken back when the path is left."""
        return dict(self.loaded), dict(self.frame.global_reads)

    def restore(self, reads: Reads) -> None:
        """Go back to earlier reads: those since then were made on a path that the next one does not share."""
        self.loaded, self.frame.global_reads = dict(reads[0]), dict(reads[1])

    def main_or_name(self, module: Module) -> Abstract:
        """Return the value of `__name__`: a file with a main block is audited as if it were run."""
        return Const("__main__" if module.audited and "__main__" in module.text else module.name)
