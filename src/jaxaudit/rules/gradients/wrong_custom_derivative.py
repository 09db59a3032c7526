"""The rule `wrong-custom-derivative`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.dims import same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import last, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.broadcast import compare
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import AVERAGES, EXTREMES, FIXED
from jaxaudit.ir.interfaces import given_to
from jaxaudit.ir.ops import COMPUTED, ELEMENTWISE, PASSED_ON, UNFOLLOWED
from jaxaudit.ir.record import record, replace
from jaxaudit.ir.values import leaves_nothing_out
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity, Step, Subject, Verdict, proved, unknown
from jaxaudit.rules.gradients._shared.idle_masks import idle_masks
from jaxaudit.rules.gradients._shared.measured import Measured, Sample
from jaxaudit.rules.gradients._shared.transposes import untransposed
from jaxaudit.spans import Span

_COMPUTES = COMPUTED | {"array.select"}
_ELEMENT_BY_ELEMENT = PASSED_ON | ELEMENTWISE | {"py.call", "py.const"}
_FLAT = 1e-6
_OPAQUE = UNFOLLOWED | {"py.call_library", "py.global", "py.attr", "py.element", "callback"}

_PROGRAM = """
@jax.custom_vjp
def scaled(x, scale):
    return x * scale

def forward(x, scale):
    return x * scale, (x, scale)

def backward(saved, g):
    x, scale = saved
    return {returned}

scaled.defvjp(forward, backward)

def main():
    return scaled(jnp.ones((6, 4)), jnp.ones(4))
