"""Probabilities that are multiplied by logarithms of probabilities: both are distributions over one axis."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.normalised import Normalised, Share, all_normalised, plain, shares
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.rules.base import Obligation, Step, proved, unknown

_Distributions = dict[Value, tuple[Share, Normalised]]


def judged_entropies(facts: Facts) -> Iterator[Obligation]:
    """Say of every product `p * log q` whether both are distributions over the same axis."""
    found: _Distributions = {}
    for made in all_normalised(facts):
        for one in shares(facts, made):
            found.setdefault(one.slot.value, (one, made))
    for op in facts.program.named("array.map") if found else ():
        if op.function != "multiply" or len(op.operands) != 2:
            continue
        for first, second in (op.operands, op.operands[::-1]):
            chance = found.get(first)
            if chance is None or chance[0].log:
                continue
            logs = [*_logs(second, found, facts)]
            if logs:
                yield _judged(op, chance, logs, facts.get(Shapes))


def _logs(value: Value, found: _Distributions, facts: Facts) -> Iterator[tuple[Share, Normalised]]:
    """Return the log-probabilities that a value is, or is the difference of."""
    maker = facts.flow.maker(plain(value, facts.flow))
    differs = maker is not None and maker.function == "subtract" and value not in found
    for one in maker.operands if maker is not None and differs else (value,):
        known = found.get(one)
        if known is not None and known[0].log:
            yield known


def _judged(
    op: Op, chance: tuple[Share, Normalised], logs: list[tuple[Share, Normalised]], shapes: Shapes
) -> Obligation:
    place = _from_back(chance[0], shapes)
    places = [_from_back(one, shapes) for one, _ in logs]
    if place is None or None in places:
        return unknown(op.span, "whether what is multiplied are distributions over one axis is not known")
    other = next((at for at, one in enumerate(places) if one != place), None)
    if other is None:
        return proved(op.span, "what is multiplied are distributions over one axis")
    return Obligation(
        logs[other][1].op.span,
        message=f"log-probabilities over axis {places[other]} are weighted by probabilities over axis {place}",
        current="the weights add up to one along another axis than the probabilities whose logarithms they weight",
        expected="an entropy, a divergence or a cross-entropy has both distributions over one axis",
        steps=(
            Step(chance[1].op.span, f"these add up to one along axis {place}"),
            Step(op.span, "they are multiplied here"),
        ),
        suggestion="normalise both over the axis of the classes",
    )


def _from_back(one: Share, shapes: Shapes) -> int | None:
    """Return the axis along which entries add up to one, counted from the back, as broadcasting does."""
    place, rank = one.slot.place, shapes.of(one.slot.value).rank
    return place if place is None or place < 0 else None if rank is None else place - rank
