"""What `numpy-on-traced` finds in programs, and what it leaves alone."""

import numpy as np
import pytest
from rules.programs import marked, said

from jaxaudit.libraries.methods import DELEGATING

PROGRAMS = {
    "an array of NumPy is filled in traced code": """
        import numpy as np

        def rows(x):
            out, names = np.zeros((3, 2), np.float32), np.empty(2, dtype=object)
            out[:, 0] = np.arange(3)
            out[0, 1] = x.shape[0]
            names[0] = x * 2
            for i in range(3):
                out[i, 1] += x[i]  #! numpy-on-traced
            return out

        batched = jax.vmap(rows)
        """,
    "what a derivative alone traces has numbers, but none for NumPy": """
        import math
        import numpy as np

        class Net:
            def loss(self, params, x):
                w, b = params
                y = jnp.tanh(x @ w) + b
                assert not np.isnan(np.asarray(y > 0)).any()
                size = math.sqrt(w.shape[0])
                steps = int(jnp.floor(y.sum()))
                return np.linalg.norm(y) / size * steps  #! numpy-on-traced

        def fit(params, x):
            return jax.value_and_grad(Net().loss)(params, x)
        """,
    "a derivative of its own gets the numbers": """
        import numpy as np

        @jax.custom_vjp
        def table(x):
            return jnp.asarray(np.interp(x, np.arange(3.0), np.ones(3)))

        table.defvjp(lambda x: (table(x), x), lambda x, g: (g,))

        def fit(x):
            return jax.grad(lambda x: table(x).sum())(x)
        """,
    "what a try could convert was no tracer": """
        @jax.jit
        def core(x, dt, given=None):
            used = given if given is not None else jnp.arange(3) * dt
            try:
                extent = float(used[-1])
            except Exception:
                extent = None
            if extent is not None and extent > 3:
                print(float(dt))
            return x * dt
        """,
    "a function out of sight may ask for tracers": """
        from elsewhere import is_jax

        def backend(x):
            if is_jax(x):
                return "jax"
            return "numpy"

        def doubled(x):
            if backend(x) == "jax":
                return x * 2
            return np.asarray(x) * 2

        def run(xs):
            return jax.vmap(doubled)(xs)
        """,
    "a name for several exceptions may be one of JAX's": """
        import jax.errors

        CAUGHT = tuple(getattr(jax.errors, name) for name in ("ConcretizationTypeError",))

        def hashed(x):
            try:
                return float(x[0])
            except CAUGHT:
                return None

        @jax.jit
        def step(x):
            return x if hashed(x) is None else x * 2
        """,
    "arrays of NumPy are joined by NumPy": """
        @jax.jit
        def joined(parts):
            if isinstance(parts[0], np.ndarray):
                return np.concatenate(parts)
            return jnp.concatenate(parts)

        @jax.jit
        def wrong(parts):
            return np.concatenate(parts)  #! numpy-on-traced

        print(joined([jnp.ones(3), jnp.ones(2)]), wrong([jnp.ones(3) * 2, jnp.ones(2)]))
        """,
    "a script that gives a library's name to another": """
        import jax.numpy as xp

        def size(x):
            return xp.abs(x)

        def later(x):
            return jax.pmap(lambda x: size(x))(x)

        before = later(xp.ones((8, 3)))

        def never_called_here(x):
            return jax.pmap(lambda x: size(x))(x)

        import numpy as xp

        after = xp.array(before)
        """,
    "a name of its own for fields that are structure": """
        fixed = functools.partial(flax.struct.field, pytree_node=False)

        class Agent(flax.struct.PyTreeNode):
            rate: jax.Array
            config: dict = fixed()

            @jax.jit
            def update(agent, batch):
                return batch * int(1.0 / agent.config["rate"])

            @jax.jit
            def refused(agent, batch):
                return batch * int(1.0 / agent.rate)  #! numpy-on-traced

        def main(batch, rate):
            agent = Agent(jnp.ones(()), config={"rate": rate})
            return agent.update(batch), agent.refused(batch)
        """,
    "values for tracers and for arrays": """
        def has_tracers(tree):
            return any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(tree))

        def check(x):
            if has_tracers(x):
                return jnp.isfinite(x).all()
            else:
                return bool(np.isfinite(x).all())

        @jax.jit
        def step(x):
            return check(x) * x
        """,
    "a question that is asked with an exception": """
        @jax.jit
        def step(x):
            try:
                shown = float(x)
            except jax.errors.ConcretizationTypeError:
                shown = None
            return x * 2
        """,
    "an exception that nobody catches": """
        @jax.jit
        def step(x):
            try:
                scale = float(x)  #! numpy-on-traced
            except KeyError:
                scale = 1.0
            return x * scale
        """,
    "NumPy hands over to the method": """
        @jax.jit
        def bounds(x):
            return np.min(x, axis=0) + np.sum(x, axis=0)
        """,
    "what a `try` leaves to arrays that have values": """
        def scattered(index, weights):
            try:
                places = np.asarray(index)
            except (TypeError, ValueError):
                return weights
            valid = places >= 0
            size = int(np.max(places[valid])) if np.any(valid) else -1
            return jnp.zeros(size) + np.asarray(weights)

        @jax.jit
        def main(x):
            return scattered(x * 2, x + 1)

        @jax.jit
        def bare(x):
            return np.asarray(x + 1)  #! numpy-on-traced
        """,
    "sizes that NumPy is asked for": """
        @partial(jax.jit, static_argnums=1)
        def pool(image, factor):
            width, height = np.shape(image)
            if int(width / factor) == width / factor and np.ndim(image) == 2:
                return image.reshape([int(width / factor), factor, height]).mean(1)
            raise ValueError(f"{factor} does not divide {width}")

        @jax.jit
        def main(image):
            return pool(jnp.sin(image), 4)
        """,
    "computed at compile time": """
        @jax.jit
        def pad(x):
            with jax.ensure_compile_time_eval():
                n = int(jnp.ceil(jnp.sqrt(16.0)))
            return jnp.pad(x, (0, n))
        """,
    "a callback runs at run time": """
        def show(x):
            if x > 0:
                print(float(x), np.sum(x))

        @jax.jit
        def forward(x):
            jax.debug.callback(show, x)
            return x
        """,
    "numpy under eager code": """
        def main(x):
            y = jnp.sin(x)
            if y.max() > 0:
                return float(y.sum()), np.asarray(y)
            return y[y > 0]
        """,
    "jit in the constructor": """
        class Model:
            def __init__(self, dim):
                self.dim = dim
                self.forward = jax.jit(self._forward)

            def _forward(self, x):
                y = x * self.dim
                return float(y.sum())  #! numpy-on-traced
        """,
    "item and numpy inside scan": """
        def body(carry, x):
            y = np.exp(x * 2)  #! numpy-on-traced
            return carry + y.sum(), carry

        def main(xs):
            return lax.scan(body, jnp.zeros(()), jnp.abs(xs))
        """,
    "rows of a list by a traced number": """
        @jax.jit
        def pick(x, i):
            tables = [x, x * 2]
            return tables[i + 1]  #! numpy-on-traced

        def main(x):
            return pick(x, 0)
        """,
    "functions of NumPy that only use methods": """
        @jax.jit
        def parts(x):
            first, *others = np.split(x * 2, [2, 5])
            return first, np.rollaxis(x * 2, 0), np.exp(others[0])
        """,
    "a side for callers that give nothing": """
        def neighbor_list(capacity):
            def build(position, neighbors=None):
                def fresh(position, occupancy=None):
                    count = jnp.sum(position)
                    if neighbors is None:
                        if jnp.all(count > 3.0):
                            count = count * 2
                    if occupancy is None:
                        occupancy = int(count * capacity)
                    return position[:occupancy]

                known = neighbors
                if known is None:
                    return fresh(position)
                again = partial(fresh, occupancy=known.occupancy)
                return lax.cond(jnp.any(position > 1.0), again, lambda x: x, position)

            def allocate(position):
                return build(position)

            def update(position, neighbors):
                return build(position, neighbors)

            return allocate, update

        @jax.jit
        def sized(x, size=None):
            if size is None:
                size = int(jnp.sum(x))  #! numpy-on-traced
            return x[:size]

        def main(x):
            return sized(x)
        """,
    "a variable that is called what a package is called": """
        @jax.jit
        def spread(u, make):
            statistics = make(u.shape)
            return statistics(u) * 2
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


@pytest.mark.parametrize("name", sorted(DELEGATING))
def test_what_numpy_leaves_to_methods_runs_under_jit(name: str) -> None:
    import jax
    import jax.numpy as jnp

    further = {
        "array_split": (2,),
        "dsplit": (2,),
        "hsplit": (2,),
        "moveaxis": (0, 1),
        "permute_dims": ((1, 0, 2),),
        "repeat": (2,),
        "reshape": ((-1,),),
        "rollaxis": (1,),
        "searchsorted": (1.0,),
        "split": (2,),
        "swapaxes": (0, 1),
        "vsplit": (2,),
    }
    function = getattr(np, name.removeprefix("numpy."))
    given = further.get(function.__name__, ())
    x = jnp.ones(4) if function is np.searchsorted else jnp.ones((4, 4, 4))
    jax.make_jaxpr(lambda x: function(x, *given))(x)
