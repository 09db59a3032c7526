"""What source once said wrongly, each found by the oracle."""

import enum

import jax
import jax.numpy as jnp

x, n, truths = jnp.linspace(-1.0, 1.0, 6).reshape(2, 3), jnp.arange(6).reshape(2, 3), jnp.array([True, False])

# dtypes of integers and truth values
kept = jnp.nan_to_num(n)
squared = jnp.square(truths)
leaky = jax.nn.leaky_relu(n)
chosen = jnp.select([n > 1, n < 0], [n, -n], 0.5)
power = jnp.linalg.matrix_power(truths[:, None] & truths, 2)

# the axis of an associative scan, whose function is called with arrays that are at hand
products = jax.lax.associative_scan(lambda p, q: p * q, x, axis=1)

# numbers are leaves of a tree, and so is whatever `is_leaf` says
halves = jax.tree.map(lambda leaf: leaf / 2, {"n": 10, "x": x, "none": None})
stacked = jax.tree.map(jnp.stack, {"rows": [x, x]}, is_leaf=lambda node: isinstance(node, list))

# lists and tuples that are made of arrays
first, *others = jax.random.split(jax.random.key(0), 4)
pair = list(zip(x, n, strict=True))[0]

# what has only the shape of what `vmap` maps is at hand; `abs` is an operator
ones = jax.vmap(lambda row: (jnp.ones_like(row), abs(row)))(x)

# a dict whose keys are no constants has entries
inverses = {jnp.exp: jnp.log, jnp.sinh: jnp.arcsinh}
known = [1 if inverses else 0]

# numbers that are differentiated are traced, and a mean over the mapped axis is not mapped
slope = jax.grad(lambda k: jnp.sin(k) * 2)(4.0)
centred = jax.vmap(lambda row: row - jax.lax.pmean(row, axis_name="rows"), axis_name="rows")(x)

# where None is a leaf, a leaf is no array for sure
merged = jax.jit(lambda train, fixed: jax.tree.map(lambda a, b: b if a is None else a, train, fixed, is_leaf=lambda v: v is None))
both = merged({"a": None, "b": x}, {"a": x, "b": None})

# a number that a loop stacks and one that both branches give are arrays
last, (numbers, sums) = jax.lax.scan(lambda c, row: (c + row.sum(), (3, c)), 0.0, x)
either = jax.lax.cond(last > 0, lambda: (1, 2), lambda: (1, 3))
branch = either[0]


# compiled code gets an array that is at hand back as it is where nothing is to be done
@jax.jit
def given_back(rows):
    same = jnp.asarray(x), jnp.broadcast_to(x, (2, 3)), x.astype(jnp.float32), x[:], jnp.concatenate([x])
    other = jnp.broadcast_to(x, (4, 2, 3))
    return rows + same[0] + other[0]


back = given_back(x)

# under `vmap` alone, a loop traces what depends on what is mapped
counts = jax.vmap(lambda r: jax.lax.fori_loop(0, 3, lambda i, c: (c[0] + 1, c[1] + r), (0, 0.0 * r)))(x)


# `__new__` is no method of the class that is made, and gives an object
class Meta(type):
    def __new__(cls, name, bases, members):
        made = super().__new__(cls, name, bases, members)
        return made

    def __call__(cls, *args):
        thing = cls.__new__(cls)
        thing.__init__(*args)
        return thing


class Thing(metaclass=Meta):
    def __init__(self, size):
        self.size = size


sized = jnp.ones(Thing(3).size)

# integers with and without a sign are integers together
masked = n & jnp.array(3, dtype=jnp.uint32)


# members of an IntEnum are numbers
class Mode(enum.IntEnum):
    FIRST = 0


mode = Mode.FIRST

# an entry that is set later is not what the comprehension gave the others
entries = {name: jnp.ones((2, 2)) for name in reversed("qkv")}
entries["embed"] = jnp.ones((5, 2))
embedded = jax.jit(lambda given: given["embed"])(entries)


# what was given back as it is may be given back again
@jax.jit
def spread(given):
    return given + jnp.broadcast_to(jnp.asarray(ORIGIN), given.shape)


ORIGIN = jnp.zeros(3)
moved = spread(jnp.ones(3))


# what a function inside sets on one of its ways, or for every leaf, is not set for sure
def search(wanted, tree):
    found, visits = False, 0

    def visit(leaf):
        nonlocal found, visits
        visits += 1
        if leaf is wanted:
            found = True
        return leaf

    jax.tree.map(visit, tree)
    return found, jnp.ones(visits)


missing, visited = search(moved, {"a": ORIGIN, "b": masked})


# a rule that a decorator declares is still a function
@jax.custom_jvp
def doubled(given):
    return 2 * given


@doubled.defjvp
def doubled_rule(primals, tangents):
    return doubled(*primals), 2 * tangents[0]


pushed = doubled_rule((moved,), (moved,))[1]
