"""Turns the equations of one jaxpr into ops, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxaudit.frontends.jaxpr import calls, compat, control, variables
from jaxaudit.frontends.jaxpr.derivatives import Ran
from jaxaudit.frontends.jaxpr.keys import lower_random
from jaxaudit.frontends.jaxpr.markers import MARKER
from jaxaudit.frontends.jaxpr.nesting import Nesting
from jaxaudit.frontends.jaxpr.passages import lower_segment
from jaxaudit.frontends.jaxpr.primitives import ROWS, UNMODELLED, Equation
from jaxaudit.frontends.jaxpr.primitives.base import constant
from jaxaudit.frontends.jaxpr.records import Record
from jaxaudit.frontends.jaxpr.rows import lower_dynamic_slice, lower_row, lower_unstack
from jaxaudit.frontends.jaxpr.runs import RANDOM, ROW, Run, runs
from jaxaudit.frontends.jaxpr.segments import Segment, arrange
from jaxaudit.frontends.jaxpr.sites import Site
from jaxaudit.frontends.jaxpr.writer import UNNAMED, KnownAs, Writer
from jaxaudit.ir import Argument, Value
from jaxaudit.spans import Span

Handler = Callable[["Body", Any, Site], None]

HANDLERS: Mapping[str, Handler] = {
    "call": calls.inlined,
    "checkpoint": calls.checkpoint,
    "closed_call": calls.inlined,
    "composite": calls.inlined,
    "cond": control.cond,
    "core_call": calls.inlined,
    "custom_jvp_call": calls.custom_jvp,
    "custom_vjp_call": calls.custom_vjp,
    "custom_vjp_call_jaxpr": calls.custom_vjp,
    "custom_vmap_call": calls.inlined,
    "dynamic_slice": lower_dynamic_slice,
    "jit": calls.jit,
    "pjit": calls.jit,
    "remat2": calls.checkpoint,
    "scan": control.scan,
    "shard_map": calls.shard_map,
    "unstack": lower_unstack,
    "while": control.while_loop,
    "xla_metadata_call": calls.inlined,
    "xla_pmap": calls.pmap,
}
"""Primitive to handler."""


@dataclass(frozen=True, slots=True)
class Context:
    """What an equation without a place of its own is told by the call around it."""

    span: Span
    inlined: bool = False
    """True inside a library's function that the user sees as one call."""
    recomputed: bool = False
    """True where a forward pass is run again for the backward pass: its draws are no new draws."""
    control: Record | None = None
    """The call that made the equation around, such as that of `pmap`."""
    backward: bool = False
    """True inside an equation of a backward pass."""
    library: str = ""
    """The function of a library that the user's code called."""
    rule: Ran | None = None
    """The derivative rule of the user's around."""
    within: str = ""
    """The function of JAX whose inside this is, as the user called it."""


