"""What `stale-value` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a part of a step is thrown away, and the next turn goes on from the others": """
        import optax

        tx = optax.adam(1e-3)

        def loss(params, x):
            return jnp.mean((x @ params["w"]) ** 2)

        @jax.jit
        def step(params, state, x):
            value, grads = jax.value_and_grad(loss)(params, x)
            updates, state = tx.update(grads, state)
            return optax.apply_updates(params, updates), state, value

        def same_params(params, xs):
            state = tx.init(params)
            for x in xs:
                _, state, value = step(params, state, x)  #! stale-value
            return params, value

        def same_moments(params, xs):
            state = tx.init(params)
            for x in xs:
                params, _, value = step(params, state, x)  #! stale-value
            return params, value

        same_params({"w": jnp.ones(3)}, jnp.ones((5, 4, 3)))
        same_moments({"w": jnp.ones(3)}, jnp.ones((5, 4, 3)))
        """,
    "an optimizer that keeps nothing, and rates that are tried out": """
        import optax

        tx = optax.sgd(1e-3)

        def loss(params, x):
            return jnp.mean((x @ params["w"]) ** 2)

        @jax.jit
        def step(params, state, x):
            value, grads = jax.value_and_grad(loss)(params, x)
            updates, state = tx.update(grads, state)
            return optax.apply_updates(params, updates), state, value

        def main(params, xs):
            state, values = tx.init(params), []
            for x in xs:
                params, _, value = step(params, state, x)
            for x in xs:
                _, _, value = step(params, state, x)
                values.append(value)
            return params, values

        main({"w": jnp.ones(3)}, jnp.ones((5, 4, 3)))
        """,
    "kept under a second name before a step goes on from it": """
        def rollout(key, state, n):
            def one(carry, _):
                state, key = carry
                key, sub = jax.random.split(key)
                state = state + jax.random.normal(sub, state.shape)
                return (state, key), state.sum()

            return jax.lax.scan(one, (state, key), None, n)

        def fresh(key, reset, n):
            key, sub = jax.random.split(key)
            levels = reset(sub)
            start = levels
            (last, key), scores = rollout(key, start, n)
            return key, {"levels": levels, "scores": scores}

        def stale(key, reset, n):
            key, sub = jax.random.split(key)
            state = reset(sub)
            (last, key), scores = rollout(key, state, n)  #! stale-value
            return key, {"state": state, "scores": scores}
        """,
    "two names for one value": """
        def locked(base, centre, kind):
            if kind == 0:
                frame = world = jnp.eye(4).at[0:3, 3].set(centre)
            else:
                frame = body = base.at[0:3, 3].set(centre)
            return jnp.linalg.inv(base) @ frame

        def wrong(base, centre):
            frame = body = base.at[0:3, 3].set(centre)  #! stale-value
            return jnp.linalg.inv(base)
        """,
    "a copy is no old version": """
        class Views(flax.struct.PyTreeNode):
            rays: jax.Array
            ids: jax.Array | None

        class Batch(flax.struct.PyTreeNode):
            view: Views

        def without_ids(batch: Batch):
            view = batch.view.replace(ids=None)
            return batch.replace(view=view)

        def forgotten(batch: Batch):
            view = batch.view.replace(ids=None)  #! stale-value
            return batch.replace(view=batch.view)  #! field-put-back
        """,
    "a new state with a name of its own": """
        def cell(params, h, x):
            out = jnp.tanh(h @ params["w"] + x @ params["u"])
            return out, out @ params["o"]

        def decode(params, h, x, steps):
            for _ in range(steps):
                h_next, y = cell(params, h, x)  #! stale-value
                x = jax.nn.softmax(y)
            return x
        """,
    "a scan that carries the old state": """
        def run(w, xs):
            def step(h, x):
                new_h = jnp.tanh(h @ w + x)  #! stale-value
                return h, h @ w
            return jax.lax.scan(step, jnp.zeros(4), xs)
        """,
    "running averages that never move": """
        import flax.linen as nn

        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.BatchNorm(use_running_average=False)(x)

        def loss(params, stats, x):
            y, new = Net().apply({"params": params, "batch_stats": stats}, x, mutable=["batch_stats"])
            return y.mean(), new["batch_stats"]

        def train(params, stats, x):
            (value, moved), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, x)  #! stale-value
            return jax.tree.map(lambda p, g: p - g, params, grads), stats, value
        """,
    "a step of an optimizer in order": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(g, s, p)
            n = optax.apply_updates(p, u)
            return n, t
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "the new state of an optimizer is never read": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(g, s, p)  #! stale-value
            n = optax.apply_updates(p, u)
            return n, s
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "the new parameters are never read": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(g, s, p)
            n = optax.apply_updates(p, u)  #! stale-value
            return p, t
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "the updates are never read": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(g, s, p)  #! stale-value
            n = optax.apply_updates(p, g)  #! raw-gradient-applied
            return n, t
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "a new value that is deleted": """
        def f(x):
            y = x.at[0].set(1)
            del y
            return x
        """,
    "a new value for a function that is returned": """
        def f(x):
            y = x.at[0].set(1)
            return x, lambda: y
        """,
    "a new value of the module": """
        def f(x):
            global y
            y = x.at[0].set(1)
            return x
        """,
    "a new value among the locals that are shown": """
        def f(x):
            y = x.at[0].set(1)
            print(locals())
            return x
        """,
    "a new value whose name says that nobody reads it": """
        def f(x):
            _y = x.at[0].set(1)
            return x
        """,
    "a new value for the next turn": """
        def f(x):
            for i in range(3):
                if i: print(y)
                y = x.at[i].set(1)
            return x
        """,
    "each input is scored from the same state": """
        def cell(h, x):
            h = h + x
            return h, h * 2

        def f(h, xs):
            out = []
            for x in xs:
                h_new, y = cell(h, x)  #? stale-value
                out.append(y)
            return out
        """,
    "environments written out": """
        @flax.struct.dataclass
        class World:
            pos: jax.Array
            vel: jax.Array
            t: int

        def advance(world: World, push):
            vel = world.vel + 0.1 * push
            moved = World(pos=world.pos + vel, vel=vel, t=world.t + 1)
            return moved.pos, moved, -jnp.abs(moved.pos).sum()

        def rollout(policy, world: World, seen):
            def body(carry, _):
                world, seen = carry
                seen, _, reward = advance(world, policy(seen))  #! stale-value
                return (world, seen), reward
            return jax.lax.scan(body, (world, seen), None, 10)

        def episode(policy, world: World, seen):
            total = 0.0
            for _ in range(10):
                seen, after, reward = advance(world, policy(seen))  #! stale-value
                total += reward
            return total

        def best_push(world: World, pushes):
            rewards = []
            for push in pushes:
                _, _, reward = advance(world, push)
                rewards.append(reward)
            return jnp.stack(rewards)

        def kept(policy, world: World, seen):
            def body(carry, _):
                world, seen = carry
                seen, world, reward = advance(world, policy(seen))
                return (world, seen), reward
            return jax.lax.scan(body, (world, seen), None, 10)
        """,
    "environments of a library": """
        import gymnax

        env, env_params = gymnax.make("CartPole-v1")

        def rollout(keys, net, obs, state):
            def body(carry, key):
                obs, state = carry
                obs, _, reward, done, _ = env.step(key, state, net(obs), env_params)  #! stale-value
                return (obs, state), reward
            return jax.lax.scan(body, (obs, state), keys)

        def all_at_once(keys, net, obs, state):
            step = jax.vmap(env.step, in_axes=(0, 0, 0, None))
            obs, after, reward, done, info = step(keys, state, net(obs), env_params)  #! stale-value
            return obs, state, reward

        def peek(key, state, action):
            _, _, reward, _, _ = env.step(key, state, action, env_params)
            return reward
        """,
    "optimizers whose new state has no name": """
        tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))

        def train(params, batches, loss):
            moments = tx.init(params)
            for batch in batches:
                updates = tx.update(jax.grad(loss)(params, batch), moments, params)[0]  #! stale-value
                params = optax.apply_updates(params, updates)
            return params

        @jax.jit
        def step(params, moments, grads):
            updates, _ = tx.update(grads, moments, params)  #! stale-value
            return optax.apply_updates(params, updates), moments

        def any_optimizer(optimizer, params, moments, grads):
            updates, _ = optimizer.update(grads, moments, params)  #! stale-value
            return optax.apply_updates(params, updates), moments

        def without_moments(params, batches, loss):
            plain = optax.sgd(0.1)
            state = plain.init(params)
            for batch in batches:
                updates, _ = plain.update(jax.grad(loss)(params, batch), state)
                params = optax.apply_updates(params, updates)
            return params
        """,
    "a trainer that keeps its optimizer in a field": """
        class Trainer:
            def __init__(self, tx, params):
                self.tx, self.params, self.moments = tx, params, tx.init(params)

            def wrong(self, grads):
                updates, moments = self.tx.update(grads, self.moments, self.params)  #! stale-value
                self.params = optax.apply_updates(self.params, updates)

            def right(self, grads):
                updates, self.moments = self.tx.update(grads, self.moments, self.params)
                self.params = optax.apply_updates(self.params, updates)
        """,
    "a cache of keys and values": """
        class Cache(NamedTuple):
            keys: jax.Array
            length: jax.Array

        def attend(cache: Cache, query, key):
            keys = jax.lax.dynamic_update_slice(cache.keys, key[None], (cache.length, 0))
            weights = jax.nn.softmax(keys @ query)
            return weights @ keys, Cache(keys, cache.length + 1)

        def decode(cache: Cache, token):
            def body(carry, _):
                cache, token = carry
                token, extended = attend(cache, token, token)  #! stale-value
                return (cache, token), token
            return jax.lax.scan(body, (cache, token), None, 8)

        def score(cache: Cache, queries):
            return [attend(cache, query, query)[0] for query in queries]
        """,
    "a recurrent value for the last observation": """
        class Cell(nn.Module):
            @nn.compact
            def __call__(self, hidden, x):
                hidden = jnp.tanh(nn.Dense(8)(x) + hidden)
                return hidden, nn.Dense(1)(hidden)

        def train(params, hidden, xs):
            def update(carry, x):
                params, hidden = carry
                hidden, values = jax.lax.scan(lambda h, one: Cell().apply(params, h, one), hidden, x)
                _, last = Cell().apply(params, hidden, x[-1])
                params = jax.tree.map(lambda p: p - 0.1 * last.mean(), params)
                return (params, hidden), values.mean()
            return jax.lax.scan(update, (params, hidden), xs)
        """,
    "an average of two trees": """
        def soft_update(rate, online, target):
            mixed = jax.tree.map(lambda o, t: rate * o + (1 - rate) * t, online, target)  #! stale-value
            return target

        def moved(rate, online, target):
            target = jax.tree.map(lambda o, t: rate * o + (1 - rate) * t, online, target)
            return target
        """,
    "training that is thrown away": """
        def fit(loss, params, batches):
            def step(params, batch):
                value, grads = jax.value_and_grad(loss)(params, batch)
                return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value
            _, values = jax.lax.scan(step, params, batches)  #? stale-value
            return params, values

        def evaluate(score, state, batches):
            def step(state, batch):
                state = 0.9 * state + batch
                return state, score(state)
            _, scores = jax.lax.scan(step, state, batches)
            return state, scores
        """,
    "a sampler that stays where it is": """
        class Chain(NamedTuple):
            x: jax.Array
            log_density: jax.Array

        def kernel(key, chain: Chain, density):
            k1, k2 = jax.random.split(key)
            proposal = chain.x + 0.1 * jax.random.normal(k1, chain.x.shape)
            value = density(proposal)
            accept = jnp.log(jax.random.uniform(k2)) < value - chain.log_density
            x = jnp.where(accept, proposal, chain.x)
            return Chain(x, jnp.where(accept, value, chain.log_density)), x

        def sample(keys, chain: Chain, density):
            def body(chain, key):
                moved, x = kernel(key, chain, density)  #! stale-value
                return chain, x
            return jax.lax.scan(body, chain, keys)[1]
        """,
    "a batch that is drawn is no newer version of the data": """
        def batch(key, x, y):
            x = jax.random.choice(key, x, (8,))
            y = jax.random.choice(key, y, (8,))  #? key-reused
            return x, y

        class Problem:
            def __init__(self, images, labels, network):
                self.images = images
                self.labels = labels
                self.network = network

            def init(self, key):
                k1, k2 = jax.random.split(key)
                x, y = batch(k1, self.images, self.labels)
                return self.network.init(k2, x)
        """,
    "a search that starts from one place": """
        def move(size, z, r, gradient):
            z = z + size * r
            r = r - size * gradient(z)
            return z, r

        def search(key, z, size, gradient):
            def body(state):
                size, direction, key = state
                key, k = jax.random.split(key)
                size = 2.0**direction * size
                r = jax.random.normal(k, z.shape)
                _, r_new = move(size, z, r, gradient)  #? stale-value
                return size, jnp.where(jnp.sum(r_new**2) < jnp.sum(r**2), 1, -1), key
            return jax.lax.while_loop(lambda state: state[1] > 0, body, (size, 1, key))[0]
        """,
    "half of a step is no newer step": """
        def simulate(dt, x):
            dt = jnp.float32(dt)
            dt_2 = jnp.float32(dt / 2)
            return x + dt
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