"""


class WrongCustomDerivative(Rule):
    """A rule given to `custom_vjp` or `custom_jvp` is not the derivative of its function.

    ## What it does
    On source, follows the rules of `custom_vjp` and `custom_jvp` beside each call: there must be one gradient for each
    argument, of the argument's shape, and it must depend on the incoming cotangent. Where both can be computed for
    arrays of one element, the rule must give the function's own value and its derivative. Under `run`, `trace` and
    `pytest --jaxaudit`, each rule that is called is also evaluated on 64 small random inputs and compared with autodiff
    of the function and with finite differences (`--no-probe` turns that off). What differs is named with the argument
    and the ratio: a wrong factor or sign, exchanged residuals or gradients, an ignored cotangent. One that passes the
    cotangent on (straight-through, clipped, reversed) where the function is flat or the identity is told as such.

    ## Why is this bad?
    A wrong factor or sign raises nothing: training goes on with gradients of another function. A gradient of a
    broadcast argument that was not summed has the shape of the result, which JAX refuses only when it differentiates.

    ## Example
        def backward(saved, g):
            x, scale = saved
            return g * scale, g * x

    ## Use instead
        def backward(saved, g):
            x, scale = saved
            return g * scale, jnp.sum(g * x, axis=0)

    ## When it cannot tell
    On source, when shapes are not known, or something is called that is not known for one element. A probe leaves open
    functions that round, draw random numbers or call back into Python, and rules closed over traced values; what may be
    meant, such as the cheap gradient of a fixed point, is a warning.
    """

    summary = "The rule of `custom_vjp` or `custom_jvp` is not the derivative of its function."
    needs = (Shapes, Ranges)

    valid = (
        Example(_PROGRAM.format(returned="g * scale, jnp.sum(g * x, axis=0)"), "summed over the broadcast axis"),
        Example(_PROGRAM.format(returned="g * scale, None"), "no gradient for the scale"),
    )
    invalid = (
        Example(
            """
            @jax.custom_vjp
            def shifted(x, b):
                return jax.nn.relu(x + b)

            def forward(x, b):
                return jax.nn.relu(x + b), x + b > 0

            def backward(alive, g):
                gx = jnp.where(alive, g, 0.0)
                return gx, gx.mean(axis=0)  #!

            shifted.defvjp(forward, backward)

            def loss(w, x):
                return jnp.sum(shifted(x @ w["w"], w["b"]))

            step = jax.grad(loss)
            """,
            "the mean of the cotangents of a broadcast argument",
        ),
        Example(_PROGRAM.format(returned="g * scale, g * x  #!"), "not summed over the broadcast axis"),
        Example(_PROGRAM.format(returned="(g * scale,)  #!"), "one gradient for two arguments"),
        Example(_PROGRAM.format(returned="jnp.exp(x), jnp.sum(g * x, axis=0)  #!"), "the cotangent is ignored"),
        Example(
            _PROGRAM.replace("x, scale = saved", "scale, x = saved  #?").format(returned="g * scale, None  #!"),
            "unpacked in another order than saved",
        ),
        Example(
            """
            @jax.custom_vjp
            def quantise(x, scale):
                return x * scale

            def forward(x, scale):
                return x * scale, jnp.maximum(scale, jnp.max(jnp.abs(x)))

            def backward(new_scale, g):
                return g, new_scale  #?

            quantise.defvjp(forward, backward)
            grads = jax.grad(lambda x, scale: jnp.sum(quantise(x, scale)), (0, 1))(jnp.ones(3), jnp.ones(()))
            """,
            "a statistic handed to the optimiser in the place of a gradient",
        ),
        Example(
            """
            @jax.custom_vjp
            def scale(x, w):
                return x * w

            def forward(x, w):
                return x * w, (x, w)

            def backward(saved, g):
                x, w = saved
                return g * w, x  #!

            scale.defvjp(forward, backward)
            grads = jax.grad(lambda x, w: jnp.sum(scale(x, w)), (0, 1))(jnp.ones(3), jnp.ones(3))
            """,
            "a derivative without its cotangent",
        ),
        Example(
            """
            @jax.custom_jvp
            def smooth(x, sharpness):
                return jax.nn.softplus(sharpness * x) / sharpness

            @smooth.defjvp
            def smooth_jvp(primals, tangents):
                x, sharpness = primals
                dx, _ = tangents
                return smooth(x, sharpness), jax.nn.sigmoid(x) * dx  #!
            """,
            "a factor is missing",
        ),
        Example(
            """
            @jax.custom_jvp
            def length(x):
                return jnp.sqrt(jnp.sum(x * x) + 1e-12)

            @length.defjvp
            def length_jvp(primals, tangents):
                (x,), (dx,) = primals, tangents
                size = length(x)
                return size, jnp.sum((2 * x * dx)[None]) / size  #!
            """,
            "a factor too many, in what is the identity of positive numbers",
        ),
        Example(
            """
            @jax.custom_vjp
            def power(x):
                return x**3

            def forward(x):
                return x**2, x  #!

            def backward(x, g):
                return (3 * x * g,)  #!

            power.defvjp(forward, backward)
            """,
            "neither the value nor the derivative of the function",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List what every backward rule gives for every argument of its function."""
        for op in program.named("py.call"):
            if op.role == "derivative":
                yield from _judge(op, facts)
                yield from idle_masks(op, facts)
                yield from untransposed(op, facts)
            elif op.role == "tangent":
                yield from _pushed(op, facts)


