"""Whatever the function of an `associative_scan` is written as, what it computes of three elements decides."""

import pytest
from rules.programs import marked, said

_LAYER = """
        class Element(NamedTuple):
            gate: jax.Array
            state: jax.Array

        class Mixer(eqx.Module):
            gate: eqx.nn.Linear
            inner: eqx.nn.Linear

            @staticmethod
            def compose(early: Element, late: Element) -> Element:
                gate = jnp.multiply(early.gate, late.gate)
                carried = jnp.multiply({side}.gate, early.state)
                return Element(gate, jnp.add(carried, late.state)){mark}

            def __call__(self, xs):
                gates = jax.nn.sigmoid(jax.vmap(self.gate)(xs))
                return lax.associative_scan(self.compose, Element(gates, jax.vmap(self.inner)(xs))).state

        k1, k2 = random.split(random.key(0))
        Mixer(eqx.nn.Linear(3, 3, key=k1), eqx.nn.Linear(3, 3, key=k2))(jnp.ones((9, 3)))
"""
_PARTIAL = """
        def discounted(rewards, dones, gamma):
            def step(scale, later, earlier):
                (far, far_open), (near, near_open) = later, earlier
                return near + {weight} * far, near_open * far_open{mark}

            open_ = gamma * (1.0 - dones)
            return lax.associative_scan(partial(step, gamma), (rewards, open_), reverse=True)[0]

        discounted(jnp.ones(9), jnp.zeros(9), 0.9)
"""
_MATRICES = """
        def smooth(transitions, inputs):
            @jax.vmap
            def after(first, second):
                f, b = first
                g, c = second
                return jnp.matmul({product}), g @ b + c{mark}

            return lax.associative_scan(after, (transitions, inputs))[1]

        smooth(jnp.ones((9, 3, 3)), jnp.ones((9, 3)))
"""
_WRONG = "  #! operator-not-associative"
PROGRAMS = {
    "the gate of the wrong element": _LAYER.format(side="early", mark=_WRONG),
    "the gate of the later element": _LAYER.format(side="late", mark=""),
    "a constant in the place of what is carried": _PARTIAL.format(weight="scale", mark=_WRONG),
    "what is carried": _PARTIAL.format(weight="near_open", mark=""),
    "matrices in the order of the elements": _MATRICES.format(product="f, g", mark=_WRONG),
    "matrices against the order of the elements": _MATRICES.format(product="g, f", mark=""),
    "what is done inside is not followed": """
        def logs(xs):
            return lax.associative_scan(lambda a, b: jnp.logaddexp(a, b), xs), lax.associative_scan(jnp.maximum, xs)

        logs(jnp.ones(9))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
