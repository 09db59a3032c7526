"""Programs that JAX refuses, each with the rule that explains it; the line that is blamed ends in `#!`."""

from typing import NamedTuple

HEAD = """import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
x = jnp.arange(12.0).reshape(3, 4)
"""


class Failing(NamedTuple):
    rule: str
    code: str
    said: str
    """A part of the message that must be there."""


PROGRAMS = (
    Failing(
        "python-branch-on-traced",
        "@jax.jit\ndef f(y):\n    if y.sum() > 0:  #!\n        return y\n    return -y\nf(x)",
        "`if`",
    ),
    Failing("python-branch-on-traced", "jax.jit(lambda y: 1.0 if bool(y[0, 0] > 0) else 0.0)(x)  #!", "bool"),
    Failing(
        "numpy-on-traced", "@jax.jit\ndef f(y):\n    return np.sin(y)  #!\nf(x)", "`np.sin` is given a traced array"
    ),
    Failing("in-place-update", "y = np.asarray(x)\ny[0] = 1.0  #!", "`np.array(x)`"),
    Failing("in-place-update", "y = np.asarray(x)\ny += 1.0  #!", "only lends"),
    Failing(
        "carry-type-changes",
        "import dataclasses\n@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass S:\n    x: jax.Array\n"
        "    n: int = dataclasses.field(metadata={'static': True}, default=0)\n"
        "lax.scan(lambda s, _: (S(s.x, s.n + 1), None), S(x), None, 3)  #!",
        "a static field of `S`",
    ),
    Failing("traced-shape-arithmetic", "@jax.jit\ndef f(n):\n    return sum(range(n))  #!\nf(3)", "integer"),
    Failing("traced-shape-arithmetic", "@jax.jit\ndef f(y):\n    return int(jnp.ceil(2.5))  #!\nf(x)", "int"),
    Failing("numpy-on-traced", "@jax.jit\ndef f(y):\n    return float(y[0, 0])  #!\nf(x)", "float"),
    Failing("dynamic-shape", "@jax.jit\ndef f(y):\n    return y[y > 0].sum()  #!\nf(x)", "mask"),
    Failing("dynamic-shape", "@jax.jit\ndef f(n):\n    return jnp.zeros(n)  #!\nf(3)", "shape"),
    Failing("dynamic-shape", "@jax.jit\ndef f(y):\n    return jnp.nonzero(y)  #!\nf(x)", "values"),
    Failing(
        "tracer-leak",
        "kept = []\n@jax.jit\ndef f(y):\n    kept.append(y * 2)  #!\n    return y\nf(x)\nkept[0] + 1",
        "kept",
    ),
    Failing(
        "tracer-leak",
        "@functools.lru_cache  #!\ndef table(n):\n    return jnp.arange(n) * 2\njax.jit(lambda y: y + table(4))(x)\njax.jit(lambda y: y - table(4))(x)",
        "cache",
    ),
    Failing("invalid-input-type", "@jax.jit\ndef f(y, mode):\n    return y\nf(x, 'mean')  #!", "`mode`"),
    Failing("unregistered-class", "class State:\n    pass\n@jax.jit\ndef f(s):\n    return s\nf(State())  #!", "State"),
    Failing("iterator-in-traced-code", "lax.scan(lambda c, v: (c + v, v), 0.0, zip(x, x))  #!", "zip"),
    Failing(
        "print-in-traced-code", "@jax.jit\ndef f(y):\n    print(f'{y.sum():.3f}')  #!\n    return y\nf(x)", "format"
    ),
    Failing("in-place-update", "x[0] = 1.0  #!", ".at["),
    Failing("static-argument-misuse", "jax.jit(lambda y, n: y, static_argnums=1)(x, [1, 2])  #!", "hash"),
    Failing("carry-type-changes", "lax.scan(lambda c, v: (c + v, v), jnp.zeros(()), x)  #!", "float32[4]"),
    Failing("carry-type-changes", "lax.scan(lambda c, v: ((c[0],), v), (0.0, 1.0), x)  #!", "carry"),
    Failing(
        "carry-type-changes", "lax.while_loop(lambda c: c.sum() < 3, lambda c: c[None] + 1, x)  #!", "float32[1,3,4]"
    ),
    Failing("carry-type-changes", "lax.fori_loop(0, 3, lambda i, c: c[:, None], x)  #!", "float32[3,1,4]"),
    Failing("carry-type-changes", "lax.scan(lambda c, v: c + 1, 0.0, x)  #!", "pair"),
    Failing("branch-type-mismatch", "lax.cond(True, lambda y: y, lambda y: y[0], x)  #!", "branch"),
    Failing("branch-type-mismatch", "lax.switch(1, [lambda y: y, lambda y: y.astype(int)], x)  #!", "branch"),
    Failing("scan-length-mismatch", "lax.scan(lambda c, v: (c, v), 0.0, (x, x[:2]))  #!", "3"),
    Failing("scan-length-mismatch", "lax.scan(lambda c, v: (c, v), 0.0, x, length=5)  #!", "5"),
    Failing("carry-xs-confusion", "lax.scan(lambda c, v: (c, v), x, 1.0)  #!", "axis"),
    Failing(
        "reverse-through-while-loop",
        "jax.grad(lambda y: lax.while_loop(lambda c: c < 9, lambda c: c * 2, y))(1.0)  #!",
        "while_loop",
    ),
    Failing("in-axes-structure-mismatch", "jax.vmap(lambda d: d['a'], in_axes={'a': 0})({'a': x})  #!", "in_axes"),
    Failing("in-axes-structure-mismatch", "jax.vmap(lambda a, b: a, in_axes=(0, 0, 0))(x, x)  #!", "in_axes"),
    Failing("in-axes-structure-mismatch", "jax.vmap(lambda a: a, in_axes=None)(x)  #!", "None"),
    Failing("wrong-axis-mapped", "jax.vmap(lambda a: a, in_axes=2)(x)  #!", "2"),
    Failing("wrong-axis-mapped", "jax.vmap(lambda a, b: a)(x, x.T)  #!", "4"),
    Failing("out-axes-assumption", "jax.vmap(lambda a: a, out_axes=None)(x)  #!", "out_axes"),
    Failing("non-scalar-grad", "jax.grad(lambda y: y * 2)(x)  #!", "(3, 4)"),
    Failing("aux-mishandled", "jax.grad(lambda y: (y.sum(), y))(x)  #!", "has_aux"),
    Failing("aux-mishandled", "jax.grad(lambda y: y.sum(), has_aux=True)(x)  #!", "has_aux"),
    Failing(
        "wrong-argnums",
        "jax.grad(lambda n, y: n * y.sum())(3, x)  #!",
        "`n` (a Python int), which is not made of real numbers",
    ),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_vjp\ndef f(y, s):\n    return y * s\ndef fwd(y, s):\n    return y * s, (y, s)\ndef bwd(res, g):\n    y, s = res\n    return g * s, g * y  #!\nf.defvjp(fwd, bwd)\njax.grad(lambda s: f(x, s).sum())(jnp.ones(4))",
        "float32[3,4]",
    ),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_vjp\ndef f(y, s):\n    return y * s\ndef fwd(y, s):\n    return y * s, (y, s)\ndef bwd(res, g):\n    return g  #!\nf.defvjp(fwd, bwd)\njax.grad(lambda s: f(x, s).sum())(jnp.ones(4))",
        "one gradient",
    ),
    Failing("unbound-axis-name", "jax.vmap(lambda y: lax.psum(y, 'i'))(x)  #!", "`i`"),
    Failing(
        "spec-does-not-fit",
        "mesh = Mesh(np.array(jax.devices()), ('data',))\ncols = NamedSharding(mesh, P(None, 'data'))  #!\njax.jit(lambda y: y * 2, out_shardings=cols)(jnp.ones((8, 3)))",
        "3",
    ),
    Failing(
        "spec-does-not-fit",
        "mesh = Mesh(np.array(jax.devices()), ('data',))\nNamedSharding(mesh, P('model'))  #!",
        "model",
    ),
    Failing(
        "missing-cross-device-reduction",
        "mesh = jax.make_mesh((2,), ('data',), axis_types=(jax.sharding.AxisType.Auto,))\njax.jit(jax.shard_map(lambda y: y.mean(), mesh=mesh, in_specs=P('data'), out_specs=P()))(jnp.ones((4, 2)))  #!",
        "out_specs",
    ),
    Failing(
        "explicit-sharding-conflict",
        "mesh = jax.make_mesh((2,), ('d',), axis_types=(jax.sharding.AxisType.Explicit,))\nwith jax.set_mesh(mesh):\n    a = jax.device_put(jnp.ones((4, 4)), P('d', None))\n    b = jax.device_put(jnp.ones((4, 4)), P(None, 'd'))\n    a + b  #!",
        "shard",
    ),
    Failing("mixed-devices", "a, b = (jax.device_put(x, d) for d in jax.devices()[:2])\na + b  #!", "devices"),
    Failing("used-after-donation", "f = jax.jit(lambda y: y + 1, donate_argnums=0)\nf(x)\nx + 1  #!", "donate"),
    Failing("device-axis-missing", "jax.pmap(lambda y: y)(jnp.ones((16, 2)))  #!", "n_devices"),
    Failing("tree-structure-mismatch", "jax.tree.map(lambda a, b: a + b, {'w': x}, {'w': x, 'b': x})  #!", "b"),
    Failing("tree-structure-mismatch", "jax.tree.map(lambda a, b: a, (x, x), [x, x])  #!", "list"),
    Failing(
        "array-in-static-field",
        "class C:\n    def __init__(s, a):\n        s.a = a\njax.tree_util.register_pytree_node(C, lambda c: ((c.a,), (c.a,)), lambda aux, ch: C(*ch))\njax.tree.map(lambda a, b: a, C(x), C(x + 1))  #!",
        "aux",
    ),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nm = nn.Dense(3)\nm.apply({'params': {}}, x)  #!",
        "parameter",
    ),
    Failing("axis-conflict", "x + jnp.ones((3, 5))  #!", "(3, 5)"),
    Failing("axis-conflict", "x @ x  #!", "3"),
    Failing("axis-conflict", "x.reshape(5, 2)  #!", "12"),
    Failing("axis-conflict", "jnp.concatenate([x, jnp.ones(4)])  #!", "dimensions"),
    Failing("axis-conflict", "jnp.concatenate([x, jnp.ones((3, 5))])  #!", "(3, 5)"),
    Failing("axis-conflict", "jnp.squeeze(x, axis=0)  #!", "squeeze"),
    Failing("axis-conflict", "jnp.einsum('ij,jk->ik', x, x)  #!", "j"),
    Failing("too-few-subkeys", "k = jax.random.key(0)\na, b, c = jax.random.split(k)  #!", "3"),
    Failing("unsafe-domain", "with jax.debug_nans(True):\n    jnp.log(-x)  #!", "nan"),
    Failing("integer-overflow", "x.astype(jnp.int32) + 3_000_000_000  #!", "int32"),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_jvp\ndef f(y):\n    return y * 2\n@f.defjvp\ndef rule(primals, tangents):\n    return f(primals[0]), tangents[0].sum()  #!\njax.jvp(f, (x,), (x,))",
        "tangent",
    ),
    Failing("in-axes-structure-mismatch", "jax.vmap(lambda d: d['a'], in_axes=({'b': 0},))({'a': x})  #!", "prefix"),
    Failing("device-axis-missing", "jax.pmap(lambda a, b: a)(x[:2], x[:1])  #!", "pmap"),
    Failing("axis-conflict", "jnp.stack([x, x[0]])  #!", "shape"),
    Failing("axis-conflict", "jnp.broadcast_arrays(x, jnp.ones((3, 5)))  #!", "(3, 5)"),
    Failing(
        "spec-does-not-fit",
        "mesh = jax.make_mesh((2,), ('data',), axis_types=(jax.sharding.AxisType.Auto,))\njax.shard_map(lambda y: y, mesh=mesh, in_specs=P('data'), out_specs=P('data'))(jnp.ones((3, 2)))  #!",
        "spec",
    ),
    Failing(
        "tree-structure-mismatch", "jax.tree_util.tree_unflatten(jax.tree.structure((x, x)), [x])  #!", "structure"
    ),
    Failing("invalid-input-type", "jnp.sin({'a': x})  #!", "dict"),
    Failing("dynamic-shape", "jax.jit(lambda y: jnp.arange(y.sum()))(x)  #!", "shape"),
    Failing("scan-length-mismatch", "jax.grad(lambda y: lax.map(lambda v: v, (y, y[:2]))[0].sum())(x)  #!", "lengths"),
    Failing("condition-not-scalar", "lax.while_loop(lambda c: c > 0, lambda c: c - 1, x)  #!", "while_loop"),
    Failing("condition-not-scalar", "lax.cond(x > 0, lambda: 1.0, lambda: 0.0)  #!", "cond"),
    Failing("condition-not-scalar", "lax.switch(0.5, [lambda: 1, lambda: 2])  #!", "number branches"),
    Failing("branch-type-mismatch", "lax.cond(True, lambda a: (a, a), lambda a: a, x)  #!", "cond"),
    Failing("scan-length-mismatch", "jax.lax.scan(lambda c, v: (c, v), 0.0, [])  #!", "scan"),
    Failing("wrong-number-of-arguments", "lax.cond(True, lambda a: a, lambda a, b: a + b, x)  #!", "cond"),
    Failing("wrong-argnums", "jax.grad(lambda a: a.sum(), argnums=2)(x)  #!", "argnums=2"),
    Failing("non-scalar-grad", "jax.grad(lambda a: a.sum().astype(int))(x)  #!", "dtype int32"),
    Failing("axis-conflict", "_, f = jax.vjp(jnp.sin, x)\nf(x[0])  #!", "jax.vjp"),
    Failing("tree-structure-mismatch", "_, f = jax.vjp(lambda a: (a, a), x)\nf(x)  #!", "jax.vjp"),
    Failing("axis-conflict", "jax.jvp(jnp.sin, (x,), (x[0],))  #!", "jvp"),
    Failing("invalid-input-type", "jax.jvp(jnp.sin, (x,), (x.astype(int),))  #!", "jvp"),
    Failing("wrong-custom-derivative", "jax.custom_vjp(lambda a: a)(x)  #!", "<lambda>"),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_vjp\ndef f(a):\n    return a\nf.defvjp(lambda a: a, lambda r, g: (g,))\njax.grad(lambda a: f(a).sum())(x)  #!",
        "f",
    ),
    Failing("out-axes-assumption", "jax.vmap(lambda a: (a, a), out_axes=(0, 0, 0))(x)  #!", "out_axes"),
    Failing("out-axes-assumption", "jax.vmap(lambda a: a.sum(), out_axes=1)(x)  #!", "out_axes"),
    Failing("non-scalar-grad", "jax.grad(lambda a: None)(x)  #!", "gives None"),
    Failing("script-failed", "mesh = jax.make_mesh((4,), ('d',))  #!", "(4,)"),
    Failing(
        "spec-does-not-fit",
        "mesh = jax.make_mesh((2,), ('d',), axis_types=(jax.sharding.AxisType.Auto,))\njax.shard_map(lambda a, b: a, mesh=mesh, in_specs=(P('d'),), out_specs=P('d'))(jnp.ones(4), jnp.ones(4))  #!",
        "in_specs",
    ),
    Failing(
        "unbound-axis-name",
        "mesh = jax.make_mesh((2,), ('d',), axis_types=(jax.sharding.AxisType.Auto,))\njax.shard_map(lambda a: lax.psum(a, 'model'), mesh=mesh, in_specs=P('d'), out_specs=P())(jnp.ones(4))  #!",
        "shard_map",
    ),
    Failing("dynamic-shape", "jax.jit(lambda n: lax.scan(lambda c, _: (c, c), 0.0, None, length=n))(3)  #!", "length"),
    Failing("dynamic-shape", "jax.jit(lambda n: jax.nn.one_hot(x, n))(3)  #!", "num_classes"),
    Failing("dynamic-shape", "jax.jit(lambda a: jnp.unique(a))(x)  #!", "jnp.unique"),
    Failing("dynamic-shape", "jax.jit(lambda n: x[:n])(3)  #!", "on it"),
    Failing("dynamic-shape", "jax.jit(lambda n: jax.random.split(jax.random.key(0), n))(3)  #!", "shape"),
    Failing("axis-conflict", "x.at[0].set(jnp.ones(3))  #!", "float32[3]"),
    Failing("axis-conflict", "jnp.matmul(jnp.ones((2, 3, 4)), jnp.ones((5, 4, 6)))  #!", "float32[2,3,4]"),
    Failing("axis-conflict", "x.sum(axis=2)  #!", "from 0"),
    Failing("axis-conflict", "x[0, 0, 0]  #!", "3 indices"),
    Failing("axis-conflict", "jnp.take_along_axis(x, jnp.array([0, 1]), axis=1)  #!", "with 2"),
    Failing("axis-conflict", "lax.dynamic_slice(x, (0,), (1, 1))  #!", "(3, 4)"),
    Failing("axis-conflict", "lax.dynamic_update_slice(x, jnp.ones((4, 1)), (0, 0))  #!", "(4, 1)"),
    Failing("axis-conflict", "lax.select(x[0] > 0, x, x)  #!", "(4,)"),
    Failing("axis-conflict", "jnp.linalg.inv(x)  #!", "inv"),
    Failing("axis-conflict", "jnp.split(x, 3, axis=1)  #!", "left over"),
    Failing(
        "axis-conflict", "jax.lax.conv(jnp.ones((1, 3, 8, 8)), jnp.ones((4, 2, 3, 3)), (1, 1), 'SAME')  #!", "!= 2"
    ),
    Failing("axis-conflict", "jnp.einsum('ijk->i', x)  #!", "ijk"),
    Failing("axis-conflict", "jnp.array([[1, 2], [3]])  #!", "different lengths"),
    Failing("axis-conflict", "jax.jit(lambda a: [v for v in a.sum()])(x)  #!", "its length"),
    Failing("invalid-input-type", "lax.add(x, jnp.ones((3, 4), int))  #!", "lax.add"),
    Failing(
        "invalid-input-type",
        "import optax\noptax.softmax_cross_entropy_with_integer_labels(x, jnp.ones(3))  #!",
        "are needed",
    ),
    Failing("invalid-input-type", "jnp.arange(3)['a']  #!", "a"),
    Failing("invalid-input-type", "x[0.5]  #!", "type float64"),
    Failing("invalid-input-type", "jnp.asarray(['a', 'b'])  #!", "not have"),
    Failing("not-a-key", "jax.random.normal(x, (3,))  #!", "(3, 4)"),
    Failing("not-a-key", "jax.random.normal(0, (3,))  #!", "0"),
    Failing("not-a-key", "jax.random.normal((3,), jax.random.key(0))  #!", "tuple"),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nm = nn.Dense(3)\np = m.init(jax.random.key(0), x)\nm.apply(p, jnp.ones((3, 5)))  #!",
        "kernel",
    ),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nclass N(nn.Module):\n    @nn.compact\n    def __call__(self, x):\n        return nn.BatchNorm(use_running_average=False)(x)  #!\nm = N()\nv = m.init(jax.random.key(0), x)\nm.apply(v, x)",
        "mean",
    ),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nclass N(nn.Module):\n    def __call__(self, x):\n        return nn.Dense(3)(x)  #!\nN().init(jax.random.key(0), x)",
        "Dense",
    ),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nclass N(nn.Module):\n    @nn.compact\n    def __call__(self, x):\n        self.count = 3  #!\n        return x\nN().init(jax.random.key(0), x)",
        "self.count",
    ),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nclass N(nn.Module):\n    def setup(self):\n        self.d = nn.Dense(3)\n    def __call__(self, x):\n        return self.d(x)  #!\nm = N()\nm(x)",
        "N",
    ),
    Failing("module-state-mishandled", "from flax import nnx\nm = nnx.Dropout(0.5)\nm(x)  #!", "Dropout"),
    Failing(
        "script-failed",
        "import equinox as eqx\n@eqx.filter_jit\ndef f(y):\n    return eqx.error_if(y, y > 100, 'too big') + eqx.error_if(y, y > 0, 'positive')  #!\nf(x)",
        "failed: positive",
    ),
    Failing(
        "module-state-mishandled",
        "import equinox as eqx\nclass M(eqx.Module):\n    w: jax.Array\n    def __init__(self):\n        pass\nM()  #!",
        "__init__",
    ),
    Failing(
        "in-place-update",
        "import equinox as eqx\nclass M(eqx.Module):\n    w: jax.Array\nm = M(x)\nm.w = x + 1  #!",
        "w",
    ),
    Failing("module-state-mishandled", "import haiku as hk\nhk.Linear(3)(x)  #!", "hk.transform"),
    Failing(
        "module-state-mishandled",
        "import haiku as hk\nf = hk.transform(lambda a: hk.dropout(hk.next_rng_key(), 0.5, a))  #!\np = f.init(jax.random.key(0), x)\nf.apply(p, None, x)",
        "init",
    ),
    Failing(
        "module-state-mishandled",
        "import haiku as hk\nf = hk.transform(lambda a: hk.Linear(3)(a))  #!\np = f.init(jax.random.key(0), x)\nf.apply(p, jax.random.key(0), jnp.ones((3, 5)))",
        "linear/w",
    ),
    Failing(
        "module-state-mishandled",
        "import haiku as hk\nf = hk.transform(lambda a: hk.Linear(3)(a))\np = f.init(jax.random.key(0), x)\nf.apply(p, x)  #!",
        "Apply",
    ),
    Failing("carry-type-changes", "lax.fori_loop(0, 3, lambda i, c: [c[0], c[1]], (x, x))  #!", "fori_loop"),
    Failing(
        "tracer-leak",
        "log = {}\ndef body(c, v):\n    log['last'] = c  #!\n    return c + v, None\nlax.scan(body, jnp.zeros(4), x)\nlog['last'] * 2",
        "log['last']",
    ),
    Failing(
        "carry-type-changes",
        "def body(c, v):\n    return {'a': c['a']}, v\nlax.scan(body, {'a': 0.0, 'b': 1.0}, x)  #!",
        "scan",
    ),
    Failing("too-few-subkeys", "a, b = jax.random.split(jax.random.key(0), 3)  #!", "bound to"),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nclass N(nn.Module):\n    @nn.compact\n    def __call__(self, x):\n        return nn.Dense(3)(x)\nN()(x)  #!",
        "its parameters",
    ),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nm = nn.Dropout(0.5, deterministic=False)\nm.apply({}, x)  #!",
        "dropout",
    ),
    Failing(
        "used-after-donation",
        "f = jax.jit(lambda a, b: (a + 1, b + 1), donate_argnums=(0, 1))\nf(x, x)  #!",
        "donated twice",
    ),
    Failing("script-failed", "open('/nowhere/at/all')  #!", "there is no file or folder `/nowhere/at/all`"),
    Failing("script-failed", "{}['missing']  #!", "`{}` has no key 'missing'"),
)
