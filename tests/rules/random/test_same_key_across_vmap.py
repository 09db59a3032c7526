"""Verdicts of `same-key-across-vmap` on programs built by hand, and what it finds in source."""

import pytest
from rules.programs import marked, said
from sketch import Sketch

from jaxaudit.rules.random.same_key_across_vmap import SameKeyAcrossVmap


def verdict(sketch: Sketch, op) -> str | None:
    return sketch.verdicts(SameKeyAcrossVmap).get(op.span.line)


@pytest.mark.parametrize(("axis", "expected"), [(0, "proved"), (None, "warning"), ("?", "unknown")])
def test_key_as_argument(axis, expected):
    s = Sketch()
    keys, xs = s.param("keys"), s.param("xs")
    k, x = s.value("k"), s.value("x")
    with s.region("function", "one", (k, x)) as body:
        made = s.draw(k).result
    s.close(body, made)
    assert verdict(s, s.call(body, keys, xs, name="vmap", in_axes=(axis, 0))) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("vmap", "error"), ("pmap", "error"), ("map", "error"), ("tree.map", "error"), ("shard_map", "warning")],
)
def test_closed_over_key(name, expected):
    s = Sketch()
    key, xs = s.param("key"), s.param("xs")
    x = s.value("x")
    with s.region("function", "one", (x,)) as body:
        use = s.draw(key)
    s.close(body, use.result)
    mapped = s.call(body, xs, name=name, in_axes=(0,))
    assert verdict(s, mapped) == expected
    (finding,) = s.judge(SameKeyAcrossVmap)
    assert ("leaf" in finding.message) == (name == "tree.map")
    assert len(finding.message) <= 90


def test_mapped_index_folded_in():
    s = Sketch()
    key, xs = s.param("key"), s.param("xs")
    i = s.value("i")
    with s.region("function", "one", (i,)) as body:
        s.draw(s.fold(key, i))
    assert verdict(s, s.call(body, xs, name="vmap", in_axes=(0,))) == "proved"


@pytest.mark.parametrize("function", ["jax.lax.axis_index", "axis_index"])
@pytest.mark.parametrize("transform", ["pmap", "shard_map"])
def test_axis_index_folded_in(function: str, transform: str):
    s = Sketch()
    key, xs = s.param("key"), s.param("xs")
    with s.region("function", "one", (s.value("x"),)) as body:
        index = s.op("collective", attrs={"function": function, "axis_name": "d"}).result
        s.draw(s.fold(key, index))
    assert verdict(s, s.call(body, xs, name=transform, in_axes=(0,))) == "proved"


def test_use_deep_in_a_callee():
    s = Sketch()
    key, xs = s.param("key"), s.param("xs")
    inner = s.value("key")
    with s.region("function", "lambda", (s.value("o"),)) as body:
        with s.region("function", "choose", (inner,)) as choose:
            s.draw(inner)
        s.call(choose, key)
    mapped = s.call(body, xs, name="vmap", in_axes=(0,))
    assert s.verdicts(SameKeyAcrossVmap) == {mapped.span.line: "error"}


def test_no_keys_no_obligation():
    s = Sketch()
    with s.region("function", "one", (s.value("x"),)) as body:
        pass
    s.call(body, s.param("xs"), name="vmap", in_axes=(0,))
    assert s.judge(SameKeyAcrossVmap) == []


def test_ranked_results_are_a_warning():
    s = Sketch()
    key, xs = s.param("key"), s.param("xs")
    with s.region("function", "one", (s.value("x"),)) as body:
        made = s.draw(key).result
    s.close(body, made)
    mapped = s.call(body, xs, name="vmap", in_axes=(0,))
    s.op("array.order", {"x": mapped.result}, {"function": "jax.numpy.argmax"})
    assert verdict(s, mapped) == "warning"


def test_copies_of_one_key():
    s = Sketch()
    key = s.param("key")
    tiled = s.op("array.expand", {"x": key}, {"function": "jax.numpy.tile"}).result
    k = s.value("k")
    with s.region("function", "one", (k,)) as body:
        s.draw(k)
    assert verdict(s, s.call(body, tiled, name="vmap", in_axes=(0,))) == "error"


