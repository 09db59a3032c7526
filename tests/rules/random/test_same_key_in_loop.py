"""Verdicts of `same-key-in-loop` on programs built by hand, and what it finds in source."""

import pytest
from rules.programs import audited, marked, said
from sketch import Sketch

from jaxaudit.ir import Exit
from jaxaudit.rules.random.key_reused import KeyReused
from jaxaudit.rules.random.same_key_in_loop import SameKeyInLoop


def verdict(sketch: Sketch, op) -> str | None:
    return sketch.verdicts(SameKeyInLoop).get(op.span.line)


def test_invariant_key_in_for():
    s = Sketch()
    key = s.param("key")
    with s.region("loop", "body", (s.value("i"),)) as body:
        use = s.draw(key)
        s.op("py.print", {"x": use.result})
    s.op("py.loop", attrs={"trips": 3}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "error"
    assert "error" not in s.verdicts(KeyReused).values()


def test_one_turn_is_no_loop():
    s = Sketch()
    key = s.param("key")
    with s.region("loop", "body", (s.value("i"),)) as body:
        use = s.draw(key)
    s.op("py.loop", attrs={"trips": 1}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "proved"


@pytest.mark.parametrize(("row", "expected"), [(1, "proved"), (0, "error")])
def test_carried_key(row, expected):
    s = Sketch()
    start = s.param("key")
    carry = s.value("key")
    with s.region("loop", "body", (s.value("i"), carry)) as body:
        pair = s.unpack(s.split(carry), 2)
        use = s.draw(pair[row])
        s.op("py.print", {"x": use.result})
    s.close(body, pair[0])
    loop = s.op("py.loop", attrs={"trips": None}, operands=(start,), results=1, regions=(body,))
    after = s.draw(loop.result)
    assert verdict(s, use) == expected
    assert s.verdicts(KeyReused)[after.span.line] == "proved"


def test_carried_unchanged():
    s = Sketch()
    start = s.param("key")
    carry = s.value("key")
    with s.region("function", "body", (carry,)) as body:
        use = s.draw(carry)
    s.close(body, carry, use.result)
    loop = s.op("scan", attrs={"carry": 1}, operands=(start,), results=2, regions=(body,))
    s.op("py.print", {"x": loop.results[1]})
    assert verdict(s, use) == "error"


def test_scan_over_keys_then_reuse():
    s = Sketch()
    keys = s.split(s.param("key"), 5)
    k = s.value("k")
    with s.region("function", "body", (k,)) as body:
        use = s.draw(k)
    s.op("scan", attrs={"carry": 0}, operands=(keys,), results=0, regions=(body,))
    assert verdict(s, use) == "proved"
    again = s.draw(s.row(keys, 1))
    assert s.verdicts(KeyReused)[again.span.line] == "error"


def test_fold_in_index():
    s = Sketch()
    key = s.param("key")
    i = s.value("i")
    with s.region("function", "body", (i,)) as body:
        shifted = s.op("array.map", {"x": i, "y": 1}, {"function": "add"}).result
        use = s.draw(s.fold(key, shifted))
        constant = s.draw(s.fold(key, 7))
        s.op("py.print", {"x": constant.result})
    s.op("fori", {"lower": 0, "upper": 10}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "proved"
    assert verdict(s, constant) == "error"


def test_rows_by_range():
    s = Sketch()
    keys = s.split(s.param("key"), 4)
    index = s.value("")
    with s.region("loop", "body", (index,)) as body:
        i = s.op("py.element", {"iterable": {"start": 0, "stop": 4, "step": 1}, "index": index}).result
        use = s.draw(s.row(keys, i))
    s.op("py.loop", attrs={"trips": 4}, operands=(), results=0, regions=(body,))
    after = s.draw(s.row(keys, 2))
    assert verdict(s, use) == "proved"
    assert s.verdicts(KeyReused)[after.span.line] == "error"


def test_loop_that_leaves_after_the_use():
    s = Sketch()
    key = s.param("key")
    with s.region("loop", "body", (s.value("i"),)) as body:
        with s.region("branch", "then") as then:
            use = s.draw(key)
        s.close(then, exit=Exit.BREAK)
        with s.region("branch", "else") as otherwise:
            pass
        s.branch(then, otherwise)
    s.op("py.loop", attrs={"trips": None}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "proved"


def test_key_that_changes_where_it_is_used():
    s = Sketch()
    start, carry = s.param("key"), s.value("key")
    with s.region("loop", "body", (s.value("i"), carry)) as body:
        with s.region("branch", "then") as then:
            new, sub = s.unpack(s.split(carry), 2)
            use = s.draw(sub)
        s.close(then, new)
        with s.region("branch", "else") as otherwise:
            pass
        s.close(otherwise, carry)
        joined = s.branch(then, otherwise).result
    s.close(body, joined)
    s.op("py.loop", attrs={"trips": None}, operands=(start,), results=1, regions=(body,))
    assert verdict(s, use) == "proved"


def test_seed_inside():
    s = Sketch()
    with s.region("loop", "body", (s.value("i"),)) as body:
        use = s.draw(s.seed(0))
        s.op("py.print", {"x": use.result})
    s.op("py.loop", attrs={"trips": 3}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "warning"


def test_seed_from_the_index():
    s = Sketch()
    i = s.value("i")
    with s.region("loop", "body", (i,)) as body:
        use = s.draw(s.seed(i))
    s.op("py.loop", attrs={"trips": 3}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "proved"


def test_call_in_loop_blames_the_call():
    s = Sketch()
    key = s.param("key")
    inner = s.value("key")
    with s.region("loop", "body", (s.value("i"),)) as body:
        with s.region("function", "step", (inner,)) as step:
            deep = s.draw(inner)
        s.close(step, deep.result)
        call = s.call(step, key)
        s.op("py.print", {"x": call.result})
    s.op("py.loop", attrs={"trips": 3}, operands=(), results=0, regions=(body,))
    assert verdict(s, call) == "error"
    assert verdict(s, deep) is None


PROGRAMS = {
    "a list of copies of one key": """
        def draws(seed):
            keys = [jax.random.PRNGKey(seed) for _ in range(4)]
            return [jax.random.normal(k) for k in keys]  #! same-key-in-loop
        """,
    "an iterator goes on where it was, an object that is iterated over starts anew": """
        class Sampler:
            def __init__(self, key):
                self.key = key

            def __iter__(self):
                return self.drawn()

            def drawn(self):
                key = self.key
                while True:
                    key, sub = jax.random.split(key)
                    yield jax.random.normal(sub, (3,))

        def batch(loader):
            return {"x": next(loader)}

        def train(key, n):
            loader, total = iter(Sampler(key)), 0.0
            for _ in range(n):
                total = total + batch(loader)["x"]
            return total

        def again(key, n):
            loader, total = Sampler(key), 0.0
            for _ in range(n):
                for x in loader:  #! same-key-in-loop
                    total = total + x
            return total
        """,
    "keys split alike, with the step folded in": """
        def decode(key, n, x):
            def body(i, x):
                keys = jax.vmap(lambda k: jax.random.split(k, n))(key)
                keys = jnp.reshape(keys, (-1, *key.shape[1:]))
                keys = jax.vmap(lambda k: jax.random.fold_in(k, i))(keys)
                return x + jax.vmap(lambda k: jax.random.normal(k))(keys)
            return jax.lax.fori_loop(0, 10, body, x)

        def repeated(key, x):
            def body(i, x):
                first, second = jax.random.split(key)  #! same-key-in-loop
                return x + jax.random.normal(first) + jax.random.uniform(second)  #! same-key-in-loop
            return jax.lax.fori_loop(0, 10, body, x)
        """,
    "predictions for one batch after the other": """
        def predict(loader, n, rng):
            def one(x):
                keys = jax.random.split(rng, n)
                return jax.vmap(lambda k: x + jax.random.normal(k, x.shape))(keys)
            one = jax.jit(one)
            return jnp.concatenate([one(x) for x in loader], 0)  #? same-key-in-loop

        def train(loader, w, rng):
            @jax.jit
            def step(w, x):
                return w + (x * jax.random.normal(rng, x.shape)).sum()
            for x in loader:
                w = step(w, x)  #! same-key-in-loop
            return w
        """,
    "an attribute of an attribute is renewed": """
        class Runner:
            def __init__(self, agent):
                self.agent = agent

            def start(self, envs):
                out = []
                for env in envs:
                    self.agent.rng, key = jax.random.split(self.agent.rng)
                    out.append(env.reset() + jax.random.randint(key, (), 0, 3))
                return out

            def repeat(self, envs, key):
                out = []
                for env in envs:
                    self.agent.rng, _ = jax.random.split(self.agent.rng)
                    out.append(env.reset() + jax.random.randint(key, (), 0, 3))  #! same-key-in-loop
                return out
        """,
    "a split folded inside a helper": """
        def decode(key, n, x):
            def inner(i, x):
                keys = jax.vmap(lambda k: jax.random.split(k, n))(key)
                keys = jax.vmap(lambda k: jax.random.fold_in(k, i))(keys)
                return x + jax.vmap(lambda k: jax.random.normal(k))(keys)
            def body(x, i):
                return inner(i, x), {}
            return jax.lax.scan(body, x, jnp.arange(10))
        """,
    "a function that supplies keys": """
        def supply(f, rng):
            def wrapped(*args):
                nonlocal rng
                rng, key = jax.random.split(rng)
                return f(*args, key)
            return wrapped

        def evaluate(env, act, rng):
            act = supply(act, rng)
            seen, done = env.reset(), False
            while not done:
                seen, done = env.step(act(seen))
            return seen

        print(evaluate(None, lambda x, key: x + jax.random.normal(key), jax.random.PRNGKey(0)))
        """,
    "losses that are only listed": """
        def loss(params, key):
            x = jax.random.normal(key, (3,))
            return (params * x).sum(), (x.sum(), [x.min()])

        def fit(params, key, n):
            trace = []
            for _ in range(n):
                key, sub = jax.random.split(key)
                params = params + jax.random.normal(sub)
                total, (first, rest) = loss(params, key)  #? same-key-in-loop
                trace.append([float(x) for x in [total, first] + rest])
                print(f"{total:.3f}")
            return params, trace

        def wrong(params, key, n):
            for _ in range(n):
                key, sub = jax.random.split(key)
                params = params + jax.random.normal(sub)
                params = params - loss(params, key)[0]  #! same-key-in-loop
            return params
        """,
    "one key where there is one turn, and a list that is longer than it was": """
        def sample(key, n, size):
            def body(carry, i):
                k = key if n == 1 else jax.random.fold_in(key, i)
                return carry, jax.random.normal(k, (size,))
            return jax.lax.scan(body, None, jnp.arange(n))

        def wrong(key, n, size):
            def body(carry, i):
                return carry, i * jax.random.normal(key, (size,))  #! same-key-in-loop
            return jax.lax.scan(body, None, jnp.arange(n))

        class Cache:
            def __init__(self, locks):
                self._finished = list(locks)

            def register(self, lock):
                chain = len(self._finished)
                self._finished.append(lock)
                return self._finished[chain]

        def beyond(items):
            n = items.shape[0]
            return items[n]  #! out-of-bounds-index
        """,
    "a state that is renewed before the turn ends early": """
        class Source:
            def __init__(self, key):
                self.key = key

        def run(key, flags):
            source = Source(key)
            out = []
            for flag in flags:
                if flag:
                    source.key, sub = jax.random.split(source.key)
                    out.append(jax.random.normal(sub))
                    continue
                source.key, sub = jax.random.split(source.key)
                out.append(jax.random.uniform(sub))
            return out
        """,
    "a variable of another function that a loop renews": """
        def make(key):
            def draw(n):
                nonlocal key
                total = 0.0
                for _ in range(n):
                    key, sub = jax.random.split(key)
                    total += jax.random.normal(sub)
                return total
            return draw(3)
        """,
    "features and labels shuffled alike": """
        def shuffled(key, arrays, tree):
            arrays = [jax.random.permutation(key, one) for one in arrays]  #? same-key-in-loop
            return arrays

        def picked(key, tree, p):
            return jax.tree.map(lambda leaf: jax.random.choice(key, leaf, shape=(1,), p=p), tree)  #? same-key-across-vmap

        def noisy(key, arrays):
            return [jax.random.normal(key, one.shape) for one in arrays]  #! same-key-in-loop
        """,
    "one crop for all cameras": """
        def crop(key, image):
            corner = jax.random.randint(key, (3,), 0, 4)
            return jax.lax.dynamic_slice(image, corner, (8, 8, 3))

        def cropped(key, views):
            out = {}
            for name, image in views.items():
                out[name] = crop(key, image)  #? same-key-in-loop
            return out
        """,
    "use in the first turn only": """
        def f(key, n):
            for i in range(n):
                if i == 0:
                    x = random.normal(key)
                    print(x)
        """,
    "use in every tenth turn": """
        def f(key, n):
            for i in range(n):
                if i % 10 == 0:
                    x = random.normal(key)  #! same-key-in-loop
                    print(x)
        """,
    "slices that move with the loop": """
        def f(key, n, size):
            keys = random.split(key, n)
            out = []
            for start in range(0, n, size):
                out.append(jax.vmap(random.normal)(keys[start : start + size]))
            return out
        """,
    "turns that are only ordered against each other": """
        def fitted(params, key):
            first, second = jax.random.split(key)
            x = jax.random.normal(first, (32, 3))
            return jnp.mean((x @ params + jax.random.normal(second, (32,))) ** 2)

        def pick(candidates, key):
            best, lowest = candidates[0], jnp.inf
            for one in candidates:
                found = fitted(one, key)  #? same-key-in-loop
                if found < lowest:
                    best, lowest = one, found
            return best

        def estimate(params, key, n):
            total, highest = 0.0, 0.0
            for _ in range(n):
                found = fitted(params, key)  #! same-key-in-loop
                total += found
                if found > highest:
                    highest = found
            return total / n, highest

        class Walker:
            def __init__(self, x):
                self.x = x

            def move(self, key):
                self.x = self.x * jax.random.normal(key, self.x.shape)
                return jnp.sum(self.x**2)

        def walk(x, key):
            walker, lowest = Walker(x), jnp.inf
            for _ in range(100):
                found = walker.move(key)  #! same-key-in-loop
                if found < lowest:
                    lowest = found
            return walker.x, lowest
        """,
    "a dict that is known as one value, and gets new entries": """
        def turn(i, carry):
            key, sub = jax.random.split(carry["key"])
            carry["metrics"] = carry["metrics"] + 1
            carry.update(key=key, x=carry["x"] + jax.random.normal(sub, (3,)))
            return carry

        def epochs(key, n):
            state = {"key": key, "x": jnp.zeros(3)}
            for _ in range(n):
                state["metrics"] = jnp.zeros(2)
                state = jax.lax.fori_loop(0, 10, turn, state)
            return state

        def filled(key, load, n):
            state = load()
            for _ in range(n):
                key, state["key"] = jax.random.split(key)
                state["x"] = jax.random.normal(state["key"], (3,))
            return state
        """,
    "what starts again after an exception": """
        def skipped(key, n, items):
            for _ in range(n):
                try:
                    next(items)
                except StopIteration:
                    items = iter(jax.random.normal(key, (3,)))

        def tried(key, n, show):
            for _ in range(n):
                try:
                    show(jax.random.normal(key, (3,)))  #! same-key-in-loop
                except ValueError:
                    break
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def test_turns_that_may_make_the_same_prove_nothing() -> None:
    program = """
    def halves(key, n):
        return [jax.random.normal(jax.random.fold_in(key, i // 2)) for i in range(n)]
    """
    assert [one.rule for one in audited(program).unknown if one.rule == "same-key-in-loop"] == ["same-key-in-loop"]
