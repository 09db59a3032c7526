"""What `out-of-bounds-index` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, messages, said

PROGRAMS = {
    "places among edges of a class": """
        @dataclass(frozen=True)
        class Binning:
            low: float
            high: float
            bins: int

            @property
            def edges(self):
                return jnp.linspace(self.low, self.high, self.bins + 1)

            def shifted(self, x):
                return jnp.digitize(jnp.clip(x, self.low, self.high - 1e-4), self.edges)  #! out-of-bounds-index

            def place(self, x):
                return jnp.digitize(jnp.clip(x, self.low, self.high - 1e-4), self.edges) - 1

        def factors(x, binning):
            counts, _ = jnp.histogram(x, bins=binning.edges)
            return 1.0 / (counts + 1.0)

        def main(x, seen):
            binning = Binning(1.0, 9.0, 16)
            wrong = jnp.where(seen, factors(x, binning)[binning.shifted(x)], 0.0)
            return wrong, jnp.where(seen, factors(x, binning)[binning.place(x)], 0.0)
        """,
    "padding past the table, and padding that is told apart": """
        VOCABULARY = 50

        def padded(documents, fill):
            batch = np.full((len(documents), 6), fill, dtype=np.int32)
            for row, document in enumerate(documents):
                batch[row, : len(document)] = document
            return jnp.asarray(batch)

        def mixed(table, tokens):
            return table[tokens].mean(axis=1)  #! out-of-bounds-index

        def own(table, tokens):
            return table[tokens].mean(axis=1)

        def masked(table, tokens):
            present = (tokens != VOCABULARY)[..., None]
            return (table[tokens] * present).sum(axis=1)

        def main(key, documents):
            table, larger = jnp.ones((VOCABULARY, 8)), jnp.ones((VOCABULARY + 1, 8))
            tokens = padded([[1, 2], [3]], VOCABULARY)
            return mixed(table, tokens), own(larger, tokens), masked(table, padded([[1, 2], [3]], VOCABULARY))
        """,
    "labels that are to be ignored": """
        def shifted(labels):
            return jnp.concatenate([labels[:, 1:], jnp.full((labels.shape[0], 1), -100)], axis=1)

        def loss(logits, labels):
            chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), shifted(labels)[..., None], axis=-1)[..., 0]  #! out-of-bounds-index
            return -chosen.mean()

        def weighted(logits, labels):
            labels = shifted(labels)
            chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)[..., 0]
            return -jnp.sum(jnp.where(labels == -100, 0.0, chosen))

        def main(logits, labels):
            logits, labels = jnp.ones((4, 8, 30)), jnp.ones((4, 8), int)
            return loss(logits, labels), weighted(logits, labels)
        """,
    "the next element, written into a buffer": """
        def differences(xs):
            def body(i, out):
                return out.at[i].set(xs[i + 1] - xs[i])  #! out-of-bounds-index
            return jax.lax.fori_loop(0, xs.shape[0], body, jnp.zeros(xs.shape[0]))

        def cut(xs):
            def body(i, out):
                return out.at[i].set(xs[i + 1] - xs[i])
            return jax.lax.fori_loop(0, xs.shape[0], body, jnp.zeros(xs.shape[0]))[:-1]
        """,
    "bounds that are met, and rings": """
        SIZE = 10

        def cell(grid, position):
            at = jnp.clip(position.astype(int), 0, SIZE)
            inside = jnp.minimum(at, SIZE - 1)
            return grid[at[0], inside[1]]  #? out-of-bounds-index

        def looked_up(position):
            return cell(jnp.ones((SIZE, SIZE)), position)

        def ring(xs, length):
            def write(carry, x):
                buffer, at = carry
                return (buffer.at[at].set(x), (at + 1) % length), None  #? out-of-bounds-index
            return jax.lax.scan(write, (jnp.zeros(32), 0), xs)[0]

        def main(xs):
            return ring(xs, 33)
        """,
    "neighbours of what was wrapped around": """
        N = 64

        def right(u, x):
            s = x * N
            left = jnp.floor(s).astype(int) % N
            frac = s - jnp.floor(s)
            return (1 - frac) * u[left] + frac * u[left + 1]  #! out-of-bounds-index

        def periodic(u, x):
            left = jnp.floor(x * N).astype(int) % N
            return u[left] + u[(left + 1) % N]

        def up_to_the_end(u, x):
            left = jnp.floor(x).astype(int) % N
            inside = left < N - 1
            return jnp.where(inside, u[left + 1], 0.0)

        def with_ghost(u, x):
            left = jnp.floor(x).astype(int) % N
            return jnp.concatenate([u, u[:1]])[left + 1]

        def main(x):
            u = jnp.ones(N)
            return right(u, x), periodic(u, x), up_to_the_end(u, x), with_ghost(u, x)
        """,
    "a shape that decides which way is taken": """
        def placed(offset):
            if offset.shape == (2,):
                return offset[0]
            elif offset.shape == (3,):
                return offset[2]
            return offset[5]

        print(placed(jnp.zeros(2)), placed(jnp.ones(3)))

        def last(offset):
            return offset[2] if offset.shape != (3,) else offset[0]  #! out-of-bounds-index

        print(last(jnp.zeros(2)))
        """,
    "a loop without a turn": """
        def children(parents):
            count = np.zeros((len(parents),), int)
            order = [-1]
            for b in range(1, len(parents)):
                order.append(count[parents[b]])
            return order

        print(children(jnp.array([-1])))
        """,
    "arrays that may be empty": """
        def newest(x, xs):
            x, xs = map(np.asarray, (x, xs))
            assert len(xs) == 0 or x.shape == xs[0].shape
            return xs

        def start(x):
            return newest(x, [])

        def wrong(x):
            return jnp.zeros(3)[3]  #! out-of-bounds-index
        """,
    "an empty array stands in for data": """
        class Tree:
            def __init__(self):
                self.storage = np.zeros(0)

            def root(self, size):
                return self.storage[1] if size > 0 else np.nan

        def main(size):
            return Tree().root(size)

        def beyond():
            return jnp.ones(3)[3]  #! out-of-bounds-index
        """,
    "what is read for a missing entry is masked by a test of the index": """
        def path_is_free(board, between):
            return ((between < 0) | (board[between] == 0)).all()

        def has_liberty(empty, mine, near):
            on_board = near != -1
            return (on_board & (empty[near] | mine[near])).any()

        def path_is_free_of_others(board, between):
            length = (between >= 0).sum()
            return ((board[between] == 0) | (board[between] == 1)).all(), length  #! out-of-bounds-index
        """,
    "indices beyond the end": """
        N = 16
        X = jax.random.normal(jax.random.key(0), (N,))
        I = jnp.arange(N)
        b1 = (X[I + 1] - X[I]).sum()  #! out-of-bounds-index
        b2 = jax.lax.fori_loop(0, N, lambda k, t: t + X[k + 1], 0.0)  #! out-of-bounds-index
        b3 = X.at[I + 1].set(0.0)  #! out-of-bounds-index
        b4 = X[N]  #! out-of-bounds-index
        b5 = jnp.take(X, I * 2)  #! out-of-bounds-index
        o1 = X[jnp.arange(N - 1) + 1] - X[jnp.arange(N - 1)]
        o2 = jax.lax.fori_loop(0, N - 1, lambda k, t: t + X[k + 1], 0.0)
        o3 = jnp.where(I < N - 1, X[I + 1], 0.0)
        o4 = X[(I + 1) % N] + X[jnp.clip(I + 1, 0, N - 1)] + X[I - 1]
        o5 = (X[jnp.argmax(X)], X[jnp.argsort(X)], X[jnp.searchsorted(X, 0.5) - 1])
        o6 = X[I + 1] * (I < N - 1)
        o7 = (X.at[I + 1].set(1.0, mode="drop"), jnp.take(X, I + 1, mode="clip"), X.at[I + 1].get(mode="fill"))
        """,
    "what a search of fixed size has not found": """
        def counted(hist, x):
            idx = jnp.flatnonzero(x > 0.5, size=16)
            return hist.at[idx].add(x[idx])  #! out-of-bounds-index

        def spikes(v, xs):
            def tick(v, x):
                fired = jnp.argwhere(v > 1.0, size=5)[:, 0]
                return v.at[fired].add(-1.0) + x, fired  #! out-of-bounds-index
            return jax.lax.scan(tick, v, xs)

        def subtracted(q, err):
            (big,) = jnp.where(jnp.abs(err) > 0.1, size=6)
            return q.at[big].subtract(err[big])  #! out-of-bounds-index

        def dropped(hist, x):
            idx = jnp.flatnonzero(x > 0.5, size=16, fill_value=len(hist))
            return hist.at[idx].add(x[idx], mode="drop")

        def masked(hist, x):
            hit = x > 0.5
            idx = jnp.flatnonzero(hit, size=16)
            return hist.at[idx].add(jnp.where(jnp.arange(16) < hit.sum(), x[idx], 0.0))

        def as_many_as_there_are(hist, x):
            idx = jnp.flatnonzero(x >= jnp.sort(x)[-4], size=4)
            return hist.at[idx].add(x[idx])

        def pairs(force, gap):
            i, j = jnp.nonzero(gap < 0.0, size=8)
            return force.at[i].add(gap[i, j]).at[j].add(-gap[i, j])

        def main():
            hist, x = jnp.zeros(32), jnp.linspace(0, 1, 32)
            first = [f(hist, x) for f in (counted, subtracted, dropped, masked, as_many_as_there_are)]
            return first, pairs(jnp.zeros(6), jnp.ones((6, 6))), spikes(jnp.zeros(9), jnp.ones((4, 9)))

        print(main())
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def test_messages_name_the_reason():
    found = messages(PROGRAMS["indices beyond the end"], "out-of-bounds-index")
    assert found[0] == "the index goes up to 16 in an axis of size 16"
