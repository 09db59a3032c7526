"""What `side-effect-in-traced-code` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "attributes that are set by names": """
        class Stateful:
            def __init__(self, names):
                self.names = names

            def set_state(self, state):
                for name in self.names:
                    setattr(self, name, state[name])

            def pop_state(self):
                state = {}
                for name in self.names:
                    state[name] = getattr(self, name)
                    setattr(self, name, None)
                return state

        class Optimizer(Stateful):
            def __init__(self, names):
                super().__init__(names)
                self.count = 0
                self._step = jax.jit(self._one)

            def _one(self, params, state):
                self.set_state(state)
                params = params * self.count
                self.count = self.count + 1  #? side-effect-in-traced-code
                return params, self.pop_state()

        def main(names, params, state):
            optimizer = Optimizer(names)
            for _ in range(10):
                params, state = optimizer._step(params, state)
            return params
        """,
    "trace counters and static captures": """
        def run(f, x):
            shapes = None

            def body(x):
                nonlocal shapes
                y = f(x)
                shapes = y.shape
                return y

            return jax.jit(body)(x), shapes
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
