"""What `axis-conflict` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import HEADER, audited, marked, said

PROGRAMS = {
    "an object that every way of a function changes": """
        def put(sizes, v):
            if v > 0:
                sizes[0] = 3
                return 1
            sizes[0] = 3
            return 0

        def main(v):
            sizes = [4]
            put(sizes, v)
            return jnp.zeros((4,)) + jnp.zeros((sizes[0],))  #! axis-conflict
        """,
    "what an element is annotated as says nothing of the array that is mapped": """
        from jaxtyping import PRNGKeyArray, Shaped

        class Memory(eqx.Module):
            def embed(self, x, key: Shaped[PRNGKeyArray, ""] | None = None):
                raise NotImplementedError

            def __call__(self, x, key):
                return eqx.filter_vmap(self.embed)(x, jax.random.split(key, 5))
        """,
    "what is caught is caught in functions that are called, too": """
        class State(NamedTuple):
            player: jax.Array
            board: jax.Array

        def nth(states, i):
            return jax.tree.map(lambda x: x[i], states)

        def draw(states):
            try:
                if len(states.player) == 1:
                    states = nth(states, 0)
            except TypeError:
                pass
            return states

        def one():
            return draw(State(jnp.float32(3.0), jnp.zeros(9)))
        """,
    "what stands behind a test of the number of axes is for arrays that pass it": """
        def sums(blocks, rows):
            return jax.vmap(lambda block, row: jax.vmap(jnp.multiply)(block, row))(blocks, rows)

        def checked(blocks, rows, strict):
            if strict or blocks.ndim != 3:
                raise ValueError
            return sums(blocks, rows)

        def test_sums(strict):
            return checked(jnp.ones((3,)), jnp.ones((3, 2)), strict)

        def test_plain():
            return jnp.ones((3, 4)) @ jnp.ones((3, 4))  #! axis-conflict
        """,
    "a test expects it to fail, by a bare name": """
        from numpy.testing import assert_raises
        from pytest import raises

        @jax.jit
        def rows(blocks):
            return jax.vmap(jax.vmap(jnp.diag))(blocks)

        def test_rows():
            with assert_raises(ValueError):
                rows(jnp.ones(3))
            with raises(ValueError):
                rows(jnp.ones(4))
        """,
    "a list as an index": """
        angles = np.linspace(0.0, 1.0, 180)
        view = 12
        some = jnp.array(angles[[view]].astype(np.float32))
        two = angles[[12, 134]]
        wrong = jnp.ones(3)[1, 2]  #! axis-conflict
        print(jax.vmap(lambda angle: angle * 2)(some), jnp.zeros((5, 4))[:, [0, 2]], two)
        """,
    "a list of ones that is written to": """
        def shifted(ids):
            shape = [1] * ids.ndim
            shape[0] = ids.shape[0]
            left = jnp.full(shape, -1, dtype=ids.dtype)
            return jnp.concatenate([left, ids[:, :-1]], axis=1)

        print(shifted(jnp.ones((3, 20), dtype=jnp.int32)))
        """,
    "ranks of the way that is taken": """
        def attend(one_step, probs, values):
            def after(p, v):
                if one_step:
                    return jnp.einsum("BNS,BSNH->BNH", p, v)
                return jnp.einsum("BNTS,BSNH->BTNH", p, v)
            return after(probs, values)
        """,
    "what a helper says of all items": """
        def is_pairs(value):
            return isinstance(value, (list, tuple)) and all(isinstance(one, tuple) for one in value)

        def visit(key, value):
            if is_pairs(value):
                for one in value:
                    visit(f"{key}[{one[0]}]", one[1])
            else:
                print(key, value)

        visit("a", jnp.arange(3))
        """,
    "distributions and tables have a mean as well": """
        def reward(heads, states):
            return heads["reward"](states).mean()[1:]

        def overview(output):
            return output.mean()[:, 0]

        def counted(mask):
            return mask.sum(dim=1).sum(dim=0)[0]

        def difference(a, b):
            return ((a - b) ** 2).mean()[0]  #! axis-conflict

        def squashed(x):
            return jnp.tanh(x).sum()[0]  #! axis-conflict
        """,
    "a tuple of rows indexes an axis with each": """
        def scatter(indices, updates, shape):
            return jnp.zeros(shape).at[tuple(jnp.moveaxis(indices, -1, 0))].add(updates)

        def together(indices, updates, shape):
            return jnp.zeros(shape).at[jnp.moveaxis(indices, -1, 0)].add(updates)  #! axis-conflict

        def main():
            indices = jnp.array([[0, 0], [1, 1], [2, 0]])
            updates = jnp.array([1.0, 2.0, 3.0])
            return scatter(indices, updates, (3, 2)), together(indices, updates, (3, 2))
        """,
    "a flag says which rank there is": """
        @jax.jit
        def rotate(k):
            if len(k.shape) == 3:
                k = jnp.expand_dims(k, 2)
                expanded = True
            else:
                expanded = False
            k = k * 2
            if expanded:
                k = jnp.squeeze(k, 2)
            return k

        def main():
            return rotate(jnp.ones((2, 6, 7, 10)))
        """,
    "a size that an if has told": """
        def blocks(matrix, n, d):
            if d == 2:
                off = jnp.diag(matrix).reshape(n, d)[:, 1:]
                return off[..., None] * jnp.eye(d)
            return matrix

        def wrong(matrix, n, d):
            off = jnp.diag(matrix).reshape(n, d)[:, 1:]
            return off[..., None] * jnp.eye(d)  #! axis-conflict
        """,
    "parts of a tree that are lists": """
        def stacked(start, stop):
            pairs = jax.tree.map(lambda x: [x, x], {"a": jnp.zeros(()), "b": jnp.ones(())})
            return jax.tree.map(lambda x: jnp.stack(x[start:stop]), pairs, is_leaf=lambda x: isinstance(x, list))

        def wrong(start, stop):
            return jax.tree.map(lambda x: x[start:stop], {"a": jnp.zeros(()), "b": jnp.ones(())})  #! axis-conflict
        """,
    "arrays of another library": """
        def shuffle(x, groups):
            b, c, h, w = x.shape
            return x.reshape(b, groups, c // groups, h, w).transpose(1, 2).reshape(b, c, h, w)

        def wrong(x, groups):
            b, c, h, w = x.shape
            return jnp.exp(x).reshape(b, groups, c // groups, h, w).transpose(1, 2)  #! axis-conflict
        """,
    "code that a test expects to fail": """
        def test_shapes():
            x = jnp.ones((3, 5))
            with pytest.raises(ValueError):
                jnp.broadcast_to(jnp.ones(4), (3, 5)) + jnp.ones((2, 2))
            with pytest.raises(TypeError):
                x[0] = 1.0
        """,
    "sizes of zero": """
        def residual(weights, x, n):
            inputs = jnp.zeros((n, 0))
            return x - weights[:, : weights.shape[1]] @ inputs[0]
        """,
    "a property made without a decorator, and a question it answers": """
        class Named:
            def __init__(self, array):
                self.array = array

            ndim = property(lambda self: self.array.ndim)
            kind = functools.singledispatchmethod(lambda self: self.array.kind)

        def flat(one):
            if one.ndim > 0:
                return one.array
            return one.array.reshape((1,))

        def asked(one):
            if one.kind > 0:
                return one.array
            return one.array.reshape((1,))

        def main():
            one = Named(jnp.ones((2,)))
            return flat(one), asked(one), one.array.reshape((1,))  #! axis-conflict
        """,
    "a partial class that is lifted": """
        class Inner(nn.Module):
            width: int = 8

            @nn.compact
            def __call__(self, x):
                return x.transpose(1, 0, 2)

        class Outer(nn.Module):
            def setup(self):
                self.lifted = nn.vmap(
                    partial(Inner, width=4), variable_axes={"params": None}, split_rngs={"params": False}, in_axes=0
                )

            def __call__(self, x):
                return self.lifted()(x)

        def main(key):
            x = jnp.ones((2, 3, 4, 5))
            return Outer().init(key, x)
        """,
    "a list of rows and one more": """
        @jax.jit
        def f(x, y):
            rows = list(x) + [y]
            return jnp.stack(rows), [y] + list(x)
        def main(n):
            return f(jnp.ones((3, 4)), jnp.ones(4))
        """,
    "a size of which nothing is known": """
        def main(info, n, k):
            shape = (info.batch,) + tuple(info.size)
            other = tuple(info.size) + (n + 1, 3)
            return jnp.zeros(shape), jnp.zeros(other)
        """,
    "parts of shapes": """
        @jax.jit
        def f(x):
            z = jnp.zeros((3,) + tuple(x.shape[1:]))
            y = jnp.ones(list(x.shape) + [2])
            return z + x, y[..., 0] + x
        def main():
            return f(jnp.ones((3, 4)))
        """,
    "a shape put together that does not fit": """
        @jax.jit
        def f(x):
            z = jnp.zeros((3,) + tuple(x.shape[1:]))
            return z + jnp.ones((5, 4))  #! axis-conflict
        def main():
            return f(jnp.ones((3, 4)))
        """,
    "tuples as indices": """
        def main(x, index):
            i = tuple(jnp.unravel_index(index, x.shape)) + (0,)
            return x[i], x[tuple(index)], x.at[tuple(index) + (0,)].set(2.0)
        """,
    "one index for each axis": """
        @jax.jit
        def f(grid, idx):
            return grid[tuple(idx)] + jnp.ones(5)
        def main():
            return f(jnp.ones((3, 4, 5)), jnp.array([1, 2]))
        """,
    "rows that are joined again": """
        def main():
            x = jnp.ones((3, 4, 5))
            joined = jnp.concatenate(list(x)) + jnp.ones((12, 5))
            return joined, jnp.stack(tuple(x)) + x, jnp.array(list(x)) + x, sum(list(x)) + x[0]
        """,
    "rows that are unpacked": """
        def main():
            a, b, c = list(jnp.ones((3, 4)))
            d, *e = tuple(jnp.ones((3, 4)))
            return a + jnp.ones(4), d + jnp.ones(4), len(list(jnp.ones((3, 4))))
        """,
    "lists in a list are filled later": """
        def averages(embeddings, labels, n):
            by_label = [[] for _ in range(n)]
            for label, embedding in zip(labels, embeddings):
                by_label[label].append(embedding)
            means = np.stack([np.array(one).mean(axis=0) for one in by_label])
            return means / np.linalg.norm(means, axis=1, keepdims=True)
        """,
    "squeezes of sizes that are not known": """
        def means(x):
            batch, features = x.shape
            return (x @ jnp.ones((features, 1))).squeeze()
        """,
    "a running total that starts before the first element": """
        def offsets():
            lengths = jnp.ones(3)
            starts = jnp.cumulative_sum(lengths, include_initial=True)
            return starts[3], starts + jnp.ones(4), starts[:-1] + lengths, jnp.cumulative_sum(lengths) + lengths

        def refused():
            starts = jnp.cumulative_sum(jnp.ones(3), include_initial=True)
            return starts + jnp.ones(3)  #! axis-conflict
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def test_an_axis_that_does_not_fit_is_followed_to_where_it_was_made() -> None:
    program = """
        def spread(prices):
            changes = jnp.diff(jnp.log(prices))
            return changes.T @ changes

        def risk(weights):
            return weights @ spread(jnp.exp(jnp.ones((90, 7)))) @ weights

        risk(jnp.ones(7) / 7)
        """
    first = next(one for one in audited(program).issues if one.rule == "axis-conflict")
    assert (3 + HEADER.count("\n"), "the axis of size 6 is made here") in [(step.line, step.text) for step in first.why]
