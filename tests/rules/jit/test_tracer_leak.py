"""What `tracer-leak` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a function with a derivative of its own gets numbers": """
        class Problem:
            def set(self, p):
                self.inner = p * jnp.ones(3)

        class Other:
            def set(self, p):
                self.inner = p * jnp.ones(3)  #! tracer-leak

        def solver_of(problem):
            @jax.custom_vjp
            def forward(p):
                problem.set(p)
                return problem.inner * 2
            forward.defvjp(lambda p: (forward(p), p), lambda p, g: (g.sum() * p,))
            return forward

        def main():
            problem, other = Problem(), Other()
            forward = solver_of(problem)
            def loss(p):
                return jnp.sum(forward(p) ** 2)
            def wrong(p):
                other.set(p)
                return jnp.sum(other.inner ** 2)
            return jax.grad(loss)(1.0), problem.inner, jax.grad(wrong)(1.0), other.inner
        """,
    "a cache that tracers never reach: hashing them raised": """
        cache = {}

        def hashed(x):
            try:
                return (x.shape[0], float(x[0]))
            except TypeError:
                return None

        def grid(x):
            key = hashed(x)
            if key is None:
                return jnp.meshgrid(x, x)
            if key not in cache:
                cache[key] = jnp.meshgrid(x, x)
            return cache[key]

        @jax.jit
        def run(x):
            return grid(x)[0]
        """,
    "a container that only the loop's body reads, after writing, and a memo that keeps what it was given": """
        def update(cache, tokens, axis):
            places = [slice(None)] * 4
            memo = {}

            def body(i, val):
                places[axis] = i  #? tracer-leak
                return val.at[tuple(places)].set(tokens)

            @jax.jit
            def scaled(x):
                if axis not in memo:
                    memo[axis] = x * 2  #! tracer-leak
                return memo[axis]

            return scaled(jax.lax.fori_loop(0, 8, body, cache))
        """,
    "registers of one computation": """
        class Filter:
            def __init__(self):
                self.state = jnp.zeros(())

            def feed(self, xs):
                self.last, self.path = jax.lax.scan(lambda c, x: (c + x, c * x), 0.0, xs)  #? tracer-leak
                return self

            def surprise(self):
                return self.path.sum() + self.last

            def step(self, x):
                self.state = self.state + x  #! tracer-leak
                return self.state * 2

        def run(xs):
            one = Filter()
            return jax.jit(lambda xs: one.feed(xs).surprise())(xs), jax.jit(one.step)(xs[0])
        """,
    "registers that are read afterwards": """
        class Filter:
            def feed(self, xs):
                self.last = xs.sum()  #! tracer-leak
                return self.last * 2

        def run(xs):
            one = Filter()
            return jax.jit(one.feed)(xs), one.last
        """,
    "state that is taken in and handed out again": """
        class Optimizer:
            def __init__(self):
                self.count = 0
                self.velocity = None
                self.loss = None
                self._step = jax.jit(self._one)

            def set_state(self, state):
                for name in ("count", "velocity"):
                    assert getattr(self, name) is None
                    setattr(self, name, state[name])

            def pop_state(self, names):
                state = {}
                for name in names:
                    state[name] = getattr(self, name)
                    setattr(self, name, None)
                return state

            def _one(self, params, state):
                self.count = state["count"]
                self.velocity = state["velocity"] * self.count
                self.loss = params**2  #! tracer-leak
                params = params + self.velocity
                state = {"count": self.count + 1, "velocity": self.velocity}
                self.count = None
                self.velocity = None
                return params, state

        def main(params, state):
            optimizer = Optimizer()
            for _ in range(10):
                params, state = optimizer._step(params, state)
            return params, optimizer.loss
        """,
    "an append of another class": """
        class Runner:
            def __init__(self, storage):
                self.storage = storage

            @functools.partial(jax.jit, static_argnums=0)
            def step(self, rollout, *parts):
                return self.storage.append(rollout, *parts)

            @functools.partial(jax.jit, static_argnums=0)
            def leak(self, loss):
                self.storage.append(loss)  #! tracer-leak
                return loss

        def main(storage, rollout, observation):
            return Runner(storage).step(rollout, observation), Runner([]).leak(observation)
        """,
    "a generator of keys changed inside a gradient": """
        class Keys:
            def __init__(self, key):
                self.key = key

            def __call__(self):
                self.key, sub = jax.random.split(self.key)
                return sub

        @jax.jit
        def step(params, key, x):
            keys = Keys(key)

            def loss(params):
                noise = jax.random.normal(keys(), x.shape)
                return ((params * x + noise) ** 2).sum()

            return jax.grad(loss)(params), keys()
        """,
    "a value of a gradient kept in an attribute": """
        class M:
            def __init__(self):
                self.last = None
            def loss(self, p, x):
                self.last = p * x  #! tracer-leak
                return self.last.sum()
        def run(p, x):
            m = M()
            g = jax.grad(m.loss)(p, x)
            return g, m.last
        """,
    "a dict that each instance makes for itself": """
        from flax import struct

        class Step(struct.PyTreeNode):
            t: jax.Array
            info: dict = struct.field(default_factory=dict)

        def advanced(step, amount):
            new = Step(t=step.t + amount)
            new.info["return"] = step.t + amount
            return new

        def main(t, amount):
            step = Step(t=t)
            step.info["return"] = t
            return jax.lax.cond(amount > 0, lambda s: s, lambda s: advanced(s, amount), step)
        """,
    "an object that the body of a scan gives another field": """
        class Learner:
            def __init__(self, x):
                self.x = x

            def run(self, xs):
                def body(carry, x):
                    self.last = x  #! tracer-leak
                    return carry, x
                return jax.lax.scan(body, self, xs)[1]  #? unregistered-class
        """,
    "an attribute keeps a tracer": """
        class Model:
            def __init__(self):
                self.last = None

            def forward(self, x):
                y = x * 2
                self.last = y  #! tracer-leak
                return y

        def main(x):
            model = Model()
            out = jax.jit(model.forward)(x)
            return out, model.last
        """,
    "a list inside a scan body": """
        def main(xs):
            history = []

            def body(carry, x):
                carry = carry + x
                history.append(carry)  #! tracer-leak
                return carry, None

            return lax.scan(body, jnp.zeros(()), xs), history
        """,
    "a set and a deque from outside": """
        import collections

        visited, recent = set(), collections.deque(maxlen=10)

        @jax.jit
        def step(x):
            own = collections.deque()
            own.append(x)
            recent.append(x * 2)  #! tracer-leak
            visited.add(x)  #! tracer-leak
            return own.pop()
        """,
    "a cache of its own": """
        _TABLES = {}

        def table(n):
            if n not in _TABLES:
                _TABLES[n] = jnp.arange(n) / n  #! tracer-leak
            return _TABLES[n]

        @jax.jit
        def forward(x):
            return x * table(x.shape[0])
        """,
    "a property that an object of the compiled code keeps": """
        from functools import cached_property

        import dataclasses

        @jax.tree_util.register_dataclass
        @dataclasses.dataclass
        class State:
            position: jax.Array
            ends: jax.Array

            @cached_property
            def has_ended(self):
                return self.position >= self.ends

        def run(state):
            def body(state):
                return State(jnp.where(state.has_ended, state.position, state.position + 1), state.ends)

            return jax.lax.while_loop(lambda state: jnp.any(~state.has_ended), body, state)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
