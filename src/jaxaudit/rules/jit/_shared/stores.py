"""Stores: where traced code changes something that lives outside of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jaxaudit.analyses.captured import changed
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.queries import ahead, depends, walk
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts, Visit
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import STORES
from jaxaudit.ir.record import record
from jaxaudit.libraries.packages import KEEPING_STATE, package
from jaxaudit.rules.base import Obligation, proved, unknown


@record
class Store:
    """One change of something outside, seen in one context."""

    visit: Visit
    tracer: Op
    """The transformation whose body changes what is older than itself."""
    fact: Trace
    """What is known of the value that is stored."""

    @property
    def target(self) -> str:
        """What is changed, for people."""
        op = self.visit.op
        match op.name:
            case "py.store_global":
                return f"the global `{op.label}`"
            case "py.store_nonlocal":
                return f"`{op.label}` of the enclosing function"
            case "py.store_attr":
                return f"the attribute `{op.label}`"
            case "py.append":
                return "a list from outside"
            case _:
                return "a container from outside"

    @property
    def stays(self) -> bool:
        """Whether the value belongs to an outer transformation that its target belongs to as well.

        `grad` and `vmap` trace no more than what depends on their arguments; anything else is still their caller's.
        """
        stage, op = self.visit.stage, self.visit.op
        if stage is None or stage is self.tracer or _outside(op, stage):
            return False
        inner = self.visit.stack[self.visit.stack.index(stage) + 1 :] if stage in self.visit.stack else ()
        return not any(self.fact.by is one for one in inner)


def outer_stores(facts: TracingFacts) -> Iterator[Store]:
    """Return every store in traced code whose target is older than the innermost transformation around it."""
    for visit in facts.of(*STORES):
        if visit.tracer is not None and _outside(visit.op, visit.tracer) and not _enclosed(visit, visit.tracer):
            yield Store(visit, visit.tracer, _stored(visit))


def undisturbed(program: Program, facts: TracingFacts, *names: str) -> Iterator[Obligation]:
    """List every op of some names that runs code which changes nothing outside, or calls what is not known.

    What changes something is judged where it does.
    """
    changing = {op for store in outer_stores(facts) for op in store.visit.stack}
    visited = {visit.op for visit in facts.of(*STORES)}
    for op in program.named(*names):
        inner = (one for region in op.regions for one in region.walk())
        strange = next((one for one in inner if _is_open(one, visited)), None)
        if strange is not None:
            called = f"`{strange.callee}`" if strange.callee else "this code"
            yield unknown(op.span, f"what {called} does, on line {strange.span.line}, is not known")
        elif op.regions and op not in changing:
            yield proved(op.span, "nothing that it runs changes anything outside of it")


def _is_open(op: Op, visited: Collection[Op]) -> bool:
    """Whether an op may change something outside, for all that is known."""
    return op.name == "py.call_unknown" or (op.name in STORES and op not in visited)


def _enclosed(visit: Visit, tracer: Op) -> bool:
    """Whether a body that several calls share holds the store: it changes nothing but what it made itself."""
    inner = visit.stack[visit.stack.index(tracer) + 1 :]
    shared = any(region.shared for op in inner for region in op.regions)
    return shared and visit.op.name != "py.store_global"


def _outside(op: Op, tracer: Op) -> bool:
    if tracer.entered is None:
        return False
    value_mark, heap_mark = tracer.entered
    if op.name == "py.store_global":
        return True
    if op.name == "py.store_nonlocal":
        return not isinstance(op.owner, int) or op.owner <= value_mark
    if any(package(str(base)) in KEEPING_STATE for base in op.bases or ()):
        return False
    if op.object_id is not None:
        return op.object_id <= heap_mark
    holder = op.argument("object", "base", "list")
    return isinstance(holder, Value) and op.name in ("py.store_attr", "py.append") and holder.id <= value_mark


def _stored(visit: Visit) -> Trace:
    """Return the fact of the stored value; of a structure, that of its first traced part."""
    argument: Argument = visit.op.arguments.get("value")
    parts = [visit.of(value) for value in values_in(argument)]
    traced = next((fact for fact in parts if fact.kind is Kind.TRACED), None)
    if traced is not None:
        return traced
    return next((fact for fact in parts if fact.kind is Kind.UNKNOWN), visit.of(argument))


def is_overwritten(store: Store, flow: Flow) -> bool:
    """Whether the same traced code stores something else there afterwards, whatever happens in between.

    Code that takes its state in, changes it attribute by attribute, and hands it out again leaves nothing behind.
    """
    op = store.visit.op
    if op.name != "py.store_attr" or op.object_id is None:
        return False
    others = (one for one in flow.program.named("py.store_attr") if one.object_id == op.object_id and one is not op)
    same = (one for one in others if one.label in (op.label, ""))
    return any(_always_follows(op, one, store.tracer, flow.places) for one in same)


def _always_follows(first: Op, second: Op, tracer: Op, places: Places, *, before: bool = False) -> bool:
    """Whether one op of traced code runs after another whenever that does; with `before`, the other way round."""
    met = places.meet(first, second)
    if met is None or places.order[met.first] >= places.order[met.second]:
        return False
    if not any(places.within(met.region, region) for region in tracer.regions):
        return False
    holders = (places.holder.get(id(region)) for region in (met.first_below if before else met.second_below))
    return all(holder is not None and (holder.name == "py.call" or second.label == "") for holder in holders)


def unchanging(store: Store, flow: Flow, reason: str) -> Obligation | None:
    """Return the verdict on a change that another rule judges, or that leaves the same value however often it runs."""
    if store.fact.kind is Kind.TRACED:
        return unknown(store.visit.op.span, "a traced value is stored; `tracer-leak` judges it")
    return None if _grows(store, flow) else proved(store.visit.op.span, f"{store.target} gets the same value {reason}")


def _grows(store: Store, flow: Flow) -> bool:
    """Whether the new state depends on what the last run left: a counter, a list that gets longer."""
    op = store.visit.op
    if _is_reset(store, flow):
        return False
    if op.name == "py.append" or op.augmented:
        return True
    reads = list(_reads(store))
    old = {value for read in reads for value in values_in(read.arguments.get("value"))}
    stored = values_in(op.arguments.get("value"))
    written = any(op.span.covers(read.span) for read in reads)
    return written or any(depends(flow, one, old) for one in stored)


def _is_reset(store: Store, flow: Flow) -> bool:
    """Whether the same traced code always sets the state anew before: then it is the same in every run."""
    op = store.visit.op
    state = changed(op)
    inside = (one for region in store.tracer.regions for one in region.walk() if one is not op and not one.augmented)
    others = (one for one in inside if one.name in STORES and state is not None and changed(one) == state)
    return any(_always_follows(one, op, store.tracer, flow.places, before=True) for one in others)


def _reads(store: Store) -> Iterator[Op]:
    """Return where the code that changes a state reads it from outside."""
    state = changed(store.visit.op)
    inside = (one for region in store.tracer.regions for one in region.walk())
    return (one for one in inside if one.name == "py.read" and (one.kind, one.owner, one.subject) == state)


def reaches_result(store: Store, flow: Flow) -> bool:
    """Whether what the traced code gives is computed from state that each run of it would change."""
    op, regions = store.visit.op, store.tracer.regions
    ops = [one for region in regions for one in region.walk()]
    if any(one.name == "py.store_attr" and one.object_id == op.object_id and not one.label for one in ops):
        return False  # `setattr` with a name that is not known may set the state anew.
    inside = {value for one in ops for value in one.results}
    inside.update(param for one in ops for region in one.regions for param in region.params)
    seen = [value for one in (op, *_reads(store)) for value in values_in(one.arguments.get("value"))]
    found = walk(seen, lambda one: (value for value in ahead(flow, one, _computes) if value in inside))
    return not {value for region in regions for value in region.results}.isdisjoint(found)


def _computes(op: Op) -> bool:
    """Whether what an op gives depends on each of its operands; of a function it runs, the body tells."""
    return not op.regions or op.name == "py.branch"
