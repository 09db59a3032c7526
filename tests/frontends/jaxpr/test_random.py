"""The rules about keys, on traced programs: JAX's own cases with typed and raw keys, and what JAX does not see."""

from __future__ import annotations

import functools

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp
from yardsticks.programs import Program, expected, programs, without_comments

from frontends.jaxpr.tracing import errors, judge, load, ops, trace, violations
from jaxaudit.frontends.jaxpr import lower
from jaxaudit.rules.base import Severity, Verdict

PROGRAMS = programs("key_reuse")

UNSEEN = {
    "numpy_random_in_jit": "numbers that Python draws are constants in a trace",
    "too_few_rows_unpacked": "tracing stops where Python raises",
}
"""What only the source shows."""


@pytest.fixture
def markers():
    lower.install_markers()


@pytest.mark.parametrize("kind", ["typed", "raw"])
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_key_reuse_case(program: Program, kind: str, tmp_path, markers):
    if program.name in UNSEEN:
        pytest.skip(UNSEEN[program.name])
    text = without_comments(program.path)
    path = tmp_path / "case.py"
    path.write_text(text if kind == "typed" else text.replace("random.key(", "random.PRNGKey("))
    module = load(path, f"case_{kind}_{program.name}")
    found = errors(trace(module.main))
    allowed = {(mark.line, rule) for mark in program.errors for rule in mark.rules}
    assert found <= allowed
    assert bool(found) == bool(program.errors)


UNTRACEABLE = {"eager_against_jitted", "first_try_outside_the_loop", "key_only_looked_at"}
"""Programs that look at numbers while they run."""


@pytest.mark.parametrize("program", programs("idioms"), ids=lambda program: program.name)
def test_no_idiom_is_an_error(program: Program, markers):
    if program.name in UNTRACEABLE:
        pytest.skip("it looks at numbers while it runs")
    try:
        module = load(program.path, f"idiom_{program.name}")
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    assert errors(trace(module.main)) == set()


def test_one_key_for_every_leaf_of_a_tree_is_one_finding():
    def main(key, tree):
        return jax.tree.map(lambda leaf: leaf + jax.random.normal(key, leaf.shape), tree)

    found = violations(trace(main, jax.random.key(0), {"a": jnp.ones(2), "b": jnp.ones(3), "c": jnp.ones(4)}))
    assert found == {(line_of(main) + 1, "same-key-in-loop")}


def test_nothing_that_jax_catches_is_missed():
    wanted = {"error", "unknown"}
    missed = [
        name
        for name, row in expected().items()
        if row["jax_traced"].startswith("error") and row["jaxaudit"] not in wanted and not row.get("reason")
    ]
    assert missed == []


def line_of(function) -> int:
    return function.__code__.co_firstlineno


def test_a_shared_key_under_vmap_is_found_by_the_markers():
    def main(key, xs):
        return jax.vmap(lambda x, k: x + jax.random.normal(k), in_axes=(0, None))(xs, key)

    found = violations(trace(main, jax.random.key(0), jnp.ones(3)))
    assert found == {(line_of(main) + 1, "same-key-across-vmap")}


def test_a_key_with_the_position_along_the_map_folded_in_is_another_for_each_element():
    def each(key):
        def turn(x, sub):
            return x + jax.random.normal(sub), None

        key = jax.random.fold_in(key, jax.lax.axis_index("rows"))
        return jax.lax.scan(turn, 0.0, jax.random.split(key, 3))[0]

    def rows(key):
        return jax.vmap(lambda x: x + each(key), axis_name="rows")(jnp.zeros(4))

    assert not violations(trace(rows, jax.random.key(0)))


def test_a_closed_over_key_under_vmap_is_found():
    def main(key, xs):
        return jax.vmap(lambda x: x + jax.random.normal(key))(xs)

    assert violations(trace(main, jax.random.PRNGKey(0), jnp.ones(3))) == {(line_of(main) + 1, "same-key-across-vmap")}


def test_the_forward_rule_of_a_custom_vjp_is_followed():
    @jax.custom_vjp
    def noisy(x, key):
        return x * jax.random.normal(key)

    def forward(x, key):
        scale = jax.random.normal(key)
        return x * scale, scale + jax.random.uniform(key)

    def backward(scale, g):
        return g * scale, None

    noisy.defvjp(forward, backward)

    def main(x, key):
        return jax.grad(noisy)(x, key)

    found = violations(trace(main, 1.0, jax.random.key(0)))
    assert {rule for _, rule in found} == {"key-reused"}
    undifferentiated = trace(lambda x, key: noisy(x, key), 1.0, jax.random.key(0))
    assert violations(undifferentiated) == {(line_of(forward) + 2, "key-reused")}
    assert [root.name for root in undifferentiated.roots] == ["main", "noisy (forward rule)", "noisy (backward rule)"]


def test_the_backward_rule_of_a_custom_vjp_is_followed():
    @jax.custom_vjp
    def noisy(x, key):
        return x * 2

    def forward(x, key):
        return x * 2, key

    def backward(key, g):
        first = jax.random.normal(key, g.shape)
        return g * first * jax.random.uniform(key, g.shape), None

    noisy.defvjp(forward, backward)
    line = line_of(backward) + 2

    def direct(x, key):
        return jax.grad(lambda x: noisy(x, key).sum())(x)

    def compiled(x, key):
        return jax.grad(lambda x: jax.jit(noisy)(x, key).sum())(x)

    def scanned(x, keys):
        return jax.grad(lambda x: jax.lax.scan(lambda c, key: (noisy(c, key), None), x, keys)[0].sum())(x)

    keys = jax.random.split(jax.random.key(0), 3)
    for main, key in ((direct, keys[0]), (compiled, keys[0]), (scanned, keys), (noisy, keys[0])):
        found = trace(lambda x, key, main=main: main(x, key), jnp.ones(4), key)
        assert violations(found) == {(line, "key-reused")}, main


