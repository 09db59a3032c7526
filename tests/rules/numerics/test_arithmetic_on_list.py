"""What `arithmetic-on-list` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a function that tries what its argument is": """
        def is_array(x):
            try:
                jnp.asarray(x)
                return True
            except Exception:
                return False

        @jax.jit
        def difference(tree, other):
            if is_array(other):
                return jax.tree.map(lambda leaf: leaf - other, tree)
            return jax.tree.map(lambda leaf, one: leaf - one, tree, other)

        @jax.jit
        def wrong(tree, other):
            return jax.tree.map(lambda leaf: leaf - other, tree)  #! arithmetic-on-list

        def use():
            tree = {"a": jnp.ones(3), "b": jnp.ones(3)}
            return difference(tree, tree), wrong(tree, tree)
        """,
    "dicts that keep an order or count, and what a helper asks about": """
        import collections

        class Cache:
            def __init__(self):
                self.kept, self.counts = collections.OrderedDict(), collections.Counter()

            def use(self, key):
                self.kept.move_to_end(key)
                return self.counts.most_common(2)

            def wrong(self):
                return self.kept.first()  #! arithmetic-on-list

        def has_keys(tree):
            return all(hasattr(tree, name) for name in ("keys", "__getitem__"))

        def walk(tree):
            return getattr(tree, "keys")() if has_keys(tree) else tree

        def branch(tree):
            if has_keys(tree):
                return tree.keys()
            return tree

        def use(x):
            cache = Cache()
            return cache.use("a"), cache.wrong(), walk((x, x)), branch((x, x)), branch(("a", "b"))
        """,
    "a deque is no list": """
        import collections

        class Recent:
            def __init__(self, size):
                self.items, self.all = collections.deque(maxlen=size), collections.deque()

            def put(self, item):
                self.items.appendleft(item)
                self.all.appendleft(item)
                self.all.rotate(1)

            def oldest(self):
                return self.items.pop(), self.all.popleft()

        def run(xs):
            recent = Recent(3)
            for x in xs:
                recent.put(x)
            return recent.oldest()
        """,
    "an attribute that is not there, of a value that others get": """
        def start():
            config = {"a": 1}
            seed = config.seed  #! arithmetic-on-list
            return keep(seed)

        def keep(seed):
            kept = {}
            kept["seed"] = seed
            return kept["seed"] + 1
        """,
    "items of a list as arguments": """
        def applied(f):
            def wrapper(*args, **kwargs):
                plain = [one for one in args]
                named = {name: one for name, one in kwargs.items()}
                return f(*plain, **named)
            return wrapper

        def run(x, y):
            return applied(jnp.sign)(x), applied(jnp.where)(y, x, 0.0), jnp.sign([1.0, 2.0])  #! arithmetic-on-list
        """,
    "an array becomes a list by tolist": """
        def table(x, names):
            return [names] + jnp.ones((3, 2)).tolist(), [names] + x.tolist()
        """,
    "the items of a list of records are records": """
        class Tree(NamedTuple):
            idx: jax.Array
            log_l: jax.Array

        def shifted(trees):
            sizes = [tree.idx.size for tree in trees]
            offset, found = 0, []
            for size, tree in zip(sizes, trees):
                found.append(Tree(tree.idx + offset, tree.log_l))
                offset += size
            return found

        def both():
            tree = Tree(jnp.arange(3), jnp.ones(3))
            return shifted([tree, tree])
        """,
    "a field called size": """
        @dataclasses.dataclass
        class Info:
            size: Sequence[int]
            mode: object = None

        def shape_of(info):
            return (info.mode,) + tuple(info.size)

        def wrong(x):
            return (1, 2) + jnp.ones(3).size  #! arithmetic-on-list
        """,
    "index functions give tuples": """
        def scaled(x, factor):
            return x.at[jnp.diag_indices(x.shape[0]) + (Ellipsis,)].mul(factor)

        def joined(x):
            return jnp.diag(x) + (1, 2)  #! arithmetic-on-list
        """,
    "records that count as leaves": """
        class Pair(NamedTuple):
            x: jax.Array
            slope: jax.Array

        def forward(f):
            def wrapped(*args):
                plain = jax.tree.map(
                    lambda one: one.x if isinstance(one, Pair) else one, args, is_leaf=lambda one: isinstance(one, Pair)
                )
                return f(*plain)
            return wrapped

        def run(q, e):
            return forward(lambda q, e: jnp.exp(q) + e)(Pair(q, q), Pair(e, e))

        def wrong(q, e):
            return jnp.exp(q) + Pair(e, e)  #! arithmetic-on-list
        """,
    "lists of arrays that are joined": """
        RED = jnp.ones(3)

        def colours(n, m):
            return [RED] * n + [RED] * m + list(jnp.zeros((2, 4)))
        """,
    "abstract properties that subclasses fill": """
        class Loss(abc.ABC):
            @property
            @abc.abstractmethod
            def arrays(self) -> tuple[jax.Array, ...]:
                "What it depends on."

            @property
            def count(self) -> int:
                return len(self.arrays)

            def rest(self):
                return self.flat()[self.count:]

            def flat(self):
                return self.arrays + self.constants()

            def constants(self):
                raise NotImplementedError
        """,
    "places of a grid, and one more index": """
        def main(x, index):
            grid = jnp.meshgrid(*[np.arange(d) for d in x.shape], indexing="ij")
            return x.at[tuple(grid) + (index,)].set(1.0)
        """,
    "branches that ask for numbers": """
        def shrunk(x, penalty):
            if jnp.isscalar(penalty):
                penalty = tree_util.tree_map(lambda y: penalty * jnp.ones_like(y), x)
            return tree_util.tree_map(lambda u, v: u - v, x, penalty)

        def scaled(x, rates):
            rates = tree_util.tree_map(lambda y: rates * jnp.ones_like(y), x) if type(rates) == float else rates
            return tree_util.tree_map(lambda u, v: u * v, x, rates)

        def main():
            x = (jnp.ones(3), jnp.ones(3))
            return shrunk(x, (0.5, 0.2)), scaled(x, (jnp.ones(3), jnp.ones(3)))
        """,
    "a side that the caller leaves out": """
        def sphere(x, radius):
            return jnp.sign(x) * radius

        def ball(x, radius):
            return tree_util.tree_map(lambda y: y * radius, x)

        def check(project, trees):
            x = jnp.ones(4)
            near = project(x, 1.0)
            if trees:
                near = project((x[:2], x[2:]), 1.0)
            return near

        def main():
            return check(sphere, False), check(ball, True)
        """,
    "a side that a caller takes": """
        def sphere(x, radius):
            return jnp.sign(x) * radius  #! arithmetic-on-list

        def check(project, trees):
            x = jnp.ones(4)
            return project((x[:2], x[2:]), 1.0) if trees else project(x, 1.0)

        def main():
            return check(sphere, True)
        """,
    "an object that is no dict has an `update` too": """
        import copy
        from settings import load

        def main(config):
            config.update(dict(a=1, b=2))
            if config.size < 3:
                config.update(dict(size=4))
            return config.size

        def generated(config, **options):
            config = copy.deepcopy(config)
            left = config.update(**options)
            return left if config.pad is None else config.pad

        def loaded(path):
            config = load(path)
            config.update(load("defaults"))
            config.layers = len(config.widths)
            return config
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
