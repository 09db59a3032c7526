"""The rule `path-filter-misses`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved


class PathFilterMisses(Rule):
    """A filter on paths compares a key object with a text, which is never equal.

    ## What it does
    Looks into functions given to `jax.tree.map_with_path` and finds comparisons of an item of the path, or of the
    path itself, with a text.

    ## Why is this bad?
    The items of a path are `DictKey`, `GetAttrKey` or `SequenceKey` objects. None of them equals a text, so the
    filter never matches: weight decay hits every bias, frozen layers train.

    ## Example
        jax.tree.map_with_path(lambda path, p: path[-1] == "bias", params)

    ## Use instead
        jax.tree.map_with_path(lambda path, p: path[-1].key == "bias", params)

    ## When it cannot tell
    When the path is given to another function first, such as `keystr`.
    """

    summary = "A key of a tree path is compared with a text and never equals it."

    valid = (
        Example("def f(p):\n    return jax.tree.map_with_path(lambda path, x: path[-1].key == 'bias', p)\n", "its key"),
    )
    invalid = (
        Example("def f(p):\n    return jax.tree.map_with_path(lambda path, x: path[-1] == 'bias', p)  #!\n", "an item"),
        Example(
            "def f(p):\n    return jax.tree_util.tree_map_with_path(lambda k, x: 'bias' in k, p)  #!\n",
            "the whole path",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every function that sees paths."""
        yield from (_judge(op, facts.flow) for op in program.named("tree.map") if op.paths)


def _judge(op: Op, flow: Flow) -> Obligation:
    path = op.regions[0].params[0]
    readers = flow.readers.get(path, ())
    keys = [user.result for user in readers if user.name == "py.item" and isinstance(user.arguments.get("index"), int)]
    tests = (*readers, *(test for key in keys for test in flow.readers.get(key, ())))
    never = next((test for test in tests if _never_equal(test, path)), None)
    if never is not None:
        return _misses(op, never)
    return proved(op.span, "no key of the path is compared with a text")


def _never_equal(op: Op, path: Value) -> bool:
    x, y = op.arguments.get("x"), op.arguments.get("y")
    if op.name == "py.operator":
        return op.operator in ("in", "not in") and isinstance(x, str) and y is path
    if op.name != "array.map" or op.function not in ("equal", "not_equal"):
        return False
    return any(isinstance(one, Value) and one is not path and isinstance(two, str) for one, two in ((x, y), (y, x)))


def _misses(op: Op, test: Op) -> Obligation:
    return Obligation(
        test.span,
        message="a key of the path is compared with a text, which it never equals",
        current="paths consist of `DictKey`, `GetAttrKey` and `SequenceKey` objects; this is always false",
        expected="the text inside the key is compared",
        steps=(Step(op.span, "the path comes from here"),),
        suggestion='compare `path[-1].key` (or `.name`), or `"..." in jax.tree_util.keystr(path)`',
    )