@pytest.mark.parametrize("redraws", [False, True])
def test_forward_and_backward_rules_are_linked_across_a_scan(redraws):
    @jax.custom_vjp
    def noisy(x, key):
        return x + jax.random.normal(key, x.shape)

    def forward(x, key):
        return x + jax.random.normal(key, x.shape), key

    def backward(key, g):
        return g * (jax.random.normal if redraws else jax.random.uniform)(key, g.shape), None

    noisy.defvjp(forward, backward)
    expected = set() if redraws else {(line_of(backward) + 1, "key-reused")}

    def carried(x, key):
        def body(carry, _):
            x, key = carry
            key, subkey = jax.random.split(key)
            return (noisy(x, subkey), key), None

        return jax.lax.scan(body, (x, key), None, length=3)[0][0].sum()

    def folded(x, key):
        def body(carry, i):
            return noisy(carry, jax.random.fold_in(key, i)), None

        return jax.lax.scan(body, x, jnp.arange(3))[0].sum()

    for main in (carried, folded):
        found = trace(lambda x, key, main=main: jax.grad(main)(x, key), jnp.ones(4), jax.random.key(0))
        assert violations(found) == expected, main


def test_a_backward_rule_may_draw_again_what_was_drawn():
    @functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
    def drop(x, key, rate):
        return x * jax.random.bernoulli(key, rate, x.shape)

    def forward(x, key, rate):
        return drop(x, key, rate), key

    def backward(rate, key, g):
        return g * jax.random.bernoulli(key, rate, g.shape), None

    drop.defvjp(forward, backward)

    def other(rate, key, g):
        return g * jax.random.uniform(key, g.shape), None

    def main(x, key):
        return jax.grad(lambda x: drop(x, key, 0.5).sum())(x)

    assert violations(trace(main, jnp.ones(4), jax.random.key(0))) == set()
    drop.defvjp(forward, other)
    assert violations(trace(lambda x, key: main(x, key), jnp.ones(4), jax.random.key(0))) == {
        (line_of(other) + 1, "key-reused")
    }


LIBRARY = """
import jax

def mixes(key):
    return jax.random.normal(key, (3,)) + jax.random.uniform(key, (3,))

def repeats(key):
    return jax.random.normal(key, (3,)) * jax.random.normal(key, (3,))
"""


def test_two_uses_inside_one_call_of_a_library_are_decided(tmp_path):
    path = tmp_path / "site-packages" / "some_library.py"
    path.parent.mkdir()
    path.write_text(LIBRARY)
    library = load(path, "some_library")

    def main(first, second):
        return library.mixes(first), library.repeats(second)

    found = [one for one in judge(trace(main, *jax.random.split(jax.random.key(0)))) if one.rule == "key-reused"]
    assert {one.verdict for one in found} == {Verdict.PROVED, Verdict.VIOLATED}
    (warned,) = [one for one in found if one.verdict is Verdict.VIOLATED]
    assert warned.severity is Severity.WARNING
    assert warned.message == "`mixes` of a library uses `first` twice: its random numbers depend on each other"


def test_what_a_checkpoint_computes_again_is_no_second_draw():
    @jax.checkpoint
    def layer(x, key):
        return jnp.sin(x * jax.random.normal(key, x.shape))

    def main(x, key):
        return jax.grad(lambda x: layer(x, key).sum())(x)

    program = trace(main, jnp.ones(3), jax.random.key(0))
    assert violations(program) == set()
    assert len(ops(program, "key.draw")) == 1
    assert [op.attrs["function"] for op in ops(program, "array.create") if "recomputed" in op.attrs] == [
        "jax.random.normal"
    ]


def test_a_helper_called_twice_is_blamed_on_the_caller():
    def noise(key):
        return jax.random.normal(key)

    def main(key):
        first = noise(key)
        return first + noise(key)

    program = trace(main, jax.random.key(0))
    assert violations(program) == {(line_of(main) + 2, "key-reused")}
    assert [op.qualified for op in ops(program, "py.call")] == ["noise", "noise"]


def test_a_helper_called_in_a_python_loop_is_several_calls():
    def noise(key):
        return jax.random.normal(key)

    def main(key):
        return sum(noise(one) for one in jax.random.split(key, 3))

    program = trace(main, jax.random.key(0))
    assert violations(program) == set()
    assert [op.qualified for op in ops(program, "py.call")].count("noise") == 3
    assert all(one.verdict is Verdict.PROVED for one in judge(program))


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey])
def test_each_call_of_jax_random_is_one_op(make):
    def main(key):
        first, second = jax.random.split(key)
        a = jax.random.normal(first, (3,))
        b = jax.random.permutation(second, 5)
        c = [jax.random.uniform(one, minval=1.0) for one in jax.random.split(jax.random.fold_in(key, 7), 3)]
        return a, b, c, make(3)

    program = trace(main, make(0))
    drawn = [op.qualified.rpartition(".")[2] for op in ops(program, "key.draw")]
    assert drawn == ["normal", "permutation", "uniform", "uniform", "uniform"]
    assert [op.arguments["num"] for op in ops(program, "key.split")] == [2, 3]
    assert [op.arguments["data"] for op in ops(program, "key.fold_in")] == [7]
    assert [op.arguments["seed"] for op in ops(program, "key.seed")] == [3]
    assert ops(program, "key.wrap") == []
    assert [value.name for op in ops(program, "key.draw") for value in op.results[:1]][:2] == ["a", "b"]
    assert {op.arguments["key"].name for op in ops(program, "key.draw")} >= {"first", "second"}
