"""Programs in which no rule finds anything."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "grids in brackets": """
        @jax.jit
        def solve(x, ts, p):
            return x + ts.sum() + p

        def run(x, p, n):
            ts = jnp.r_[: n * 3]
            return solve(x, ts, p) + np.c_[x, p].sum()
        """,
    "functions that are given nothing but stars": """
        def all_of_them(xs, key):
            return (jnp.sum(*xs), np.sum(*xs), np.linalg.norm(*xs), jnp.var(*xs), np.concatenate(*xs), jnp.einsum(*xs),
                    jnp.take(*xs), np.cumsum(*xs), jnp.dot(*xs), jnp.where(*xs), jax.nn.softmax(*xs), jnp.stack(*xs),
                    jax.nn.one_hot(*xs), jnp.linspace(*xs), np.arange(*xs), jnp.reshape(*xs), jnp.quantile(*xs))

        def largest(*xs):
            return max(*xs), min(*xs, key=len), max()
        """,
    "letters for einsum": """
        LETTERS = string.ascii_lowercase + string.ascii_uppercase

        def names(n):
            return LETTERS[0] + LETTERS[n]
        """,
    "leaves that are no data are replaced by what a function of the leaves gives": """
        class Agent:
            def act(self, x):
                return x * 2

        @struct.dataclass
        class Part:
            v: jax.Array

        def acts(agents, xs):
            done = jax.tree.map(lambda agent, x: agent.act(x), agents, xs, is_leaf=lambda one: isinstance(one, Agent))
            return jax.vmap(jnp.sum)(done)

        def main(x):
            return acts(Agent(), x)

        def sums(x):
            totals = jax.tree.map(lambda one: one.v.sum(), {"a": Part(x)}, is_leaf=lambda one: isinstance(one, Part))
            return totals["a"] + 1.0

        def table(x):
            made = jax.tree.map(lambda f: f(x), {"relu": jax.nn.relu, "tanh": jnp.tanh})
            return jax.vmap(jnp.sum)(made["relu"])
        """,
    "a side that is left out by the switch that chose what it would read": """
        class Search:
            def __init__(self, *, greedy=False):
                self.greedy = greedy

            def body(self, x, key):
                if self.greedy:
                    y = x
                else:
                    y = x + random.normal(key, x.shape)
                return y, None

            def sample(self, key, x, n):
                if self.greedy:
                    keys = jnp.zeros(n)
                else:
                    keys = random.split(key, n)
                return lax.scan(self.body, x, keys)[0]

        def best(x, n):
            return Search(greedy=True).sample(None, x, n)

        def any_of_them(key, x, n):
            return Search(greedy=False).sample(key, x, n)

        def run(x, key, n, greedy):
            keys = jnp.zeros((n, 2)) if greedy else random.split(key, n)
            if not greedy:
                x = x + jax.vmap(lambda k: random.normal(k))(keys)
            return x

        def start(x, key):
            return run(x, key, 3, True)
        """,
    "two things of one class, of which one comes back as it was": """
        class Net(eqx.Module):
            w: jax.Array

        class Wrapped(eqx.Module):
            inner: Net
            head: jax.Array

        def prepare(student, teacher):
            return Wrapped(student, jnp.ones(3)), teacher

        def main(x, y):
            student, teacher = Net(x), Net(y)
            student, teacher = prepare(student, teacher)
            return student, teacher

        def alone(x, y):
            student, teacher = Net(x), Net(y)
            student, _ = prepare(student, teacher)
            return student
        """,
    "properties that convert what they are given, and classes with a way of their own to set attributes": """
        class Task:
            def __init__(self):
                self.target = (0.0, 1.0)

            @property
            def target(self):
                return self._target

            @target.setter
            def target(self, value):
                self._target = jnp.asarray(value)

        class Loose:
            def __setattr__(self, name, value):
                object.__setattr__(self, name, jnp.asarray(value))

        def main(task, loose):
            task = Task()
            task.target = (1.0, 2.0)
            loose = Loose()
            loose.x = (1.0, 2.0)
            return task.target.shape, task.target.sum(), loose.x.sum()
        """,
    "a method that is left to subclasses, compiled by its base": """
        class Trainer:
            def step(self):
                raise NotImplementedError

            def build(self):
                self.run = jax.jit(self.step, static_argnames="stats")

        class Sub(Trainer):
            def step(self, x, stats=True):
                return x if stats else x + 1

        def main(x):
            trainer = Trainer()
            trainer.build()
            return trainer.run(x, stats=False)
        """,
    "a state of which a part is set before it is put back": """
        from flax import nnx

        def load(model, tensors):
            state = nnx.state(model)
            state["kernel"].value = tensors["kernel"]
            state.bias.value = tensors["bias"]
            nnx.update(model, state)

        def main(tensors):
            model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
            load(model, tensors)
            return model
        """,
    "what turns take off a number, and the largest count": """
        def rewards(frames):
            deaths, score = 0, 0.0
            most = 0
            for frame in frames:
                if frame.dead:
                    deaths -= frame.value
                score += frame.score
                most = max(most, frame.count)
            return deaths, score, most
        """,
    "the seed of every evaluation is a setting": """
        def train(config, xs):
            def body(total, x):
                key = random.key(config.eval_seed)
                return total + random.normal(key) * x, None

            return lax.scan(body, 0.0, xs)
        """,
    "objects that a function leaves as they were on one of its ways": """
        class Box:
            def __init__(self):
                self.size = 4

        def grow(box, fast):
            if fast:
                return
            box.size = 3

        def main(fast):
            box = Box()
            grow(box, fast)
            return jnp.zeros((4,)) + jnp.zeros((box.size,))

        def turns(flags):
            sizes = [4]
            for flag in ("a", "b"):
                if flags[flag]:
                    continue
                sizes[0] = 3
            return jnp.zeros((4,)) + jnp.zeros((sizes[0],))
        """,
    "a container of open size that is changed and handed out": """
        class Stats:
            def __init__(self, names):
                self.names = names

            @partial(jax.jit, static_argnums=(0, 1))
            def reset(self, shape):
                stats = {"n": jnp.zeros((*shape, 1))}
                stats.update({name: jnp.zeros((*shape, 1)) for name in self.names})
                return stats

            @partial(jax.jit, static_argnums=0)
            def update(self, stats, done, info):
                stats.update({"n": (stats["n"] + 1) * (1 - done)})
                for name in self.names:
                    stats.update({name: (info[name] + stats[name]) * (1 - done)})
                return stats

        def main(done, info, names):
            stats = Stats(names)
            return jax.vmap(stats.update, in_axes=(0, 0, None))(stats.reset((4,)), done, info)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