@dataclass(slots=True)
class Body:
    """The lowering of one jaxpr: what each of its variables is, and which equation made it."""

    writer: Writer
    jaxpr: Any
    context: Context
    env: dict[Any, Argument] = field(default_factory=dict)
    made: dict[Any, Any] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    last_use: dict[Any, int] = field(default_factory=dict)
    """The position of the last equation that reads a variable; past the end for what the jaxpr gives."""
    equations: Sequence[Any] = ()
    position: int = 0
    """The equation that is being lowered, where a handler does it."""
    group: tuple[int, int, int] = (0, 0, 0)
    """The equations of one expression that were met last, and which of them gives its value."""
    readers: dict[Any, list[int]] = field(default_factory=dict)
    """The positions of all that read a variable, in order; empty until somebody asks."""

    def run(self, inputs: Sequence[Argument]) -> list[Argument]:
        """Lower every equation; give what the jaxpr gives."""
        jaxpr = compat.open_jaxpr(self.jaxpr)
        self._bind(jaxpr, inputs)
        outer = self.context
        self.equations = jaxpr.eqns
        self.sites = self.writer.surroundings.sites(jaxpr.eqns, outer)
        self._index(jaxpr)
        self.runs = runs(jaxpr.eqns, self.sites, self.last_use)
        nesting = Nesting(compat.function_of(self.jaxpr), self.writer.records)
        inside = not outer.inlined
        stacks = [nesting.stack(run, self.sites[run.start]) if inside else () for run in self.runs]
        self.lower(arrange(stacks, self.writer.records.by_uid))
        return [self.read(out) for out in jaxpr.outvars]

    def _bind(self, jaxpr: Any, inputs: Sequence[Argument]) -> None:
        for variable, value in zip(jaxpr.constvars, compat.consts_of(self.jaxpr), strict=False):
            self.env[variable] = self.writer.constants[id(value)]
        self.env.update(zip(jaxpr.invars, inputs, strict=True))

    def _index(self, jaxpr: Any) -> None:
        last_use, made, literal = self.last_use, self.made, compat.Literal
        for position, equation in enumerate(jaxpr.eqns):
            for atom in equation.invars:
                if not isinstance(atom, literal):
                    last_use[atom] = position
            for out in equation.outvars:
                made[out] = equation
        end = len(jaxpr.eqns)
        self.last_use.update((out, end) for out in jaxpr.outvars if not compat.is_literal(out))

    def read(self, atom: Any) -> Argument:
        """Return what a variable or literal is in the program."""
        return constant(atom) if isinstance(atom, compat.Literal) else self.env[atom]

    def env_value(self, atom: Any) -> Argument:
        """Return what a variable is, and nothing for a literal."""
        return None if isinstance(atom, compat.Literal) else self.env.get(atom)

    def value(self, atom: Any, span: Span) -> Value:
        """Return what a variable or literal is, as a value."""
        argument = self.read(atom)
        if isinstance(argument, Value):
            return argument
        made = self.writer.materialise(argument, span)
        kind = compat.type_of(atom)
        if kind is not None:
            self.writer.types[made] = kind
        return made

    def values(self, atoms: Sequence[Any], span: Span) -> list[Value]:
        """Return several variables or literals as values."""
        return [self.value(atom, span) for atom in atoms]

    def bind(self, outs: Sequence[Any], made: Sequence[Argument]) -> None:
        """Return what the results of an equation are."""
        self.env.update(zip(outs, made, strict=True))

    def inner(
        self, jaxpr: Any, site: Site, *, inlined: bool = False, recomputed: bool = False, within: str = ""
    ) -> Body:
        """Make the lowering of a jaxpr inside an equation of this one."""
        context = Context(
            site.span,
            inlined or (self.context.inlined and not site.own),
            recomputed or self.context.recomputed,
            site.around.control or self.context.control,
            site.around.backward,
            site.origin.library,
            site.around.rule,
            within,
        )
        return Body(self.writer, jaxpr, context)

    def lower(self, items: Sequence[int | Segment]) -> None:
        """Lower runs and segments in order."""
        for item in items:
            if isinstance(item, Segment):
                lower_segment(self, item)
            else:
                self.lower_run(self.runs[item])

    def lower_run(self, run: Run) -> None:
        """Lower one run of equations."""
        if run.kind == RANDOM and lower_random(self, run):
            return
        if run.kind == ROW:
            lower_row(self, run)
            return
        for position in range(run.start, run.stop):
            self.lower_equation(position)

    def lower_equation(self, position: int) -> None:
        """Lower one equation by the table, or by the handler of its primitive."""
        equation, site = self.equations[position], self.sites[position]
        name = equation.primitive.name
        if name == MARKER:
            self.env[equation.outvars[0]] = self.read(equation.invars[0])
        elif name in HANDLERS:
            self.position = position
            HANDLERS[name](self, equation, site)
        elif name in ROWS:
            self.by_table(equation, site, self.names(position))
        else:
            self._unknown(equation, site)

    def name_call(self, outs: Sequence[Any], before: int) -> None:
        """Return what a function of JAX made the name that the user gives it, unless something inside named it.

        `before` is the newest value from before the call: what only passes through keeps its name.
        """
        # Further results are what a backward pass needs.
        made = self.env.get(outs[0]) if outs else None
        if isinstance(made, Value) and not made.name and made.id > before:
            made.name = "".join(self.names(self.position))

    def names(self, position: int) -> tuple[str, ...]:
        """Return the user's variables for the results, unless a later equation of the same expression gives the value.

        What a backward pass makes of an expression has no name.
        """
        site = self.sites[position]
        name = variables.name_at(site.span) if site.own and not site.around.turned else ""
        return (name,) if name and self._gives(position) else ()

    def _gives(self, position: int) -> bool:
        """Whether an equation gives the value of its expression: of those that are read outside, the soonest read.

        A differentiated expression makes other things too, which the backward pass reads much later.
        """
        start, end, giving = self.group
        if not start <= position < end:
            start, end = self._expression(position)
            giving = self._giving(start, end)
            self.group = (start, end, giving)
        # A layer makes other things besides its value; a function such as `apply_gradients` gives a whole tree.
        whole = self.sites[position].origin.library[:1].islower()
        return position == giving or (whole and self._leaves(position, end))

    def _leaves(self, position: int, end: int) -> bool:
        """Whether the forward pass reads later what an equation makes."""
        last = len(self.sites)
        return any(end <= read < last and not self.sites[read].around.turned for read in self._reads(position))

    def _expression(self, position: int) -> tuple[int, int]:
        """Return the neighbours that stand at the same place."""
        span, start, end = self.sites[position].span, position, position + 1
        while end < len(self.sites) and self.sites[end].span == span:
            end += 1
        while start and self.sites[start - 1].span == span:
            start -= 1
        return start, end

    def _giving(self, start: int, end: int) -> int:
        if end - start == 1 or self._is_dropped(start, end - 1):
            return end - 1
        reads = [(read, -at) for at in range(start, end) for read in self._reads(at) if read >= end]
        return -min(reads)[1] if reads else end - 1

    def _is_dropped(self, start: int, last: int) -> bool:
        """Whether the last equation of an expression gives its value, and nothing reads it.

        JAX makes constants that it does not need, which are no values of anything.
        """
        if next(self._reads(last), None) is not None:
            return False
        own = {out: one for one in self.equations[start : last + 1] for out in one.outvars}
        pending, seen = list(self.equations[last].invars), set[Any]()
        while pending:
            atom = pending.pop()
            if compat.is_literal(atom) or atom in seen:
                continue
            if atom not in own:
                return True
            seen.add(atom)
            pending += own[atom].invars
        return False

    def _reads(self, position: int) -> Iterator[int]:
        """Return the equations that read what an equation makes."""
        if not self.readers:
            for at, equation in enumerate(self.equations):
                for atom in equation.invars:
                    if not compat.is_literal(atom):
                        self.readers.setdefault(atom, []).append(at)
            for out in compat.open_jaxpr(self.jaxpr).outvars:
                if not compat.is_literal(out):
                    self.readers.setdefault(out, []).append(len(self.equations))
        for out in self.equations[position].outvars:
            yield from self.readers.get(out, ())

    def by_table(self, equation: Any, site: Site, names: Sequence[str]) -> None:
        """Lower an equation by the row of its primitive."""
        row = ROWS[equation.primitive.name]
        plain = self.plain(equation)
        if row.op == "py.item":
            known_as = UNNAMED
        else:
            function = row.known_as(plain) if row.function else ""
            says_mode = row.op in ("array.gather", "array.scatter") and _says_mode(site)
            known_as = KnownAs(function, site.origin.api, self.context.within, says_mode)
        attrs = self.writer.attrs_of(site, known_as)
        made = self.writer.add(row.op, site, row.build(plain), attrs, equation.outvars, names)
        self.bind(equation.outvars, made)

    def plain(self, equation: Any) -> Equation:
        """Return an equation with its operands resolved."""
        env, literal = self.env, compat.Literal
        inputs = tuple([constant(atom) if isinstance(atom, literal) else env[atom] for atom in equation.invars])
        return Equation(equation.primitive.name, equation.params, inputs, equation.invars, equation.outvars)

    def _unknown(self, equation: Any, site: Site) -> None:
        name = equation.primitive.name
        reason = UNMODELLED.get(name)
        attrs: Mapping[str, object] = {
            "callee": name,
            "reason": f"the primitive {name} is not modelled" + (f": {reason}" if reason else ""),
        }
        arguments = {"args": tuple(self.read(atom) for atom in equation.invars)}
        self.bind(equation.outvars, self.writer.emit("py.call_unknown", site, arguments, attrs, equation.outvars))


def _says_mode(site: Site) -> bool:
    """Whether the user's call says what shall happen to indices beyond the end."""
    lines = variables.lines_of(site.span.path)[site.span.line - 1 : site.span.end_line]
    return any("mode" in line for line in lines)
