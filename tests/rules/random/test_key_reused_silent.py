"""Programs that draw from keys, in which no rule finds anything."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a state that every path renews before it returns": """
        class Keys:
            def __init__(self, key):
                self.key = key

            def __call__(self, names=None):
                if names is None:
                    self.key, sub = jax.random.split(self.key)
                    return sub
                else:
                    keys = jax.random.split(self.key, len(names) + 1)
                    self.key = keys[0]
                    return dict(zip(names, keys[1:]))

        def step(model, params, key, batch):
            keys = Keys(key)
            out = model.apply(params, batch, rngs=keys(("dropout", "noise")))
            return keys(), out
        """,
    "key renewed in one branch and used in a callee": """
        def draw(key):
            return random.normal(key)

        def f(key, guide):
            if guide:
                key, sub = random.split(key)
                print(random.normal(sub))
            return draw(key)
        """,
    "key kept in an object": """
        class Sampler:
            def __init__(self, key):
                self.key = key

            def draw(self):
                self.key, sub = random.split(self.key)
                return random.normal(sub)

        def f(key):
            sampler = Sampler(key)
            return sampler.draw() + sampler.draw()
        """,
    "generator gives new keys": """
        def f(seed):
            keys = iter(random.split(random.key(seed), 3))
            return random.normal(next(keys)) + random.normal(next(keys))
        """,
    "zip uses as many keys as the shortest": """
        def f(key, names):
            keys = random.split(key, 4)
            params = {name: random.normal(k) for name, k in zip("abc", keys)}
            others = [random.normal(k) for _, k in zip(names, random.split(keys[3], 2))]
            return params, others
        """,
    "none is no key": """
        import haiku as hk

        def f(key, net, x):
            model = hk.transform(net)
            params = model.init(key, x)
            return model.apply(params, None, x) + model.apply(params, None, x)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
