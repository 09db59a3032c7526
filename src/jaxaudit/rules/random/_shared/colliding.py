"""Numbers that make keys and collide: different turns of two loops make the same sum of their counts.

They are folded into one key, or are seeds.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.counts import Counted, Together, is_fixed, is_position, together
from jaxaudit.analyses.keys.overlap import way
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import BRANCHES, SELECTED
from jaxaudit.rules.base import Obligation, Step, Subject, named, proved, unknown

_HELD = through_ops("array.join", "py.container", *SELECTED)


def colliding(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List every sum of the counts of several loops that is folded into one key, or is a seed."""
    for op in program.named("key.fold_in", "key.seed") if program.front_end != "jaxpr" else ():
        key, data = op.arguments.get("key"), op.argument("data", "seed")
        number = together(facts, data) if isinstance(data, Value) else None
        if number is None or not isinstance(data, Value):
            continue
        fixed = isinstance(key, Value) and is_fixed(facts, key, [one.count.loop for one in number.counts])
        if fixed or op.name == "key.seed":
            yield _judge(op, data, number, facts)


def _judge(op: Op, data: Value, number: Together, facts: Facts) -> Obligation:
    pair, name = number.alike, named(data, "the seed" if op.name == "key.seed" else "what is folded in")
    if pair is None and number.is_open:
        return unknown(op.span, f"whether {name} is another one in every turn is not known")
    if pair is None:
        return proved(op.span, f"{name} is another one in every turn of all loops")
    if not _is_spent(op, facts) or not _always_runs(op, pair, facts):
        return unknown(op.span, f"{name} is the same in several turns, and whether the key is used in all is not known")
    if is_position(facts, data, number):
        return unknown(op.span, f"{name} is the same in several turns, which may be meant: it is a place as well")
    return _finding(op, pair)


def _is_spent(op: Op, facts: Facts) -> bool:
    """Whether numbers are drawn from the key itself, or it is split, and nothing else is folded in before."""
    keys = facts.get(KeyFacts)
    term = way(keys.term(op.result))[0]
    if any(use.consumes and way(use.term)[0] is term for scope in keys.scopes for use in scope.uses):
        return True
    # Keys that are put beside each other, and given to a map.
    names = walk(op.results, lambda one: ahead(facts.flow, one, _HELD))
    return any(reader.name in ("key.draw", "key.split") for one in names for reader in facts.flow.readers.get(one, ()))


def _always_runs(op: Op, pair: tuple[Counted, Counted], facts: Facts) -> bool:
    """Whether nothing decides in which turns of the loops a key is made."""
    regions = [one.count.region for one in pair]
    for region, holder in facts.places.up(facts.places.region_of[op]):
        regions = [one for one in regions if one is not region]
        if not regions:
            return True
        if holder is None or holder.name in BRANCHES:
            return False
    return False


def _finding(op: Op, pair: tuple[Counted, Counted]) -> Obligation:
    first, second = (named(one.count.value, "a count") for one in pair)
    seeds = op.name == "key.seed"
    same, own = ("have the same seed", "has a seed") if seeds else ("fold in the same number", "folds in a number")
    apart = "`split` one key" if seeds else "fold one in after the other, `fold_in(fold_in(key, i), j)`"
    return Obligation(
        op.span,
        message=f"different turns {same}: what {first} is ahead, {second} is behind",
        current="their keys are the same, and so are the numbers that are drawn from them",
        expected=f"every turn of both loops {own} of its own",
        steps=tuple(Step(one.count.loop.span, f"{named(one.count.value, 'it')} is counted here") for one in pair),
        suggestion=f"{apart}, or multiply one by the number of turns",
        subject=Subject(about="numbers", tried=seeds),
    )
