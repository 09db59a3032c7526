"""What `carry-out-of-step` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "what is renewed beside a state may be renewed of the one before": """
        from flax.training.train_state import TrainState

        def fit_value(value: TrainState, policy: TrainState, batch):
            def loss(params):
                return jnp.mean((value.apply_fn(params, batch) - policy.apply_fn(policy.params, batch)) ** 2)
            return value.apply_gradients(grads=jax.grad(loss)(value.params))

        def fit_policy(policy: TrainState, value: TrainState, batch):
            def loss(params):
                cost = -jnp.mean(value.apply_fn(value.params, policy.apply_fn(params, batch)))
                return cost, {"cost": cost}
            grads, info = jax.grad(loss, has_aux=True)(policy.params)
            new_policy = policy.apply_gradients(grads=grads)
            return new_policy, info

        def learn(policy: TrainState, value: TrainState, batch):
            new_value = fit_value(value, policy, batch)
            new_policy, info = fit_policy(policy, new_value, batch)
            return new_policy, new_value, info

        def learn_at_once(policy: TrainState, value: TrainState, batch):
            policy = policy.replace(params={**policy.params, "torso": value.params["torso"]})
            new_value = fit_value(value, policy, batch)
            new_policy, info = fit_policy(policy, value, batch)
            return new_policy, new_value, info
        """,
    "what advances another part of the state gets the step before": """
        class Schedule:
            def advance(self, progress, steps):
                return progress + jnp.tanh(steps), steps > 9

        def train(schedule, carry, x):
            steps, progress = carry
            progress, done = schedule.advance(progress, steps)
            steps = steps + x
            return (steps, progress), done

        def check(schedule, steps, progress, x):
            steps = steps + x
            progress, done = schedule.advance(progress, steps)
            return steps, progress, done

        def run(carry, x):
            schedule = Schedule()
            return train(schedule, carry, x), check(schedule, carry[0], carry[1], x)
        """,
    "the observation of the state that an episode ended in goes on with a new one": """
        class Room(NamedTuple):
            heat: jax.Array
            hours: jax.Array

        def reset(key):
            return Room(jax.random.uniform(key), jnp.int32(0))

        def look(room):
            return jnp.stack([room.heat - 0.5, jnp.sin(room.heat)])

        def step(key, room, power):
            moved = room._replace(heat=room.heat + power, hours=room.hours + 1)
            over = moved.hours >= 12
            room = jax.tree.map(lambda a, b: jnp.where(over, a, b), reset(key), moved)
            return room, look(moved), over  #! carry-out-of-step

        def rollout(weights, key):
            rooms = jax.vmap(reset)(jax.random.split(key, 20))

            def body(carry, key):
                rooms, seen = carry
                rooms, later, over = jax.vmap(step)(jax.random.split(key, 20), rooms, seen @ weights)
                return (rooms, later), over

            return jax.lax.scan(body, (rooms, jax.vmap(look)(rooms)), jax.random.split(jax.random.fold_in(key, 1), 9))
        """,
    "a dict that a condition starts anew": """
        class Game:
            def start(self, key):
                return {"board": jax.random.uniform(key, (4, 4)), "turn": 0}

            def view(self, state):
                return jnp.concatenate([state["board"].ravel(), jnp.sin(state["board"]).ravel()])

            def play(self, state, move, key):
                later = {"board": state["board"] + move, "turn": state["turn"] + 1}
                over = later["board"].sum() > 30.0
                seen = self.view(later)  #! carry-out-of-step
                return jax.lax.cond(over, lambda: self.start(key), lambda: later), seen

        def play(w, key):
            game = Game()
            state = game.start(key)

            def body(i, carry):
                state, seen = carry
                return game.play(state, jnp.tanh(w @ seen), jax.random.fold_in(key, i))

            return jax.lax.fori_loop(0, 20, body, (state, game.view(state)))
        """,
    "the value of a candidate is kept for the report": """
        def cost(x):
            return jnp.sum(jnp.cos(x))

        def search(x, keys):
            def body(carry, key):
                best, lowest, last = carry
                candidate = best + 0.1 * jax.random.normal(key, best.shape)
                value = cost(candidate)
                better = value < lowest
                return (jnp.where(better, candidate, best), jnp.where(better, value, lowest), value), value

            return jax.lax.scan(body, (x, cost(x), cost(x)), keys)

        def predict(y, n):
            def slope(y):
                return -(y**3)

            def body(carry, _):
                y, k = carry
                later = slope(y + 0.1 * k)
                return (y + 0.05 * (k + later), later), y

            return jax.lax.scan(body, (y, slope(y)), None, length=n)
        """,
    "a loss is of the parameters before the step": """
        class Train(NamedTuple):
            params: jax.Array
            n: int

        def loss(params, x):
            return jnp.sum((x @ params) ** 2)

        def init(key, x):
            params = jax.random.normal(key, (3,))
            return Train(params=params, n=0), loss(params, x)

        def train(state, x):
            value = loss(state.params, x)
            params = state.params - 0.1 * jax.grad(loss)(state.params, x)
            return Train(params=params, n=state.n + 1), value

        def train_too(state, x):
            value, gradient = jax.value_and_grad(loss)(state.params, x)
            params = state.params - 0.1 * gradient
            return Train(params=params, n=state.n + 1), value
        """,
    "what leads to the newer state is part of the step": """
        class State(NamedTuple):
            x: jax.Array
            t: int

        def observe(x):
            return jnp.stack([x, x**2])

        def reset(key):
            x = jax.random.normal(key)
            return State(x=x, t=0), observe(x)

        def play(state, policy):
            seen = observe(state.x)
            x = state.x + policy @ seen
            return State(x=x, t=state.t + 1), seen

        def step(state, action):
            x = state.x + action
            return State(x=x, t=state.t + 1), observe(state.x)  #! carry-out-of-step
        """,
    "what a constructor keeps is what it was given": """
        class Adder:
            def __init__(self, client, discount, tables):
                self.client = client
                self.discount = jnp.float32(discount)
                self.tables = tables

        class Builder:
            def __init__(self, config):
                self._config = config

            def make(self, client):
                return Adder(client, self._config.discount, self._config.tables)

        def run(client, rate, tables):
            discount = 1.0 - rate
            return Adder(client, discount, tables), discount
        """,
    "a line that is read in two ways": """
        class Setup:
            def __init__(self, x):
                self.fields = jnp.exp(x)

        def output(names, old):
            fields = jnp.sum(old) * len(names)
            return fields

        def general(setup):
            return jnp.tanh(setup.fields)

        def read(names, setup):
            first = general(setup)
            fields = output(names, setup.fields * 1.0)
            return first, fields, setup

        def by_default(names, x):
            return read(names, Setup(x))

        def by_setup(names, setup):
            return read(names, setup)
        """,
    "a step that is called": """
        class State(NamedTuple):
            x: jax.Array
            t: int

        def observe(state):
            return jnp.stack([state.x, state.x**2])

        def reset(key):
            state = State(x=jax.random.normal(key), t=0)
            return observe(state), state

        def step(state, action):
            new = State(x=state.x + action, t=state.t + 1)
            return observe(state), new  #! carry-out-of-step

        def run(state, action):
            return step(state, action)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
