"""What `carry-type-changes` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import HEADER, audited, marked, said

PROGRAMS = {
    "new parameters have the shapes of the old ones": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)

        def train(p, xs):
            def body(carry, x):
                p, s = carry
                u, s = tx.update(jax.grad(loss)(p, x), s, p)
                p = optax.apply_updates(p, u)
                return ({**p, "b": p["b"][None]}, s), loss(p, x)
            return jax.lax.scan(body, (p, tx.init(p)), xs)  #! carry-type-changes
        train(start(jax.random.key(0)), jnp.ones((5, 16, 4)))
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def shown(program: str) -> list[str]:
    """Return the lines that the steps of the only finding point to."""
    (found,) = audited(program).issues
    start = HEADER.count("\n")
    return [program.splitlines()[step.line - start - 1].strip() for step in found.why]


def test_the_steps_show_where_the_type_changes() -> None:
    program = """
        def count(seen, arm):
            return seen + jax.nn.one_hot(arm, 5)

        def play(arms):
            start = jnp.zeros(5, jnp.int32)
            def body(seen, arm):
                return count(seen, arm), None
            return jax.lax.scan(body, start, arms)
        play(jnp.arange(5))
        """
    assert "return seen + jax.nn.one_hot(arm, 5)" in shown(program)


def test_the_steps_show_the_part_that_only_the_body_has() -> None:
    program = """
        def step(state, key):
            state = dict(state, x=state["x"] + jax.random.normal(key))
            state["norm"] = jnp.abs(state["x"])
            return state, None

        def chain(keys):
            return jax.lax.scan(step, {"x": jnp.zeros(())}, keys)
        """
    assert 'state["norm"] = jnp.abs(state["x"])' in shown(program)


def test_the_steps_show_where_an_axis_is_made() -> None:
    program = """
        def act(logits, key):
            return distrax.Categorical(logits=logits).sample(seed=key, sample_shape=(16,))

        def move(state, action):
            done = action == 1
            moved = jax.tree.map(lambda new, old: jnp.where(done, new, old), {"x": jnp.zeros(())}, state)
            return moved

        def roll(w, keys):
            def body(state, key):
                action = act(state["x"][:, None] * w, key)
                return jax.vmap(move)(state, action), None
            return jax.lax.scan(body, {"x": jnp.zeros(16)}, keys)
        roll(jnp.ones(3), jax.random.split(jax.random.key(0), 9))
        """
    assert "return distrax.Categorical(logits=logits).sample(seed=key, sample_shape=(16,))" in shown(program)


def test_the_steps_show_the_reduction_that_keeps_an_axis() -> None:
    program = """
        def run(xs, w):
            def cell(h, x):
                gate = jnp.sum(x * w, keepdims=True)
                h = jnp.tanh(gate) * 0.5 + h
                return h, h
            return jax.lax.scan(cell, 0.0, xs)
        run(jnp.ones((5, 3)), jnp.ones(3))
        """
    assert "gate = jnp.sum(x * w, keepdims=True)" in shown(program)
