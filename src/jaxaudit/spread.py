"""What leaves `shard_map` as equal on all devices, though each device has computed its own.

JAX checks that itself, unless the check is turned off (`check_vma=False`); then one device's value is taken for all.
Here the axes of the mesh along which a value differs are followed from the specs of the arguments to the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.rules.base import Obligation, Step, Verdict

_RULE = "missing-cross-device-reduction"
_REDUCES = frozenset("psum pmean pmax pmin all_gather psum_invariant all_gather_invariant".split())
"""Collectives after which all devices have the same."""
_LOOPS = frozenset(("scan", "while", "fori"))
_Axes = frozenset[str]


class Spread(NamedTuple):
    """The axes of a mesh along which a value surely differs, and those of which that cannot be told."""

    sure: _Axes = frozenset()
    open: _Axes = frozenset()

    def __or__(self, other: Spread) -> Spread:
        unclear = self.open | other.open
        return Spread((self.sure | other.sure) - unclear, unclear)

    def unclear(self) -> Spread:
        """Return the same with nothing sure."""
        return Spread(frozenset(), self.sure | self.open)

    def without(self, axes: _Axes) -> Spread:
        """Return what is left after a reduction."""
        return Spread(self.sure - axes, self.open - axes)


_SAME = Spread()
_Known = dict[Value, Spread]


def spread_obligations(program: Program) -> Iterator[Obligation]:
    """Judge every result of every `shard_map` that was traced."""
    for op in program.named("shard_map"):
        specs = op.in_specs, op.out_specs
        if all(isinstance(one, tuple) for one in specs) and not op.backward:
            yield from _judge(op)


def _judge(op: Op) -> Iterator[Obligation]:
    region, given, out = op.regions[0], _specs(op, "in_specs"), _specs(op, "out_specs")
    many = frozenset(name for name, size in re.findall(r"'(\w+)': (\d+)", op.mesh) if int(size) > 1)
    if len(given) != len(region.params) or len(out) != len(region.results):
        return
    if op.check is not False:
        reason = "JAX has checked that what leaves this `shard_map` as equal is equal on all devices"
        yield Obligation(_RULE, op.span, Verdict.PROVED, reason)
        return
    known = {param: Spread(axes & many) for param, axes in zip(region.params, given, strict=True)}
    _walk(region, known)
    for value, axes in zip(region.results, out, strict=True):
        yield _verdict(op, value, known.get(value, _SAME).without(axes))


def _specs(op: Op, name: str) -> list[_Axes]:
    specs = op.in_specs if name == "in_specs" else op.out_specs
    return [frozenset(re.findall(r"'(\w+)'", str(spec))) for spec in specs] if isinstance(specs, tuple) else []


def _walk(region: Region, known: _Known) -> None:
    for op in region.ops:
        operands = [known.get(value, _SAME) for value in op.operands]
        if op.name == "collective":
            results = [_collected(op, _joined(operands))] * len(op.results)
        elif op.regions:
            results = _inside(op, operands, known)
        else:
            whole = _joined(operands)
            results = [whole.unclear() if op.name == "py.call_unknown" else whole] * len(op.results)
        known.update(zip(op.results, results, strict=True))


def _joined(spreads: Sequence[Spread]) -> Spread:
    return reduce(Spread.__or__, spreads, _SAME)


def _collected(op: Op, given: Spread) -> Spread:
    name = op.function
    axes = frozenset(re.findall(r"\w+", str(op.arguments.get("axis_name", op.axis_name or ""))))
    if name == "axis_index":
        return Spread(axes)
    grouped = op.arguments.get("axis_index_groups", op.axis_index_groups) is not None
    if name in _REDUCES and not grouped:
        return given.without(axes)
    # Data that are sent around may well be all that there are in the end.
    return Spread(given.sure - axes, given.open | axes)


def _inside(op: Op, operands: Sequence[Spread], known: _Known) -> list[Spread]:
    """Follow values through a body; what comes back into a loop, or cannot be matched, is unclear."""
    whole = _joined(operands)
    found = [_SAME] * len(op.results)
    for region in op.regions:
        given = operands[len(operands) - len(region.params) :]
        if len(given) != len(region.params) or len(region.results) != len(op.results) or op.name == "while":
            return [whole.unclear()] * len(op.results)
        known.update(zip(region.params, given, strict=True))
        _walk(region, known)
        left = [known.get(value, _SAME) for value in region.results]
        found = [one | other for one, other in zip(found, left, strict=True)]
    if op.name in _LOOPS:
        return [Spread(one.sure, (one.open | whole.sure | whole.open) - one.sure) for one in found]
    chooses = _joined(operands[: len(operands) - len(op.regions[0].params)])
    return [one | chooses for one in found]


def _verdict(op: Op, value: Value, spread: Spread) -> Obligation:
    what = f"`{value.name}`" if value.name else "a result"
    if spread.open:
        told = ", ".join(f"`{axis}`" for axis in sorted(spread.open))
        return Obligation(_RULE, value.span, Verdict.UNKNOWN, f"whether {what} is equal along {told} cannot be told")
    if not spread.sure:
        reason = f"{what} is equal on all devices, or leaves with the axis along which it differs"
        return Obligation(_RULE, value.span, Verdict.PROVED, reason)
    axis = min(spread.sure)
    return Obligation(
        _RULE,
        value.span,
        Verdict.VIOLATED,
        message=f"{what} leaves `shard_map` as equal along `{axis}`, but each device has computed its own",
        current=f"`out_specs` does not name `{axis}`, nothing reduces over it, and JAX's check is off: what one device "
        "has computed is taken for all",
        expected="the shards are reduced, or the output is declared sharded",
        steps=(Step(op.span, "the function is called for all devices here"),) if op.span != value.span else (),
        suggestion=f"reduce it with `jax.lax.pmean` or `psum` over '{axis}', or name '{axis}' in `out_specs`; with "
        "the check on, JAX refuses this",
    )
