"""How an old value goes on once its successor was made."""

import pytest

from jaxaudit.analyses.solve import solve
from jaxaudit.analyses.succession import Way, goes_on
from jaxaudit.analyses.versions import Versions
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source

CASES = {
    "returned": ("y = x.at[0].set(1)\n    return x", {Way.RETURNED}),
    "not at all": ("y = x.at[0].set(1)\n    return y", set()),
    "its name is bound again": ("y = x.at[0].set(1)\n    x = 1\n    return x", set()),
    "bound to its own name": ("x = x.at[0].set(1)\n    return x", set()),
    "read": ("y = x.at[0].set(1)\n    return x + 1", {Way.READ}),
    "asked for its shape alone": ("y = x.at[0].set(1)\n    return x.shape", set()),
    "read before": ("z = x + 1\n    y = x.at[0].set(1)\n    return z", set()),
    "read again in each turn": ("for i in a:\n        y = x.at[i].set(1)\n    return y", {Way.AGAIN}),
    "made in each turn": ("for i in a:\n        z = i + x\n        y = z.at[0].set(1)\n    return y", set()),
    "on the other branch": ("if a:\n        y = x.at[0].set(1)\n    else:\n        y = x + 1\n    return y", set()),
    "carried": (
        "def turn(x, i):\n        y = x.at[i].set(1)\n        return x, y\n    return jax.lax.scan(turn, x, a)",
        {Way.CARRIED},
    ),
    "taken from around the loop": (
        "def turn(c, i):\n        y = x.at[i].set(1)\n        return c, y\n    return jax.lax.scan(turn, a, a)",
        {Way.AGAIN},
    ),
}


@pytest.mark.parametrize(("body", "ways"), CASES.values(), ids=CASES)
def test_an_old_value_goes_on(body, ways):
    file = SourceFile("example.py", f"import jax\n\ndef f(x, a):\n    {body}\n")
    facts = solve(read_source([file], {}.get).program, [Versions])
    (update,) = facts.program.named("array.scatter")
    (old,) = facts.get(Versions).of(update.result).old
    assert {one.way for one in goes_on(facts.flow, old, update)} == ways
