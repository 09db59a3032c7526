"""Mistakes of reinforcement learning: episodes that end, targets, observations."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.mutants.edits import Edit, File, calls, last_name, names_read, own_nodes, parameters, walked
from benchmarks.mutants.operators.registry import operator

ENDS = ("done", "terminal", "terminated", "truncated", "is_last")


def _is_end(node: ast.AST) -> bool:
    return any(word in last_name(node).lower() for word in ENDS)


@operator("envs", "a factor `(1 - x)` was there, and `x` is the end of an episode", "leak-across-episodes")
def ignore_done(file: File) -> Iterator[Edit]:
    """Leave out the factor `(1 - done)`."""
    for node in file.nodes:
        match node:
            case ast.BinOp(
                op=ast.Mult(), left=left, right=ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Sub(), right=end)
            ):
                if _is_end(end):
                    yield Edit(node, f"({file.source(left)})")


@operator(
    "envs",
    "a factor `(1 - x)` was there, and `x` is the end of an episode",
    "leak-across-episodes",
    "reset-ignores-done",
)
def done_for_not_done(file: File) -> Iterator[Edit]:
    """Go on where the episode ends, and end where it goes on."""
    for node in file.nodes:
        match node:
            case ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Sub(), right=end) if _is_end(end):
                yield Edit(node, file.source(end))


def _choices(file: File) -> Iterator[ast.Call]:
    """Return the choices by the end of an episode."""
    for call in calls(file.tree, "where", "select"):
        if len(call.args) == 3 and any(_is_end(one) for one in walked(call.args[0])):
            yield call


@operator("envs", "the choice is by the end of an episode", "reset-ignores-done")
def reset_where_not_done(file: File) -> Iterator[Edit]:
    """Exchange the two sides of a choice by the end of an episode."""
    for call in _choices(file):
        test, yes, no = (file.source(one) for one in call.args)
        yield Edit(call, f"{file.source(call.func)}({test}, {no}, {yes})")


@operator("envs", "the choice is by the end of an episode", "reset-ignores-done")
def never_reset(file: File) -> Iterator[Edit]:
    """Go on after the end of an episode with what there is."""
    return (Edit(call, f"({file.source(call.args[2])})") for call in _choices(file))


@operator("envs", "the choice is by the end of an episode, one flag for each environment")
def reset_all(file: File) -> Iterator[Edit]:
    """Reset all environments as soon as one has ended."""
    for call in _choices(file):
        if isinstance(call.args[0], ast.Name | ast.Attribute):
            yield Edit(call.args[0], f"{file.source(call.args[0])}.any()")


def _differences(file: File) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Return the two values of `r + discount * next_value - value`."""
    for node in file.nodes:
        match node:
            case ast.BinOp(
                left=ast.BinOp(op=ast.Add(), right=ast.BinOp(op=ast.Mult()) as future), op=ast.Sub(), right=value
            ):
                for one in walked(future):
                    if isinstance(one, ast.Name) and "next_v" in one.id and isinstance(value, ast.Name | ast.Attribute):
                        yield one, value


@operator("envs", "the target has a next value, and the value is subtracted")
def bootstrap_from_same_step(file: File) -> Iterator[Edit]:
    """Bootstrap from the value of the same step."""
    for later, value in _differences(file):
        yield Edit(later, file.source(value))


@operator("envs", "the factor is named a discount, in a file that names rewards")
def drop_discount(file: File) -> Iterator[Edit]:
    """Leave out the discount."""
    for node in file.nodes if "reward" in file.text else ():
        match node:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                for one, other in ((left, right), (right, left)):
                    if last_name(one).lower() in ("gamma", "discount", "discount_t", "lambda_", "gae_lambda"):
                        yield Edit(node, f"({file.source(other)})")


@operator("envs", "the step makes a new state under another name, and observes it")
def observe_old_state(file: File) -> Iterator[Edit]:
    """Observe the state before the step."""
    for function in file.functions:
        given = set(parameters(function))
        for call in (one for one in own_nodes(function) if isinstance(one, ast.Call)):
            for one in call.args if "obs" in ast.unparse(call.func).lower() else ():
                if (
                    isinstance(one, ast.Name)
                    and one.id in ("next_state", "new_state", "state_new")
                    and "state" in given
                ):
                    yield Edit(one, "state")


@operator("envs", "the reward is computed of an action or a new state")
def next_for_current(file: File) -> Iterator[Edit]:
    """Store the next observation where the one that was acted upon belongs."""
    for function in file.functions:
        for call in (one for one in own_nodes(function) if isinstance(one, ast.Call)):
            names = {one.id: one for given in call.args for one in names_read(given) if one is given}
            pair = next(((one, f"next_{one}") for one in names if f"next_{one}" in names), None)
            pair = pair or next(
                (
                    (one, two)
                    for one, two in (("last_obs", "obsv"), ("obs", "next_obs"))
                    if one in names and two in names
                ),
                None,
            )
            if pair is not None and "Transition" in ast.unparse(call.func):
                yield Edit(names[pair[0]], pair[1])


@operator("envs", "a record takes one of two flags of an end that the function binds", "leak-across-episodes")
def flag_of_other_step(file: File) -> Iterator[Edit]:
    """Record the flag of the step before with a step, or the other way round."""
    for function in file.functions:
        own = list(own_nodes(function))
        bound = {one.id for one in own if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and _is_end(one)}
        for call in (one for one in own if isinstance(one, ast.Call) and "Transition" in ast.unparse(one.func)):
            given = [*call.args, *(one.value for one in call.keywords)]
            for one in given:
                others = sorted(bound - {one.id}) if isinstance(one, ast.Name) and one.id in bound else []
                if len(others) == 1 and not any(isinstance(two, ast.Name) and two.id == others[0] for two in given):
                    yield Edit(one, others[0])


@operator("envs", "a position is moved on and taken modulo a size, in a file that writes arrays at positions")
def never_wrap(file: File) -> Iterator[Edit]:
    """Move the position of a ring buffer on without end."""
    for node in file.nodes if ".at[" in file.text else ():
        match node:
            case ast.BinOp(left=ast.BinOp(op=ast.Add()) as moved, op=ast.Mod()):
                yield Edit(node, f"({file.source(moved)})")
