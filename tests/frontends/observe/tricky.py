"""Programs with one mistake each, and the same without it; marked lines are to blame. Sizes hide all of them."""

from typing import NamedTuple

HEAD = """import jax
import jax.numpy as jnp
from jax import lax
"""


class Pair(NamedTuple):
    name: str
    rule: str
    code: str
    """The mistaken program; the lines of its mistake end in `#<<`."""
    wrong: str
    right: str
    """What stands in the correct one instead."""


PAIRS = (
    Pair(
        "scale_of_channels",
        "silent-broadcast",
        """FILTERS, SIZE = 12, 12

def block(p, image):
    y = lax.conv_general_dilated(image, p["kernel"], (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
    scale = jnp.exp(p["log_scale"])
    return jax.nn.relu(y * scale)  #<<

def main():
    p = {"kernel": jnp.ones((FILTERS, 3, 3, 3)), "log_scale": jnp.zeros(FILTERS)}
    out = jax.jit(block)(p, jnp.ones((2, 3, SIZE, SIZE)))
    print(out.shape)

main()
""",
        "y * scale)",
        "y * scale[:, None, None])",
    ),
    Pair(
        "documents_by_token",
        "wrong-axis-mapped",
        """BATCH, TOKENS, DIM = 6, 6, 4

def pool(w, tokens):
    return jnp.tanh(tokens @ w).mean(axis=0)  #<<

def features(w, docs):
    return jax.vmap(pool, in_axes=(None, 1))(w, docs)  #<<

def loss(w, docs, labels):
    logit = features(w, docs).sum(-1)
    return jnp.mean((logit - labels) ** 2)  #<<

def main():
    docs = jnp.ones((BATCH, TOKENS, DIM))
    print(jax.jit(jax.grad(loss))(jnp.ones((DIM, DIM)), docs, jnp.ones(BATCH)))

main()
""",
        "in_axes=(None, 1)",
        "in_axes=(None, 0)",
    ),
    Pair(
        "weights_over_batch",
        "reduction-over-wrong-axis",
        """BATCH, SLOTS, DIM = 8, 8, 16

def read(query, memory):
    score = memory @ query
    weight = jax.nn.softmax(score, axis=0)
    return weight @ memory

def read_all(queries, memories):
    score = jnp.einsum("bsd,bd->bs", memories, queries)
    weight = jax.nn.softmax(score, axis=0)  #<<
    return jnp.einsum("bs,bsd->bd", weight, memories)

def main():
    print(jax.jit(read_all)(jnp.ones((BATCH, DIM)), jnp.ones((BATCH, SLOTS, DIM))).shape)

main()
""",
        "softmax(score, axis=0)  #<<",
        "softmax(score, axis=1)",
    ),
    Pair(
        "first_of_an_example",
        "assumes-batch-position",
        """BATCH, DIM, CLASSES = 16, 6, 3

def logits(w, x):
    return jnp.atleast_2d(x) @ w

def predict(w, x):
    score = logits(w, x)
    return jnp.argmax(score[0])

def predict_all(w, xs):
    return jax.vmap(predict, in_axes=(None, 0))(w, xs)

def plain(w, x):
    score = x @ w
    return jnp.argmax(score[0])  #<<

def plain_all(w, xs):
    return jax.vmap(plain, in_axes=(None, 0))(w, xs)

def main():
    w, xs = jnp.ones((DIM, CLASSES)), jnp.ones((BATCH, DIM))
    print(jax.jit(predict_all)(w, xs), jax.jit(plain_all)(w, xs))

main()
""",
        "jnp.argmax(score[0])  #<<",
        "jnp.argmax(score)",
    ),
    Pair(
        "ensemble_with_its_data",
        "broadcast-argument-mapped",
        """MEMBERS, BATCH, DIM = 5, 5, 3

def init(key):
    return jax.random.normal(key, (DIM,))

def forward(w, xs):
    return jnp.tanh(xs @ w)

def main():
    keys = jax.random.split(jax.random.key(0), MEMBERS)
    members = jax.vmap(init)(keys)
    xs = jnp.ones((BATCH, DIM))
    out = jax.vmap(forward)(members, xs)  #<<
    print(out.shape)

main()
""",
        "jax.vmap(forward)(members",
        "jax.vmap(forward, in_axes=(0, None))(members",
    ),
    Pair(
        "kernel_transposed",
        "nested-vmap-order",
        """QUERIES, KEYS, DIM = 7, 7, 4

def near(a, b):
    return jnp.exp(-jnp.sum((a - b) ** 2))

def weights(queries, keys):
    return jax.vmap(jax.vmap(near, in_axes=(0, None)), in_axes=(None, 0))(queries, keys)  #<<

def attend(queries, keys, values):
    return weights(queries, keys) @ values  #<<

def main():
    print(jax.jit(attend)(jnp.ones((QUERIES, DIM)), jnp.ones((KEYS, DIM)), jnp.ones((KEYS, 2))).shape)

main()
""",
        "jax.vmap(jax.vmap(near, in_axes=(0, None)), in_axes=(None, 0))",
        "jax.vmap(jax.vmap(near, in_axes=(None, 0)), in_axes=(0, None))",
    ),
    Pair(
        "constants_scanned",
        "carry-xs-confusion",
        """STEPS, UNITS = 5, 5

def run(leak, inputs):
    def step(v, item):
        i, tau = item
        v = v * jnp.exp(-1.0 / tau) + i
        return v, v
    return lax.scan(step, jnp.zeros(UNITS), (inputs, leak))[1]  #<<

def main():
    print(jax.jit(run)(jnp.ones(UNITS) * 2.0, jnp.ones((STEPS, UNITS))).shape)

main()
""",
        "    def step(v, item):\n        i, tau = item\n        v = v * jnp.exp(-1.0 / tau) + i\n        return v, v\n    return lax.scan(step, jnp.zeros(UNITS), (inputs, leak))[1]",
        "    def step(v, i):\n        v = v * jnp.exp(-1.0 / leak) + i\n        return v, v\n    return lax.scan(step, jnp.zeros(UNITS), inputs)[1]",
    ),
    Pair(
        "steps_as_many_as_envs",
        "scanned-axis-not-time",
        """CONFIG = {"NUM_ENVS": 3, "ROLLOUT": 7}

def collect(obs, key):
    def one(carry, _):
        obs, key = carry
        key, sub = jax.random.split(key)
        act = jax.random.normal(sub, (CONFIG["NUM_ENVS"],))
        return (obs + act, key), obs
    (obs, key), traj = lax.scan(one, (obs, key), None, CONFIG["NUM_ENVS"])  #<<
    return traj.reshape(CONFIG["NUM_ENVS"] * CONFIG["ROLLOUT"]) if traj.size == CONFIG["NUM_ENVS"] * CONFIG["ROLLOUT"] else traj.ravel()

def main():
    print(jax.jit(collect)(jnp.zeros(CONFIG["NUM_ENVS"]), jax.random.key(0)).shape)

main()
""",
        'None, CONFIG["NUM_ENVS"])',
        'None, CONFIG["ROLLOUT"])',
    ),
    Pair(
        "proposal_and_acceptance",
        "key-reused",
        """def propose(key, x):
    return x + 0.1 * jax.random.normal(key, x.shape)

def accept(key, ratio):
    return jax.random.uniform(key) < ratio

def chain(key, x):
    def step(x, key):
        new = propose(key, x)
        ok = accept(key, jnp.exp(-jnp.sum(new ** 2) + jnp.sum(x ** 2)))  #<<
        return jnp.where(ok, new, x), None
    return lax.scan(step, x, jax.random.split(key, 20))[0]

def main():
    print(jax.jit(chain)(jax.random.key(0), jnp.ones(3)))

main()
""",
        "        new = propose(key, x)\n        ok = accept(key, ",
        "        first, second = jax.random.split(key)\n        new = propose(first, x)\n        ok = accept(second, ",
    ),
    Pair(
        "noise_in_a_loop",
        "same-key-in-loop",
        """def path(key, n):
    def body(i, carry):
        x, total = carry
        x = x + jax.random.normal(key, x.shape)  #<<
        return x, total + x.sum()
    return lax.fori_loop(0, n, body, (jnp.zeros(3), 0.0))

def main():
    print(jax.jit(path, static_argnums=1)(jax.random.key(0), 10))

main()
""",
        "jax.random.normal(key, x.shape)",
        "jax.random.normal(jax.random.fold_in(key, i), x.shape)",
    ),
    Pair(
        "agents_with_one_key",
        "same-key-across-vmap",
        """AGENTS = 4

def policy(key, obs):
    noise = jax.random.normal(key, obs.shape)
    return obs + noise

def act(key, obs):
    return jax.vmap(lambda o: policy(key, o))(obs)  #<<

def main():
    print(jax.jit(act)(jax.random.key(0), jnp.ones((AGENTS, 3))))

main()
""",
        "jax.vmap(lambda o: policy(key, o))(obs)",
        "jax.vmap(policy)(jax.random.split(key, AGENTS), obs)",
    ),
)