PROGRAMS = {
    "several keys that are put behind themselves, and one key on all devices": """
        def score(theta, key):
            first, second = jax.random.split(key)
            return jnp.sum(theta * jax.random.normal(first, (3,))) + jax.random.normal(second)

        def slope(theta, key, n):
            eps = jax.random.normal(jax.random.fold_in(key, 1), (n, 3))
            eps = jnp.concatenate([eps, -eps])
            keys = jax.random.split(jax.random.fold_in(key, 2), n)
            scores = jax.vmap(score)(theta + eps, jnp.concatenate([keys, keys]))
            return jnp.mean(scores[:, None] * eps, axis=0)

        step = jax.pmap(lambda theta, key: jax.lax.pmean(slope(theta, key, 4), "i"), axis_name="i", in_axes=(None, 0))

        def alike(theta, key):
            return step(theta, jnp.broadcast_to(key, (8, *key.shape)))  #! same-key-across-vmap

        def apart(theta, key):
            return step(theta, jax.random.split(key, 8))
        """,
    "an array is a tree of one leaf": """
        def refilled(key, w, loss):
            grads = jax.grad(loss)(w)
            flat = jnp.all(jnp.abs(jnp.ravel(grads)) < 1e-7)
            return jax.tree.map(lambda g: jnp.where(flat, jax.random.uniform(key, g.shape), g), grads)
        """,
    "an object that hands out keys": """
        class Keys:
            def __init__(self, key):
                self.key = key

            def take(self):
                self.key, one = jax.random.split(self.key)
                return one

        def renewed(params, seed):
            keys = Keys(jax.random.PRNGKey(seed))
            return jax.tree.map(lambda p: jax.random.normal(keys.take(), p.shape), params)
        """,
    "parameters that start alike": """
        class Experiment:
            def __init__(self, forward):
                self.net = hk.transform_with_state(forward)
                self.key = jax.random.PRNGKey(0)

            def start(self, inputs):
                init = jax.pmap(lambda *args: self.net.init(*args), axis_name="i")
                keys = jnp.broadcast_to(self.key, (8,) + self.key.shape)
                params, state = init(keys, inputs)
                average, _ = init(keys, inputs)  #? key-reused
                return params, average, state

            def drop(self, params, state, inputs):
                apply = jax.pmap(lambda *args: self.net.apply(*args), axis_name="i")
                keys = jnp.broadcast_to(self.key, (8,) + self.key.shape)
                return apply(params, state, keys, inputs)  #! same-key-across-vmap

        def main(forward, inputs):
            experiment = Experiment(forward)
            params, average, state = experiment.start(inputs)
            return average, experiment.drop(params, state, inputs)  #! key-reused
        """,
    "a network that is run at several points of a batch": """
        def analysed(forward, params, rng, data):
            model = hk.transform(forward)
            predict = lambda z: model.apply(params, rng, z[None])[0, -1]
            return jax.vmap(jax.grad(predict))(data)  #? same-key-across-vmap

        def noisy(rng, data):
            return jax.vmap(lambda z: z + jax.random.normal(rng, z.shape))(data)  #! same-key-across-vmap
        """,
    "noise of shards, by a key that all devices have": """
        from jax.sharding import PartitionSpec as P

        def noisy(x, key):
            return x + jax.random.normal(key, x.shape)

        def own(x, key):
            return x + jax.random.normal(jax.random.fold_in(key, lax.axis_index("data")), x.shape)

        mesh = jax.make_mesh((4,), ("data",))
        for f in (noisy, own):
            run = jax.shard_map(f, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
            print(run(jnp.ones((16, 3)), jax.random.key(0)))  #! same-key-across-vmap
        """,
    "the position along another map than the one that shares the key": """
        def noisy(key, x):
            return x + jax.random.normal(jax.random.fold_in(key, lax.axis_index("i")), x.shape)

        def one(key, xs):
            return jax.vmap(noisy, in_axes=(None, 0), axis_name="i")(key, xs)

        def two(key, xss):
            inner = jax.vmap(noisy, in_axes=(None, 0))
            return jax.vmap(inner, in_axes=(None, 0), axis_name="i")(key, xss)  #! same-key-across-vmap
        """,
    "devices that put together or average copies of what one key gives": """
        from functools import partial

        from jax import lax
        from jax.sharding import PartitionSpec as P

        mesh = jax.make_mesh((8,), ("walkers",))

        def walk(key, n):
            return lax.scan(lambda x, k: (x + jax.random.normal(k, (n,)), None), jnp.zeros(n), jax.random.split(key, 9))[0]

        def paths(key):
            return walk(key, 100)

        def estimate(key):
            return lax.pmean(jnp.mean(walk(key, 100) > 0), "walkers")

        class Noise:
            def __init__(self, scale):
                self.scale = scale

            def __call__(self, key, x):
                return jnp.tanh(x) * (1 + self.scale * jax.random.normal(key, x.shape))

        run = partial(jax.shard_map, mesh=mesh)
        one, two, three = jax.random.split(jax.random.key(0), 3)
        rows = jnp.ones((64, 3))
        print(run(paths, in_specs=P(), out_specs=P("walkers"), check_vma=False)(one))  #! same-key-across-vmap
        print(run(estimate, in_specs=P(), out_specs=P(), check_vma=False)(two))  #! same-key-across-vmap
        print(run(Noise(0.1), in_specs=(P(), P("walkers")), out_specs=P("walkers"))(three, rows))  #! same-key-across-vmap
        """,
    "numbers that all devices are to share": """
        from jax import lax
        from jax.sharding import PartitionSpec as P

        mesh = jax.make_mesh((8,), ("data",))

        def flipped(key, images):
            return jnp.where(jax.random.bernoulli(key), images, images[:, ::-1])

        def start(key):
            return jax.random.normal(key, (3, 3))

        one, two = jax.random.split(jax.random.key(0))
        turn = jax.shard_map(flipped, mesh=mesh, in_specs=(P(), P("data")), out_specs=P("data"))
        print(turn(one, jnp.ones((64, 3))))  #? same-key-across-vmap
        print(jax.shard_map(start, mesh=mesh, in_specs=P(), out_specs=P())(two))  #? same-key-across-vmap
        """,
    "a list of one key": """
        def step(x, key):
            return x + jax.random.normal(key, x.shape)

        def train(batches, key):
            n = jax.local_device_count()
            for x in batches:
                key, sub = jax.random.split(key)
                print(jax.pmap(step)(x, jnp.stack([sub] * n)))  #! same-key-across-vmap
        """,
    "a function that judges, called or mapped as it is": """
        class Problem:
            def __init__(self, key):
                self.key = key

            def evaluate(self, x):
                return jnp.sum((x - jax.random.normal(self.key, x.shape)) ** 2)

            def jitter(self, x):
                return x + jax.random.normal(self.key, x.shape)

        def search(key, pop):
            problem = Problem(key)
            return jax.vmap(lambda x: problem.evaluate(x))(pop)  #? same-key-across-vmap

        def search_too(key, pop):
            problem = Problem(key)
            return jax.vmap(problem.evaluate)(pop)  #? same-key-across-vmap

        def spread(key, pop):
            return jax.vmap(Problem(key).jitter)(pop)  #! same-key-across-vmap
        """,
    "in_axes says so for a key, wherever a caller put it": """
        def drop(key, x):
            return x * jax.random.bernoulli(key, 0.9, x.shape)

        def shared(keys, name, x):
            return jax.vmap(drop, (None, 0))(keys[name]["key"], x)  #? same-key-across-vmap

        def made(key, x):
            first, second = jax.random.split(key)
            return jax.vmap(drop, (None, 0))(first, x) + drop(second, x)  #! same-key-across-vmap
        """,
    "copies of parameters from one key": """
        def init(key):
            first, second = jax.random.split(key)
            return jax.random.normal(first, (8, 16)), jax.random.normal(second, (16,))

        def start(key, n):
            return jax.pmap(init)(jnp.stack([key] * n))

        def start_too(key, n):
            return jax.pmap(init)(jnp.broadcast_to(key, (n, *key.shape)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