def _pushed(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge a rule that pushes tangents forward."""
    where = op.return_at or op.span
    measured = Measured(op, facts)
    yield from _own_value(op, where, measured)
    for name, primal in zip(op.rule_arguments or (), op.primals or (), strict=False):
        for leaf in primal:
            yield _measured(op, where, name, measured.derivatives(leaf)) or _unknown(
                where, f"whether the tangent of `{name}` is used as it should be is not known"
            )


def _own_value(op: Op, where: Span, measured: Measured) -> Iterator[Obligation]:
    """Compare what a rule gives beside the derivative with what the function gives."""
    samples = measured.values()
    if not samples:
        yield _unknown(
            op.span, f"whether the rule of `{op.qualified}` gives the value of `{op.qualified}` is not known"
        )
    elif all(one.agrees for one in samples):
        yield _proved(op.span, f"the rule of `{op.qualified}` gives its value")
    elif not any(one.agrees for one in samples):
        yield Obligation(
            next((one.span for one in _made_here(op)), where),
            message=f"the rule of `{op.qualified}` gives another value than `{op.qualified}` itself",
            current=f"{_words(samples[0])}: the value changes when somebody differentiates",
            expected="the rule gives the function's own value beside the derivative",
            steps=(Step(where, "the rule is here"),),
            suggestion=f"call `{op.qualified}` in the rule for the value",
            subject=Subject(names=(op.qualified,), tried=True),
        )
    else:
        yield _unknown(op.span, f"the rule of `{op.qualified}` differs from `{op.qualified}` in some places")


def _made_here(op: Op) -> Iterator[Op]:
    """Return the ops of a rule itself, not of what it calls, that make the value which it gives."""
    makers = {value: one for one in op.regions[0].walk() for value in one.results}
    rules = [one.regions[0] for one in op.regions[0].ops if one.name == "py.call"]
    calls = {inner: one for rule in rules for one in rule.ops if one.regions for inner in one.regions[0].walk()}
    body = _Body.of(op)
    for value in op.outputs if isinstance(op.outputs, tuple) else ():
        inner = next((one for one in walk((value,), body.behind) if _is_computed(makers.get(one))), None)
        if inner is not None:
            yield calls.get(makers[inner], makers[inner])


def _is_computed(op: Op | None) -> bool:
    return op is not None and op.name in _COMPUTES


def _measured(op: Op, where: Span, name: str, samples: Sequence[Sample]) -> Obligation | None:
    """Judge what a rule gives for one argument on numbers; None where that says nothing."""
    if not samples or all(abs(one.wanted) < _FLAT for one in samples):
        # A surrogate for what is flat is meant.
        return None
    if all(one.passes and not one.agrees for one in samples):
        # So are a gradient that is clipped or reversed on its way, and one that goes straight through.
        return None
    if all(one.agrees for one in samples):
        return _proved(where, f"what the rule gives for `{name}` is the derivative of `{op.qualified}`, on numbers")
    if any(one.agrees for one in samples):
        return _unknown(where, f"what the rule gives for `{name}` differs from the derivative in some places")
    ignored = all(abs(one.found) < _FLAT for one in samples)
    if ignored and op.role == "derivative":
        return _unknown(where, f"`{op.rule}` gives no gradient for `{name}`, which `{op.qualified}` depends on")
    lost = f"the rule of `{op.qualified}` leaves the tangent of `{name}` out"
    return Obligation(
        where,
        message=lost if ignored else f"what the rule gives for `{name}` is not the derivative of `{op.qualified}`",
        current=f"{_words(samples[0])} on numbers, and in no other place it agrees either",
        expected=f"the derivative of `{op.qualified}` by `{name}`, times what comes in",
        suggestion=f"compare the rule with `jax.grad` of the body of `{op.qualified}`",
        subject=Subject(names=(op.qualified,), tried=True),
    )


def _words(one: Sample) -> str:
    return f"{one.found:.3g} where it is {one.wanted:.3g}"


def _judge(op: Op, facts: Facts) -> Iterator[Obligation]:
    names, gradients, where = op.rule_arguments or (), op.gradients, op.return_at or op.span
    if gradients is None:
        yield _unknown(where, f"what `{op.rule}` gives is not known")
        return
    measured = Measured(op, facts)
    yield from _own_value(op, where, measured)
    yield from _order(op)
    if len(gradients) != len(names):
        yield _count(op, where, len(names), len(gradients))
        return
    elements = op.elements or ()
    spots = elements if len(elements) == len(names) else (where,) * len(names)
    for name, spot, primal, gradient in zip(names, spots, op.primals or (), gradients, strict=True):
        found = _argument(op, spot, name, (primal, gradient), facts.get(Shapes))
        more = None
        if found.verdict is not Verdict.VIOLATED and gradient is not None and len(primal) == 1:
            more = _measured(op, spot, name, measured.derivatives(primal[0]))
        # Numbers have no shapes: what they prove is half of it.
        yield found if more is None or more.verdict is Verdict.PROVED else more


def _argument(
    op: Op, where: Span, name: str, pair: tuple[Sequence[Value], Sequence[Value] | None], shapes: Shapes
) -> Obligation:
    primal, gradient = pair
    if gradient is None:
        return _proved(where, f"`{op.rule}` gives no gradient for `{name}`")
    if len(gradient) != 1 or len(primal) != 1:
        return _unknown(where, f"`{name}` and its gradient are not one array each")
    (value,) = gradient
    body = _Body.of(op)
    if body.ignores_cotangent(value) or body.is_another(value, primal[0]):
        found = _ignored(op, where, name)
        return replace(found, severity=Severity.WARNING) if body.hands_on(value) else found
    thinned = body.thinned(value)
    if thinned is not None:
        return _thinned(op, where, name, thinned)
    wanted, found = shapes.of(primal[0]), shapes.of(value)
    match = compare(wanted, found, yielding=True)
    if match.fit is Fit.CLASHES and match.first.startswith("("):
        return _shape(op, where, name, (match.first, match.second), body.place(value))
    if wanted.dims is None or found.dims is None or not all(map(same, wanted.dims, found.dims)):
        return _unknown(where, f"the shapes of `{name}` and of its gradient are not known")
    return _proved(where, f"the gradient for `{name}` has the shape of `{name}` and uses the cotangent")


@record
class _Body:
    """Everything inside of a call of a derivative rule."""

    op: Op
    made_by: Mapping[Value, Op]
    outside: Mapping[Value, Value]
    """What each parameter of an inner region stands for."""

    @classmethod
    def of(cls, op: Op) -> _Body:
        """Index what a rule computes."""
        inner = list(op.regions[0].walk())
        outside = (pair for one in inner for region in one.regions for pair in given_to(one, region))
        return cls(op, {value: one for one in inner if not one.in_place for value in one.results}, dict(outside))

    def behind(self, value: Value) -> Sequence[Value]:
        """Return what a value is made from, or stands for: of a call, the one result that it is."""
        if value in self.outside:
            return (self.outside[value],)
        maker = self.made_by.get(value)
        if maker is None or (maker.name == "array.create" and maker.function in FIXED):
            return ()
        return (*maker.operands, *(result for region in maker.regions for result in region.results))

    def ignores_cotangent(self, value: Value) -> bool:
        """Whether a gradient is computed from what was saved, and surely not from the cotangent."""
        incoming, computed = set(self.op.cotangents or ()), False
        for one in walk((value,), self.behind):
            maker = self.made_by.get(one)
            if one in incoming or (maker is not None and maker.name in _OPAQUE):
                return False
            computed |= maker is not None and maker.name in _COMPUTES
        return computed

    def resolved(self, value: Value) -> Value:
        """Follow a value back through the calls of a rule."""
        return last(value, self.outside.get)

    def hands_on(self, value: Value) -> bool:
        """Whether a gradient is what was saved, as it was, beside others that use the cotangent.

        Statistics of quantised training leave a function that way: the optimiser takes them as they are.
        """
        calls = [one for one in self.op.regions[0].ops if one.in_place and value in one.results]
        if not calls or value not in calls[-1].operands or self.resolved(value) not in self.made_by:
            return False
        # A saved argument of the function would be a derivative that lacks its cotangent.
        return any(not self.ignores_cotangent(one) for one in calls[-1].results if one is not value)

    def is_another(self, value: Value, primal: Value) -> bool:
        """Whether a gradient is nothing but one of the other arguments."""
        found = self.resolved(value)
        return found is not primal and any(found in values for values in self.op.primals or ())

    def thinned(self, value: Value) -> Op | None:
        """Return what keeps some entries of a cotangent, or their mean, where the function works on each element.

        There each entry of the result has a cotangent of its own, and broadcast arguments get the sum of them.
        """
        outputs = self.op.outputs if isinstance(self.op.outputs, tuple) else ()
        makers = [self.made_by[one] for one in walk(outputs, self.behind) if one in self.made_by]
        if not makers or any(one.name not in _ELEMENT_BY_ELEMENT for one in makers):
            return None
        incoming = set(self.op.cotangents or ())
        for one in walk((value,), self.behind):
            maker = self.made_by.get(one)
            if maker is not None and _thins(maker) and maker.operands:
                if not incoming.isdisjoint(walk(maker.operands[:1], self.behind)):
                    return maker
        return None

    def place(self, value: Value) -> Span:
        """Return where a gradient is computed."""
        found = self.resolved(value)
        return self.made_by[found].span if found in self.made_by else value.span


def _thins(op: Op) -> bool:
    """Whether an op keeps some elements of an array, or puts another number than their sum in their place."""
    if op.name == "py.item":
        return not leaves_nothing_out(op.arguments.get("index"))
    return op.name == "array.reduce" and op.function in AVERAGES | EXTREMES


def _thinned(op: Op, where: Span, name: str, thins: Op) -> Obligation:
    deed = "one part of the cotangent" if thins.name == "py.item" else f"the `{thins.function}` of the cotangents"
    return Obligation(
        where,
        message=f"the gradient for `{name}` has {deed}, where their sum is due",
        current=f"`{op.qualified}` works element by element, so each entry of its result adds to the gradient",
        expected=f"the sum over all axes along which `{name}` was broadcast",
        steps=(Step(thins.span, "the others are left out here"),),
        suggestion="sum over the axes along which the argument was broadcast: `jnp.sum(..., axis=0)`",
    )


def _shape(op: Op, place: Span, name: str, shapes: tuple[str, str], made: Span) -> Obligation:
    wanted, found = shapes
    called = Step(op.span, f"here `{op.qualified}` is called with `{name}` of shape {wanted}")
    return Obligation(
        place,
        message=f"the gradient for `{name}` has shape {found}, but `{name}` has shape {wanted}",
        current="taking a gradient raises ValueError: the backward rule gives another type than the argument has",
        raises=Raises.LATER,
        expected="each gradient has the shape of its argument: broadcast axes are summed",
        steps=(*((Step(made, "the gradient is computed here"),) if made[:2] != place[:2] else ()), called),
        suggestion="sum over the axes along which the argument was broadcast: `jnp.sum(..., axis=0)`",
    )


def _ignored(op: Op, place: Span, name: str) -> Obligation:
    return Obligation(
        place,
        message=f"the gradient for `{name}` does not depend on the incoming cotangent",
        current=f"whatever comes after `{op.qualified}` is left out of the chain rule",
        expected="the cotangent times the derivative of the function",
        suggestion="multiply by the cotangent that the backward rule is given as its last argument",
    )


def _count(op: Op, where: Span, wanted: int, found: int) -> Obligation:
    gives = f"`{op.rule}` gives {found} gradient{'s' if found != 1 else ''}"
    return Obligation(
        where,
        message=f"{gives}, but `{op.qualified}` has {wanted} arguments",
        current="taking a gradient raises TypeError",
        raises=Raises.LATER,
        expected="a tuple with one gradient for each differentiated argument; `None` where there is none",
        steps=(Step(op.span, "the function is called here"),),
    )


def _order(op: Op) -> Iterator[Obligation]:
    """Compare the names that were saved with those they are unpacked into; names alone are no proof."""
    saved, taken = op.saved or (), op.taken or ()
    if len(saved) != len(taken):
        return
    off = [at for at, (one, other) in enumerate(zip(saved, taken, strict=True)) if one != other]
    if "" in saved or len(set(saved)) != len(saved) or sorted(saved) != sorted(taken) or not off:
        return
    yield Obligation(
        op.unpacked or op.span,
        Verdict.UNKNOWN,
        "what the names stand for is not known",
        severity=Severity.WARNING,
        message=f"saved as `{', '.join(saved)}`, but unpacked as `{', '.join(taken)}`",
        expected="the backward rule unpacks what was saved in the same order",
        suggestion="exchange the names on one side",
    )


def _proved(span: Span, reason: str) -> Obligation:
    return proved(span, reason)


def _unknown(span: Span, reason: str) -> Obligation:
    return unknown(span, reason)
