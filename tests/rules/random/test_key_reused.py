"""What `key-reused` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "two evaluations on the same numbers, turn after turn": """
        def score(theta, key):
            first, second = jax.random.split(key)
            return jnp.sum(theta * jax.random.normal(first, (3,))) + jax.random.normal(second)

        @jax.jit
        def climb(theta, key):
            eps = jax.random.normal(jax.random.fold_in(key, 1), (8, 3))
            keys = jax.random.split(jax.random.fold_in(key, 2), 8)
            up = jax.vmap(score)(theta + eps, keys)
            down = jax.vmap(score)(theta - eps, keys)  #? key-reused
            return theta + jnp.mean((up - down)[:, None] * eps, axis=0)

        def main(theta, key):
            for key in jax.random.split(key, 100):
                theta = climb(theta, key)
            return theta
        """,
    "a helper that splits a key if there is one": """
        def take(rng):
            if rng is None:
                key = None
            else:
                key, rng = jax.random.split(rng)
            return key, rng

        def model(rng, x):
            key, rng = take(rng)
            x = x + jax.random.normal(key, x.shape)
            key, rng = take(rng)
            return x * jax.random.uniform(key, x.shape)

        def forgetful(rng, x):
            key, _ = take(rng)
            x = x + jax.random.normal(key, x.shape)
            key, _ = take(rng)  #! key-reused
            return x * jax.random.uniform(key, x.shape)
        """,
    "a key that may be None stays one key": """
        def noisy(rng, x):
            if rng is not None:
                x = x + jax.random.normal(rng, x.shape)
            return x * jax.random.uniform(rng, x.shape)  #! key-reused
        """,
    "a condition keeps one of two draws": """
        def pick(rng, near, far):
            here = near.any()
            one = jax.random.choice(rng, jnp.arange(9), (), p=near)
            return jax.lax.select(here, one, jax.random.choice(rng, jnp.arange(9), (), p=far))  #? key-reused

        def retry(rng, x):
            one = jax.random.normal(rng, x.shape)
            return jnp.where(one > 0, one, jax.random.normal(rng, x.shape))  #! key-reused
        """,
    "pixels and depths cropped alike": """
        def crop(key, image):
            at = jax.random.randint(key, (2,), 0, 9)
            return jax.lax.dynamic_slice(image, at, (8, 8))

        def crops(key, images):
            return jax.vmap(crop)(jax.random.split(key, images.shape[0]), images)

        def augment(key, pixels, depths):
            return crops(key, pixels), crops(key, depths)  #? key-reused
        """,
    "keys that are replaced before anybody reads them": """
        def main(key, n, steps):
            keys = jax.random.split(key, n)  #? value-never-read
            out = []
            for _ in range(steps):
                key, *keys = jax.random.split(key, n + 1)  #? key-reused
                out.append(jax.vmap(lambda k: jax.random.normal(k))(jnp.stack(keys)))
            return out

        def used(key, n, steps):
            keys = jax.random.split(key, n)
            out = [jax.random.normal(keys[1])]
            key, *keys = jax.random.split(key, n + 1)  #! key-reused
            return out, jax.random.normal(keys[0])
        """,
    "an example for the shapes of a network": """
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dense(3)(x)

        def example(rng):
            return jax.random.normal(rng, (4,))

        def create(rng, n):
            shown = jax.tree.map(lambda x: x[None].repeat(n, axis=0), example(rng))
            return Net().init(rng, shown)  #? key-reused

        def trained(rng, n):
            data = example(rng)
            params = Net().init(rng, data)  #? key-reused
            return Net().apply(params, data)
        """,
    "a network and its average on one mask": """
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dropout(0.1, deterministic=False)(nn.Dense(3)(x))

        def loss(params, average, key, x):
            one = Net().apply(params, x, rngs={"dropout": key})
            other = Net().apply(average, x, rngs={"dropout": key})  #? key-reused
            return ((one - other) ** 2).mean()
        """,
    "functions that are tests": """
        def test_mutations(step, jump):
            rng = jax.random.PRNGKey(0)
            return jax.random.normal(rng, (3,)) + jax.random.uniform(rng, (3,))

        def mutations(step, jump):
            rng = jax.random.PRNGKey(0)
            return jax.random.normal(rng, (3,)) + jax.random.uniform(rng, (3,))  #! key-reused
        """,
    "a key that shows shapes": """
        def loop(step, y, key):
            dummy, _ = jax.random.split(key)
            shapes = jax.eval_shape(step, y, dummy)
            def body(c):
                y, k = c
                now, k = jax.random.split(k)
                return step(y, now), k
            return jax.lax.while_loop(lambda c: c[0] < 3, body, (y, key)), shapes  #? key-reused

        def wrong(step, y, key):
            now, _ = jax.random.split(key)
            first = step(y, now) + jax.random.normal(now)  #? key-reused
            def body(c):
                y, k = c
                now, k = jax.random.split(k)
                return step(y, now) + jax.random.normal(now), k  #? key-reused
            return jax.lax.while_loop(lambda c: c[0] < 3, body, (y, key)), first  #! key-reused
        """,
    "a draw that is read on other paths": """
        def live(key, points, prior, n):
            if points is None:
                first, key = jax.random.split(key)
                unit = jax.vmap(jnp.tanh)(jax.random.uniform(first, (n, 3)))
            if prior is None:
                points = unit  #? unbound-name
            elif points is None:
                points = jax.vmap(prior)(jax.random.split(first, n))  #? key-reused
            return points, key

        def wrong(key, prior, n):
            first, key = jax.random.split(key)
            unit = jax.random.uniform(first, (n, 3))
            if prior is None:
                points = unit
            else:
                points = unit + jax.vmap(prior)(jax.random.split(first, n))  #! key-reused
            return points, key
        """,
    "a call that only compiles": """
        def plan(model, mean, key):
            key, sub = jax.random.split(key)
            return model(mean + jax.random.normal(sub, mean.shape)) + jax.random.normal(key)

        def train(model, key, mean, n):
            step = jax.jit(lambda mean, key: plan(model, mean, key))
            step(mean, key)
            for _ in range(n):
                key, now = jax.random.split(key)  #? key-reused
                mean = step(mean, now)
            return mean

        def wrong(model, key, mean, n):
            step = jax.jit(lambda mean, key: plan(model, mean, key))
            mean = step(mean, key)
            for _ in range(n):
                key, now = jax.random.split(key)  #! key-reused
                mean = step(mean, now)
            return mean
        """,
    "draws that are only plotted": """
        import matplotlib.pyplot as plt

        def predict(params, x, key):
            a, b = jax.random.split(key)
            y = x * params + jax.random.normal(a, (3,)) * jax.random.uniform(b, (3,))
            return y.mean(), y.std()

        def plots(params, x, z):
            key = jax.random.PRNGKey(0)
            fig, ax = plt.subplots(1, 1)
            mean, spread = predict(params, x, key)
            ax.fill_between(x, mean - spread, mean + spread)
            mean, spread = predict(params, z, key)  #? key-reused
            ax.plot(z, mean)
            for one in (x, z):
                mean, spread = predict(params, one, key)  #? same-key-in-loop
                ax.plot(one, mean + spread)
            return fig

        def wrong(params, x, z, key):
            mean, spread = predict(params, x, key)
            other, spread = predict(params, z, key)  #! key-reused
            plt.plot(mean)
            return mean + other + spread
        """,
    "a key that is spent on one path only": """
        class Agent:
            def __init__(self, key):
                self.key = key

            def act(self, seen):
                if seen is None:
                    action = 1.0
                else:
                    self.key, sub = jax.random.split(self.key)
                    action = jax.random.normal(sub)
                if seen.few:
                    return action
                if seen.late:
                    self.key, sub = jax.random.split(self.key)
                    print(jax.random.normal(sub))
                return action

            def guess(self, seen):
                if seen is None:
                    return 1.0
                return jax.random.normal(self.key)

        def main(seen):
            agent = Agent(jax.random.PRNGKey(0))
            return agent.act(seen[0]), agent.act(seen[1])

        def forgetful(seen):
            agent = Agent(jax.random.PRNGKey(0))
            return agent.guess(seen[0]), agent.guess(seen[1])  #! key-reused
        """,
    "one network under several methods, or at several points": """
        def encoded(variables, batch, model: nn.Module, rng):
            video = model.apply(variables, batch, rngs={"dropout": rng}, method=model.encode_video)
            text = model.apply(variables, batch, rngs={"dropout": rng}, method=model.encode_text)  #? key-reused
            return video, text

        def named(variables, batch, model: nn.Module, rng):
            video = model.apply(variables, {"video": batch[0]}, rngs={"dropout": rng})
            text = model.apply(variables, {"text": batch[1]}, rngs={"dropout": rng})  #? key-reused
            return video, text

        def sharpened(params, batch, model: nn.Module, rng):
            def loss(params):
                return (model.apply(params, batch, rngs={"dropout": rng}) ** 2).mean()  #? key-reused

            ascent = jax.grad(loss)(params)
            higher = jax.tree_util.tree_map(lambda a, b: a + 0.1 * b, params, ascent)
            return jax.grad(loss)(higher)

        def twice(variables, batch, model: nn.Module, rng):
            one = model.apply(variables, batch[0], rngs={"dropout": rng})
            other = model.apply(variables, batch[1], rngs={"dropout": rng})  #! key-reused
            return one, other

        def noisy(key, one, other):
            def add(x):
                return x + jax.random.normal(key, x.shape)  #! key-reused

            return add(one), add(other)
        """,
    "one element, one key for two on request, objects with keys": """
        def start(rng, x):
            model = hk.transform(lambda y: hk.Linear(3)(y))
            return jax.vmap(model.init, in_axes=None, axis_size=1)(rng, x)

        def interpolated(key, x, same):
            first, second = jax.random.split(key)
            noise = jax.random.normal(first, x.shape)
            if same:
                second = first
            return noise, jax.random.normal(second, x.shape)  #? key-reused

        def forgetful(key, x, again):
            noise = jax.random.normal(key, x.shape)
            if again:
                key, _ = jax.random.split(key)  #! key-reused
            return noise, jax.random.normal(key, x.shape)  #! key-reused

        def drawn(rng, shape):
            for _ in range(10):
                print(jax.random.normal(rng.split(), shape))

        def repeated(rng, shape):
            for _ in range(10):
                print(jax.random.normal(rng, shape))  #! same-key-in-loop
        """,
    "a type that does not say whether there is a key": """
        class Networks(NamedTuple):
            policy: hk.Transformed
            model: hk.Transformed

        def rolled_out(networks: Networks, params, z):
            action = networks.policy.apply(params, z)
            return networks.model.apply(params, z, action)

        def drawn(forward, params, key, x, y):
            network = hk.transform(forward)
            return network.apply(params, key, x), network.apply(params, key, y)  #! key-reused
        """,
    "a function and its inverse": """
        def rotate(x, key):
            first, _ = jax.random.split(key)
            return x * jax.random.rademacher(first, x.shape)

        def inverse_rotate(x, key):
            first, _ = jax.random.split(key)
            return x * jax.random.rademacher(first, x.shape)

        def mix(x, key):
            first, _ = jax.random.split(key)
            return x * jax.random.rademacher(first, x.shape)

        def compressed(x, key):
            return inverse_rotate(jnp.round(rotate(x, key)), key)  #? key-reused

        def wrong(x, key):
            return mix(jnp.round(rotate(x, key)), key)  #! key-reused
        """,
    "a key for each layer and one more": """
        def init(key, sizes, last):
            keys = jax.random.split(key, len(sizes) + 1)
            params = []
            for i, size in enumerate(sizes):
                params.append(jax.random.normal(keys[i], (size,)))
            return [*params, jax.random.normal(keys[-1], (last,))]

        def wrong(key, n, last):
            keys = jax.random.split(key, n)
            params = jax.vmap(lambda key: jax.random.normal(key, (3,)))(keys)
            return params, jax.random.normal(keys[-1], (last,))  #! key-reused
        """,
    "a state that no path renews": """
        class Keys:
            def __init__(self, key):
                self.key = key

            def __call__(self, shape):
                if shape is None:
                    return jax.random.normal(self.key)
                return jax.random.normal(self.key, shape)

        def step(key):
            keys = Keys(key)
            return keys((3,)), keys((3,))  #! key-reused
        """,
    "a state from outside whose key is replaced before a loop": """
        class State(TrainState):
            rng: jax.Array
            steps: jax.Array

        def collect(state: State):
            def step(rng, _):
                rng, key = jax.random.split(rng)
                return rng, jax.random.normal(key)
            rng, noise = jax.lax.scan(step, state.rng, None, 5)
            return state.replace(rng=rng).replace(steps=state.steps + 5), noise

        def update(state: State):
            state, noise = collect(state)
            for _ in range(3):
                rng, key = jax.random.split(state.rng)
                state = state.replace(rng=rng)
                noise = noise + jax.random.normal(key)
            return state, noise

        def stale(state: State):
            _, noise = collect(state)
            return noise + jax.random.normal(state.rng)  #! key-reused
        """,
    "one network is made from a key, the other from a part of it": """
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dense(4)(x)

        def main(rng):
            agent = Net().init(rng, jnp.zeros((1, 3)))
            rng, mixer_rng = jax.random.split(rng)  #? key-reused
            return agent, Net().init(mixer_rng, jnp.zeros((1, 3)))
        """,
    "tuples and lists of keys": """
        def main(key):
            keys = tuple(jax.random.split(key, 3)) + (jax.random.key(7),)
            return [jax.random.normal(k) for k in keys]
        def again(key):
            a, b = tuple(jax.random.split(key))
            return jax.random.normal(a), jax.random.normal(b), jax.random.normal(b)  #! key-reused
        def third(key):
            keys = list(jax.random.split(key, 3))
            return jax.random.normal(keys[0]), jax.random.normal(keys[1])
        """,
    "same partial called twice": """
        def noise(key, x):
            return x + random.normal(key, x.shape)

        def f(key, x, y):
            add = partial(noise, key)
            return add(x), add(y)  #! key-reused
        """,
    "every row used in a loop then one more": """
        def f(key):
            keys = random.split(key, 4)
            params = [random.normal(k) for k in keys]
            return params, random.normal(keys[3])  #! key-reused
        """,
    "two runs with a default key": """
        def draw(n, key=jax.random.PRNGKey(1)):
            return jax.random.normal(key, (n,))

        def main(n):
            print(draw(n))  #? key-reused

        main(3)
        main(4)
        """,
    "two draws with a default key": """
        def draw(n, key=jax.random.PRNGKey(1)):
            return jax.random.normal(key, (n,))

        def main(n):
            print(draw(n) * draw(n))  #! key-reused

        main(3)
        """,
    "two calls of a function that draws with a default key": """
        def draw(n, key=jax.random.PRNGKey(1)):
            return jax.random.normal(key, (n,))

        def main(n):
            return draw(n)  #! key-reused

        print(main(3) * main(3))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("flag", "not flag"),
        ("mode == 'a'", "mode == 'b'"),
        ("mode == 'a'", "mode != 'a'"),
        ("cfg.kind is None", "cfg.kind is not None"),
        ("cfg.kind is None", "cfg.kind"),
        ("flag and cfg.on", "not flag"),
        ("flag and cfg.on", "flag and not cfg.on"),
    ],
)
def test_conditions_that_exclude_each_other(first, second):
    program = f"""
        def f(key, flag, mode, cfg):
            x = 0.0
            if {first}:
                x = random.normal(key)
            if {second}:
                x = random.uniform(key)
            return x
        """
    assert said(program) == []


@pytest.mark.parametrize(("first", "second"), [("flag", "mode"), ("mode == 'a'", "cfg.kind == 'b'"), ("flag", "flag")])
def test_conditions_that_can_both_hold(first, second):
    program = f"""
        def f(key, flag, mode, cfg):
            x = 0.0
            if {first}:
                x = random.normal(key)
            if {second}:
                x += random.uniform(key)  #! key-reused
            return x
        """
    assert said(program) == marked(program)
