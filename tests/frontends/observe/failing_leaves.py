"""Programs that fail at one leaf of a tree, or for want of one: the explanation is to name it."""

import failing_calls
from failing import Failing

_NET = "import flax.linen as nn\nnet = nn.Dense(3)\nv = net.init(jax.random.key(0), x)\n"

LEAVES = (
    Failing(
        "branch-type-mismatch",
        "def yes(s): return {'n': s['n'] + 1}\ndef no(s): return {'n': s['n'] * 0.5}\n"
        "lax.cond(True, yes, no, {'n': jnp.int32(1)})  #!",
        "at `['n']` `yes` gives int32[], `no` float32[]",
    ),
    Failing(
        "branch-type-mismatch",
        "def one(s): return s, jnp.zeros(3)\ndef other(s): return s, jnp.zeros(4)\nlax.switch(1, [one, other], x)  #!",
        "at `[1]` `one` gives float32[3], `other` float32[4]",
    ),
    Failing(
        "branch-type-mismatch",
        "lax.switch(0, [lambda s: {'q': s, 'v': s}, lambda s: {'q': s}], x)  #!",
        "`branch 1` a dict of 1; the keys 'v' are not in both",
    ),
    Failing(
        "carry-type-changes",
        "lax.scan(lambda c, y: ({'w': c['w'][None], 'n': c['n'] * 0.5}, None), {'w': x, 'n': jnp.int32(1)}, x)  #!",
        "it also turns `c['w']` from float32[3,4] into float32[1,3,4]",
    ),
    Failing(
        "scan-length-mismatch",
        "lax.scan(lambda c, y: (c, y), 0, {'obs': x, 'act': jnp.ones(6)})  #!",
        "`xs['act']` is float32[6], `xs['obs']` is float32[3,4]",
    ),
    Failing("carry-xs-confusion", "lax.scan(lambda c, y: (c, y), 0, {'lr': 0.1})  #!", "(`xs['lr']`, a Python float)"),
    Failing("wrong-axis-mapped", "jax.vmap(lambda y, lr: y * lr)(x, 0.1)  #!", "map axis 0 of `lr` (a Python float)"),
    Failing(
        "wrong-axis-mapped",
        "jax.vmap(lambda a, b, c: a, in_axes=(0, 2, None))(jnp.ones((3, 2)), x, x)  #!",
        "map axis 2 of `b` (float32[3,4]), which",
    ),
    Failing(
        "wrong-argnums",
        "jax.grad(lambda n, p: jnp.sum(p['w']), argnums=1)(1, {'b': x, 'w': jnp.arange(3)})  #!",
        "`p['w']` (int32[3]), which is not made of real numbers",
    ),
    Failing(
        "axis-conflict",
        "jax.tree.map(lambda p, g: p - g, {'a': x, 'b': x[0]}, {'a': x, 'b': jnp.ones(5)})  #!",
        "`tree.map` is at the leaf `['b']` (float32[4], float32[5]); `p` is float32[4], `g` is float32[5]",
    ),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_vjp\ndef f(p, y): return jnp.sum(p['w'] @ y)\ndef fwd(p, y): return f(p, y), (p, y)\n"
        "def bwd(res, g):\n    return {'w': g * res[1]}, g * res[1]  #!\nf.defvjp(fwd, bwd)\n"
        "jax.grad(f)({'w': x}, jnp.ones(4))",
        "a gradient of type float32[4] for `p['w']` of type float32[3,4]",
    ),
    Failing(
        "spec-does-not-fit",
        "mesh = jax.make_mesh((2,), ('d',), axis_types=(jax.sharding.AxisType.Auto,))\n"
        "jax.shard_map(lambda b: b, mesh=mesh, in_specs=P('d'), out_specs=P('d'))({'y': jnp.ones(3)})  #!",
        "splits axis 0 of `b['y']` (float32[3]) over 2 devices of `d`, unevenly",
    ),
    Failing(
        "explicit-sharding-conflict",
        "mesh = jax.make_mesh((2,), ('d',), axis_types=(jax.sharding.AxisType.Explicit,))\n"
        "with jax.set_mesh(mesh):\n    jax.shard_map(lambda b: b, in_specs=P('d'), out_specs=P('d'))(jnp.ones(4))  #!",
        "`in_specs` says P('d',), but the argument float32[4] comes sharded as P(None,)",
    ),
    Failing(
        "static-argument-misuse",
        "@functools.partial(jax.jit, static_argnums=1)\ndef g(y, n): return y * n\n"
        "jax.jit(lambda y, n: g(y, n))(x, 3)  #!",
        "the static argument `n` is a traced value",
    ),
    Failing(
        "static-argument-misuse",
        "def g(y, opts): return y\nh = jax.jit(g, static_argnames=('opts',))\nh(x, opts={'k': 1})  #!",
        "the static argument `opts` is a `dict`",
    ),
    Failing(
        "module-state-mishandled", _NET + "net.apply(v['params'], x)  #!", "`net.apply({'params': params}, ...)`, or"
    ),
    Failing("not-a-key", "jax.random.normal(jnp.ones(2))  #!", "an array of dtype float32 as its key"),
    Failing(
        "script-failed",
        _NET + "v['params']['Dense_0']  #!",
        "`v['params']` has no key 'Dense_0': it has 'kernel', 'bias'",
    ),
    Failing("script-failed", "batch = {'labels': x}\nbatch['label']  #!", "perhaps `labels` is meant"),
    Failing("script-failed", "p = {'w': x}\np['params']['w']  #!", "leave `['params']` out"),
    Failing("script-failed", _NET + "v['kernel']  #!", "its parameters are below `['params']`"),
    Failing(
        "script-failed",
        "from collections import namedtuple\nS = namedtuple('S', 'obs done')\nS(x, x).observation  #!",
        "`S` has no field `observation`: it has `obs`, `done`",
    ),
    Failing("script-failed", "nothing = None\nnothing['lr']  #!", "`nothing` is None here"),
    Failing("script-failed", "nothing = None\nnothing.lr  #!", "`nothing` is None here"),
    Failing("script-failed", "pair = (x, x)\npair[2]  #!", "`pair` has 2 elements"),
    Failing("script-failed", "b, t = jnp.ones((2, 3, 4)).shape[:]  #!", "2 names are bound to more values"),
    Failing("script-failed", "y = jnp.ones((2, 3, 4))\nb, t = y.shape  #!", "the 3 parts of `y.shape`"),
    Failing(
        "script-failed",
        "def step(s):\n    return s, 1.0, False\nobs, state, reward, done = step(x)  #!",
        "`step` returns `(s, 1.0, False)`",
    ),
    Failing("script-failed", "a = = 1  #!", "is not valid Python: invalid syntax, line 8"),
    Failing("script-failed", "assert x.sum() < 0, 'no'  #!", "own assertion does not hold: `x.sum() < 0` (no)"),
    Failing(
        "tree-structure-mismatch",
        "jax.jit(lambda v: jax.tree.map(lambda a, b: a, {'p': {'w': None}}, {'p': {'w': v}}))(x)  #!",
        "different structures at `['p']['w']`: None where another has an array",
    ),
    Failing("script-failed", "import no_such_module  #!", "there is no module `no_such_module` in the environment"),
    Failing("script-failed", "from optax import no_such_name  #!", "there is no `no_such_name` in the `optax`"),
)

PROGRAMS = (*failing_calls.PROGRAMS, *LEAVES)
