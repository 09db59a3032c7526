"""What `stale-captured-state` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a list in an attribute of an object with compiled methods": """
        class Made:
            def __init__(self):
                self.scales = [1.0]
                self.run = jax.jit(self.scaled)

            def scaled(self, x):
                return x * sum(self.scales)  #! stale-captured-state

        class Static:
            def __init__(self):
                self.scales = []

            @partial(jax.jit, static_argnums=0)
            def scaled(self, x):
                for scale in self.scales:  #! stale-captured-state
                    x = x * scale
                return x

            def grow(self, scale):
                self.scales.append(scale)

        class Filled:
            def __init__(self):
                self.scales = []
                self.run = jax.jit(self.scaled)

            def scaled(self, x):
                return x * sum(self.scales)

        def main(x):
            made, static, filled = Made(), Static(), Filled()
            for turn in range(3):
                filled.scales.append(float(turn))
            for turn in range(10):
                x = filled.run(static.scaled(made.run(x)))
                made.scales.append(1.0)
                static.grow(float(turn))
            return x
        """,
    "what every version of a state holds": """
        class Agent:
            def __init__(self, net, params):
                self.state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(1e-3))

            @partial(jax.jit, static_argnums=0)
            def update(self, state, x):
                gradient = jax.grad(lambda p: jnp.mean(self.state.apply_fn({"params": p}, x) ** 2))(state.params)
                return state.apply_gradients(grads=gradient)

            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return self.state.apply_fn({"params": self.state.params}, x)  #! stale-captured-state

        def main(params, x):
            agent = Agent(nn.Dense(3), params)
            for _ in range(4):
                agent.state = agent.update(agent.state, x)
                print(agent.act(x))
        """,
    "functions that are made when they are missing": """
        class Analyzer:
            def __init__(self, scale):
                self.scale = scale
                self.results = {}
                self.held = None

            def function(self):
                if "f" not in self.results:
                    self.results["f"] = jax.jit(lambda x: x * self.scale)
                if self.held is None:
                    self.held = jax.jit(lambda x: x + self.scale)
                return lambda x: self.held(self.results["f"](x))

        def run(xs, n):
            analyzer = Analyzer(3.0)
            step = jax.jit(lambda x: analyzer.function()(x))
            for _ in range(n):
                y = analyzer.function()(step(xs))
            return y

        def wrong(xs, n):
            analyzer = Analyzer(3.0)
            analyzer.results["k"] = 1.0
            step = jax.jit(lambda x: x * analyzer.results["k"])  #! stale-captured-state
            for _ in range(n):
                y = step(xs)
                analyzer.results["k"] = analyzer.results["k"] * 0.5
            return y
        """,
    "a depth that is counted up and down": """
        class Depth:
            def __init__(self):
                self.level = 0

        DEPTH = Depth()

        @jax.jit
        def step(x):
            if DEPTH.level:
                return x * 2
            return x

        def run(x):
            for _ in range(10):
                DEPTH.level += 1
                x = step(x)
                DEPTH.level -= 1
            return x
        """,
    "state refreshed before each call": """
        class Agent:
            def __init__(self):
                self.lr = 0.1

            def fit(self, w, g):
                step = jax.jit(lambda w, g: w - self.lr * g)
                return step(w, g)

        def main(w, g):
            agent = Agent()
            w = agent.fit(w, g)
            agent.lr = 0.01
            return agent.fit(w, g)
        """,
    "an attribute that changes between calls": """
        class Agent:
            def __init__(self):
                self.lr = 0.1
                self.step = jax.jit(self._step)

            def _step(self, w, g):
                return w - self.lr * g  #! stale-captured-state

        def main(w, g):
            agent = Agent()
            for _ in range(100):
                w = agent.step(w, g)
                agent.lr = agent.lr * 0.9
            return w
        """,
    "an attribute of a namespace": """
        import types

        def main(w, g):
            cfg = types.SimpleNamespace(lr=0.1)

            @jax.jit
            def step(w, g):
                return w - cfg.lr * g  #! stale-captured-state

            for _ in range(100):
                w = step(w, g)
                cfg.lr = cfg.lr * 0.9
            return w
        """,
    "an attribute behind a static self": """
        class Agent:
            def __init__(self):
                self.lr = 0.1

            @partial(jax.jit, static_argnums=0)
            def step(self, w, g):
                return w - self.lr * g  #! stale-captured-state

        def main(w, g):
            agent = Agent()
            for _ in range(100):
                w = agent.step(w, g)
                agent.lr *= 0.9
            return w
        """,
    "a module-level dict": """
        CONFIG = {"lr": 0.1}

        @jax.jit
        def step(w, g):
            return w - CONFIG["lr"] * g  #! stale-captured-state

        def main(w, g):
            for _ in range(100):
                w = step(w, g)
                CONFIG["lr"] *= 0.9
            return w
        """,
    "a variable that another function changes": """
        def main(w, g):
            lr = 0.1

            def decay():
                nonlocal lr
                lr = lr * 0.9

            @jax.jit
            def step(w, g):
                return w - lr * g  #! stale-captured-state

            for _ in range(100):
                w = step(w, g)
                decay()
            return w
        """,
    "functions that every turn makes, one of several": """
        class Wrap:
            def __init__(self, env, size):
                self.env = env
                self.size = size

            def reset(self, x):
                return self.env * self.size * x

        def make_one(env):
            env = Wrap(env, 2)
            env = Wrap(env.env, 3)

            def train(x):
                return env.reset(x)

            return train

        def make_two(env):
            env = Wrap(env, 2)
            env = Wrap(env.env, 5)

            def train(x):
                return env.reset(x) + 1

            return train

        def main(one, env, x):
            make = make_one if one else make_two
            train = make(env)
            return jax.jit(train)(x)  #! retrace-every-call

        def run(ones, env, x):
            for one in ones:
                x = main(one, env, x)
            return x
        """,
    "containers that change between the calls": """
        def known(x, n):
            pool = [jnp.zeros(3), jnp.ones(3)]

            @jax.jit
            def f(x):
                return sum(x @ p for p in pool)  #! stale-captured-state

            for _ in range(n):
                x = x - 0.1 * jax.grad(f)(x)
                pool[0] = x
            return x

        def longer(x, n):
            history = [x]
            f = jax.jit(lambda x: jnp.mean(jnp.stack(history), axis=0) + x)  #! stale-captured-state
            for _ in range(n):
                x = f(x)
                history.append(x)
            return x

        def make(first):
            pool = [first] * 4

            @jax.jit
            def f(x):
                return sum(x @ p for p in pool)  #! stale-captured-state

            return pool, f

        def given_back(x, n):
            pool, f = make(x)
            for i in range(n):
                x = x - 0.1 * f(x)
                pool[i % 4] = x
            return x
        """,
    "containers that change before, or that compiled code is given": """
        def given(x, n):
            pool = [jnp.zeros(3), jnp.ones(3)]
            f = jax.jit(lambda x, pool: sum(x @ p for p in pool))
            for _ in range(n):
                x = x - 0.1 * f(x, pool)
                pool[0] = x
            return x

        def before(x, n):
            pool = []
            for i in range(n):
                pool.append(x * i)
            f = jax.jit(lambda x: sum(x @ p for p in pool))
            for _ in range(n):
                x = x - 0.1 * f(x)
            return x

        def beside(x, n):
            w, losses = jnp.ones(3), []
            f = jax.jit(lambda x: x * w)
            for _ in range(n):
                x = f(x)
                losses.append(float(x.sum()))
            return x, losses

        def counted(x, n):
            layers = [x, x]
            f = jax.jit(lambda x: x / len(layers))
            for _ in range(n):
                x = f(x)
                layers[0] = x
            return x
        """,
    "what a callback changes on the host, whenever the compiled code runs": """
        def make_train(progress, n):
            def train(x):
                def step(x, _):
                    def tell(x):
                        print(x)
                        progress()

                    jax.experimental.io_callback(tell, None, x)
                    return x + 1, x

                return jax.lax.scan(step, x, None, n)

            return train

        def run(bar, xs, n):
            bar.calls = 0

            def progress():
                bar.calls += 1
                if bar.calls % n == 0:
                    bar.update(1)

            return jax.jit(jax.vmap(make_train(progress, n)))(xs)

        def counted(x, n):
            counts = {"turns": 0}

            @jax.jit
            def step(x):
                def tell(x):
                    counts["turns"] += 1
                    print(counts["turns"], x)

                jax.debug.callback(tell, x)
                return x + 1

            for _ in range(n):
                x = step(x)
            return x

        def compiled(x, n):
            counts = {"turns": 0}

            @jax.jit
            def step(x):
                return x + counts["turns"]  #! stale-captured-state

            for _ in range(n):
                x = step(x)
                counts["turns"] += 1
            return x
        """,
    "a count of an object that nothing but the count reads": """
        class Env:
            def __init__(self):
                self.steps = 0

            def step(self, state, action):
                self.steps += 1  #? side-effect-in-traced-code
                return state + action, state.sum()

            def rollout(self, policy, state, n):
                def body(state, _):
                    return self.step(state, policy(state))

                body = jax.jit(body)
                for _ in range(n):
                    state, reward = body(state, None)
                return state
        """,
    "a deep copy is another object, a plain copy has the same parts": """
        import copy

        class Names:
            def __init__(self):
                self.counts = {}

            def named(self, key):
                if key not in self.counts:
                    self.counts[key] = -1
                self.counts[key] += 1
                return f"{key}{self.counts[key]}"

        def main(params):
            names = Names()

            def apply(params):
                own = copy.deepcopy(names)
                return params[own.named("w")] + params[own.named("w")]

            f = jax.jit(apply)
            return f(params), f(params)

        def shared(params):
            names = Names()
            names.counts["n"] = 1

            def apply(params):
                own = copy.copy(names)
                return params * own.counts["n"]  #! stale-captured-state

            f = jax.jit(apply)
            out = f(params)
            names.counts["n"] = 2
            return out, f(params)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
