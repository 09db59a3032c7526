"""More programs that JAX and its libraries refuse: single calls, derivatives, keys, devices, modules."""

import failing
from failing import Failing

CALLS = (
    Failing(
        "dynamic-shape",
        "@jax.jit\ndef f(v, n):\n    return jnp.linspace(0, 1, n)  #!\nf(jnp.ones(6), 2)",
        "`jnp.linspace` needs a number that is known while tracing, and gets a traced value",
    ),
    Failing(
        "numpy-on-traced",
        "@jax.jit\ndef f(v):\n    d = {v: 1}  #!\n    return d\nf(jnp.arange(6))",
        "a traced array is used as a key of a dict, in a set or in a cache",
    ),
    Failing("script-failed", "d = {jnp.arange(6): 1}  #!", "an array is used as a key of a dict"),
    Failing(
        "numpy-on-traced",
        "@jax.jit\ndef f(v):\n    out = np.zeros(6)\n    out[0] = v[0]  #!\n    return out\nf(jnp.ones(6))",
        "a traced value is stored in an array of NumPy",
    ),
    Failing(
        "print-in-traced-code",
        '@jax.jit\ndef f(v):\n    return "%d" % v[0]  #!\nf(jnp.ones(6))',
        "a traced value is given a number format, but has no number yet",
    ),
    Failing(
        "invalid-input-type",
        '@jax.jit\ndef f(v):\n    return [v, "done"]  #!\nf(jnp.ones(6))',
        "`f` gives a str at `[1]`, which is no array",
    ),
    Failing(
        "static-argument-misuse",
        'def f(v, n):\n    return v * n\ng = jax.jit(f, static_argnames=("m",))  #!\ng(jnp.ones(3), n=2)',
        "`static_argnames` names 'm', which is no parameter of the function",
    ),
    Failing(
        "static-argument-misuse",
        "def f(v, n):\n    return v * n\ng = jax.jit(f, static_argnums=(5,))  #!\ng(jnp.ones(3), 2)",
        "`static_argnums=(5,)` names an argument that the function does not have: it takes 2, which count from 0",
    ),
    Failing(
        "static-argument-misuse",
        "def f(v, n):\n    return v * n\ng = jax.jit(f, donate_argnums=(0,), static_argnums=(0,))  #!\ng(jnp.ones(3), 2)",
        "'v' is declared both static and donated",
    ),
    Failing(
        "condition-not-scalar",
        "lax.while_loop(lambda c: (c < 3, c), lambda c: c + 1, 0)  #!",
        "the condition of `while_loop` gives a container (*, *), not one truth value",
    ),
    Failing(
        "invalid-input-type",
        "lax.fori_loop(0, 3.5, lambda i, c: c, 0)  #!",
        "the bounds of `fori_loop` are int32 and float32",
    ),
    Failing(
        "invalid-input-type", "lax.cond(True, 1.0, 2.0)  #!", "`lax.cond` is given a value where a function is needed"
    ),
    Failing(
        "condition-not-scalar",
        'lax.cond("yes", lambda: 1.0, lambda: 2.0)  #!',
        "the condition of `cond` is `yes`, a str",
    ),
    Failing(
        "condition-not-scalar",
        "lax.switch(jnp.array([0, 1]), [lambda: 1.0, lambda: 2.0])  #!",
        "the index of `switch` has shape (2,), but there is one decision",
    ),
    Failing("branch-type-mismatch", "lax.switch(0, [])  #!", "`switch` is given no branches"),
    Failing(
        "wrong-argnums",
        'jax.grad(lambda p, q: (p * q).sum(), argnums="p")(jnp.ones(3), 1.0)  #!',
        "`argnums` is no whole number",
    ),
    Failing(
        "tree-structure-mismatch",
        "jax.jvp(jnp.sin, jnp.ones(3), jnp.ones(3))  #!",
        "`jvp` is given its arguments and tangents bare, not in tuples",
    ),
    Failing(
        "tree-structure-mismatch",
        "jax.jvp(jnp.sin, (jnp.ones(3),), (jnp.ones(3), jnp.ones(3)))  #!",
        "`jvp` is given arguments of the structure (*,) and tangents of the structure (*, *)",
    ),
    Failing(
        "tree-structure-mismatch",
        "out, vjp = jax.vjp(lambda a, b: a * b, jnp.ones(3), jnp.ones(3))\nda, db = vjp(jnp.ones(3), jnp.ones(3))  #!",
        "a function of `jax.vjp` is called with 2 arguments, and takes one: the cotangent of the output",
    ),
    Failing(
        "axis-conflict",
        "out, f_lin = jax.linearize(jnp.sin, jnp.ones(3))\nf_lin(jnp.ones(4))  #!",
        "a function of `jax.linearize` is given a tangent of type float32[4], but the argument was float32[3]",
    ),
    Failing(
        "wrong-custom-derivative",
        "jax.linear_transpose(jnp.sin, jnp.ones(3))(jnp.ones(3))  #!",
        "`sin` is not linear in what it is given, so it cannot be run backwards as a linear function",
    ),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_vjp\ndef f(x):\n    return x * 2\nf.defvjp(lambda x: (f(x), None), lambda r, g: (g * 2,))\njax.jvp(f, (1.0,), (1.0,))  #!",
        "a derivative is taken forwards through a function that has a backward rule only",
    ),
    Failing(
        "static-argument-misuse",
        'jax.checkpoint(lambda x, mode: x, static_argnums=(3,))(1.0, "a")  #!',
        "`static_argnums=(3,)` of `checkpoint` names an argument that is not given: there are 2, counted from 0",
    ),
    Failing(
        "in-axes-structure-mismatch",
        "jax.vmap(lambda a: a, in_axes=(1.0,))(jnp.ones(3))  #!",
        "`in_axes` holds something other than whole numbers and None: (1.0,)",
    ),
    Failing(
        "invalid-input-type",
        'jax.vmap(lambda a: "x")(jnp.ones(3))  #!',
        "a mapped function gives 'x', a str, which is no array",
    ),
    Failing(
        "in-axes-structure-mismatch", "jax.vmap(lambda: 1.0)()  #!", "a mapped function is called without an array"
    ),
    Failing(
        "axis-conflict",
        "jnp.matmul(jnp.ones(3), 2.0)  #!",
        "operand 1 of a matrix product has 0 axes, and needs 1 or more",
    ),
    Failing(
        "axis-conflict",
        "lax.dot_general(jnp.ones((2, 3, 4)), jnp.ones((5, 4, 3)), (((2,), (1,)), ((0,), (0,))))  #!",
        "a product goes through the batch axes of both operands in step, but their sizes are (2,) and (5,)",
    ),
    Failing(
        "axis-conflict",
        'jnp.einsum("ij,jk->il", jnp.ones((2, 3)), jnp.ones((3, 4)))  #!',
        "einsum's output letter `l` did not appear in the input",
    ),
    Failing(
        "axis-conflict", 'jnp.einsum("ij,jk", jnp.ones((2, 3)))  #!', "einsum has letters for 2 operands and is given 1"
    ),
    Failing(
        "axis-conflict", "jnp.reshape(jnp.ones((2, 3)), (-1, -1))  #!", "more than one -1 stands in the shape (-1, -1)"
    ),
    Failing(
        "axis-conflict",
        "jnp.transpose(jnp.ones((2, 3)), (0, 0))  #!",
        "the axes of an array of shape (2, 3) are put into the order (0, 0), which does not name each of them once",
    ),
    Failing(
        "axis-conflict",
        "jnp.swapaxes(jnp.ones((2, 3)), 0, 2)  #!",
        "an axis or index 2 is named where there are 2: they count from 0",
    ),
    Failing(
        "axis-conflict",
        "jnp.broadcast_to(jnp.ones((2, 3)), (3,))  #!",
        "an array of shape (2, 3) is to fill a place of shape (3,), which has fewer axes",
    ),
    Failing(
        "axis-conflict",
        "jnp.concatenate([jnp.ones(()), jnp.ones(())])  #!",
        "single numbers are concatenated, but they have no axis",
    ),
    Failing("axis-conflict", "jnp.concatenate([])  #!", "an empty list is given to `jnp.concatenate`"),
    Failing(
        "axis-conflict",
        "jnp.pad(jnp.ones((2, 3)), ((1, 1), (1, 1), (1, 1)))  #!",
        "`pad_width` has shape (3, 2), but the array has 2 axes",
    ),
    Failing(
        "invalid-input-type",
        "jnp.take(jnp.ones((2, 3)), 1.0, axis=0)  #!",
        "elements are picked by numbers that are not whole",
    ),
    Failing("axis-conflict", "jnp.argmax(jnp.ones((0, 3)), axis=0)  #!", "`jnp.argmax` goes over no elements"),
    Failing("axis-conflict", "jnp.zeros((3, -1))  #!", "an array of shape (3, -1) is asked for: a size is negative"),
    Failing("invalid-input-type", "jnp.zeros(3, 4)  #!", "`jax.numpy.zeros(3, 4)` takes the shape as one argument"),
    Failing("invalid-input-type", "jnp.array([1, 2, None])  #!", "an array is made of a list with None in it"),
    Failing("invalid-input-type", "x = jnp.ones((2, 3))\nx[[0, 1]]  #!", "an array is indexed by a list"),
    Failing(
        "axis-conflict",
        "x = jnp.ones((2, 3))\nx[jnp.array([True, False, True])]  #!",
        "a mask of shape (3,) selects from an axis of size 2",
    ),
    Failing("axis-conflict", "x = jnp.ones((2, 3))\nx[..., ...]  #!", "an index has `...` twice"),
    Failing(
        "in-place-update",
        "x = jnp.ones((2, 3))\nx.at(0).set(1.0)  #!",
        "`.at` is called or assigned to, but it takes an index and a method",
    ),
    Failing("script-failed", "x = jnp.ones((2, 3))\nx.append(1)  #!", "an array of JAX has no `.append`"),
    Failing(
        "axis-conflict",
        "x = jnp.ones((2, 3))\nfloat(x)  #!",
        "an array with more than one element is turned into one Python number",
    ),
    Failing("invalid-input-type", "x = jnp.ones((2, 3)) \nx & 1  #!", "`&` is applied to numbers of dtype float32"),
    Failing("invalid-input-type", 'jnp.ones(3) + "a"  #!', "`+` joins `jnp.ones(3)`, an array, and `'a'`, a str"),
    Failing(
        "axis-conflict",
        "lax.broadcast_in_dim(jnp.ones(3), (2, 4), (1,))  #!",
        "an array of shape (3,) does not broadcast to (2, 4)",
    ),
    Failing(
        "axis-conflict",
        "lax.dynamic_slice(jnp.ones((3, 4)), (0, 0), (5, 1))  #!",
        "a slice of sizes (5, 1) is cut from an array of shape (3, 4)",
    ),
    Failing(
        "axis-conflict",
        "lax.dynamic_update_slice(jnp.ones((3, 4)), jnp.ones(4), (0, 0))  #!",
        "an update of shape (4,) is written into an array of shape (3, 4): the number of axes differs",
    ),
    Failing(
        "axis-conflict",
        'lax.reduce_window(jnp.ones((3, 4)), 0.0, lax.add, (2,), (1,), "VALID")  #!',
        "`window_dimensions` is (2,), but the array has shape (3, 4)",
    ),
    Failing(
        "axis-conflict",
        'lax.conv(jnp.ones((1, 3, 8)), jnp.ones((4, 3, 3, 3)), (1, 1), "SAME")  #!',
        "a convolution is given an input with 3 axes and a kernel with 4",
    ),
    Failing(
        "axis-conflict",
        'lax.conv(jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3)), (1,), "SAME")  #!',
        "a window over 2 axes gets 1 strides",
    ),
    Failing(
        "axis-conflict",
        'lax.conv_general_dilated(jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3)), (1, 1), "SAME", feature_group_count=2)  #!',
        "3 channels cannot be put into 2 groups of one size",
    ),
    Failing("axis-conflict", "lax.top_k(jnp.ones(3), 5)  #!", "the 5 largest of 3 elements are asked for"),
    Failing(
        "axis-conflict",
        "jnp.linalg.solve(jnp.ones((3, 2)), jnp.ones(3))  #!",
        "axes that must be equal have the sizes 3 and 2 (`m` in (m,m),(m)->(m))",
    ),
    Failing(
        "axis-conflict",
        "jnp.linalg.norm(jnp.ones((2, 3, 4)), ord=2)  #!",
        "a norm is taken over the axes (0, 1, 2): it can be over one, or two for matrices",
    ),
    Failing(
        "invalid-input-type",
        "jax.random.uniform(jax.random.key(0), (3,), dtype=int)  #!",
        "`uniform` draws float numbers, and is asked for dtype int32",
    ),
    Failing(
        "not-a-key",
        "jax.random.normal(jax.random.split(jax.random.key(0)), (3,))  #!",
        "`normal` is given an array of keys of shape (2,), and takes one",
    ),
    Failing(
        "axis-conflict",
        "jax.random.choice(jax.random.key(0), 3, (5,), replace=False)  #!",
        "5 elements are drawn from 3 without putting any back",
    ),
    Failing(
        "axis-conflict",
        "jax.random.choice(jax.random.key(0), jnp.ones(3), p=jnp.ones(4))  #!",
        "`p` has shape (4,), but there are 3 elements to choose from",
    ),
    Failing(
        "not-a-key",
        "jax.random.fold_in(jax.random.key(0), jnp.arange(3))  #!",
        "`fold_in` is given numbers of shape (3,) at once, and takes one",
    ),
    Failing("not-a-key", "jax.random.key(0) + 1  #!", "`+` is applied to a key, which is no number"),
    Failing("not-a-key", "k1, k2 = jax.random.key(0)  #!", "one key is taken apart as if it were several"),
    Failing(
        "axis-conflict",
        "jax.random.multivariate_normal(jax.random.key(0), jnp.ones(3), jnp.eye(4))  #!",
        "the covariance has shape (4, 4), but the mean has 3 elements",
    ),
    Failing(
        "axis-conflict",
        "jax.random.dirichlet(jax.random.key(0), 1.0)  #!",
        "`alpha` of `dirichlet` has 0 axes, and needs 1 or more",
    ),
    Failing(
        "script-failed",
        "jax.random.shuffle(jax.random.key(0), jnp.ones(3))  #!",
        "`jax.random.shuffle` was removed from JAX",
    ),
    Failing(
        "tree-transpose-wrong",
        "jax.tree.transpose(jax.tree.structure((0, 0)), jax.tree.structure([0, 0]), (jnp.ones(3), jnp.ones(3)))  #!",
        "a tree of structure (*, *) is transposed as if it were ([*, *], [*, *])",
    ),
    Failing(
        "unregistered-class",
        "@jax.tree_util.register_pytree_node_class  #!\nclass C:\n    def __init__(self, a):\n        self.a = a\n    def tree_flatten(self):\n        return (self.a,), None\njax.tree.map(lambda z: z, C(1))",
        "`C` is registered as a pytree, but has no `tree_unflatten`",
    ),
    Failing(
        "unregistered-class",
        "class C:\n    pass\njax.tree_util.register_pytree_node(C, lambda c: ((), None), lambda a, c: C())\njax.tree_util.register_pytree_node(C, lambda c: ((), None), lambda a, c: C())  #!",
        "`C` is registered as a pytree a second time",
    ),
    Failing(
        "axis-conflict",
        "@jax.jit\ndef f(v):\n    return jax.pure_callback(lambda z: np.ones(4), jax.ShapeDtypeStruct((3,), jnp.float32), v)\nf(jnp.ones(3)).block_until_ready()  #!",
        "a callback gives an array of shape (4,) where (3,) was announced",
    ),
    Failing(
        "wrong-custom-derivative",
        "jax.grad(lambda v: jax.pure_callback(lambda z: np.sin(z), jax.ShapeDtypeStruct((), jnp.float32), v))(1.0)  #!",
        "a gradient is taken through a callback, which runs outside of JAX",
    ),
    Failing(
        "script-failed",
        "jax.vmap(lambda v: jax.pure_callback(lambda z: np.sin(z), jax.ShapeDtypeStruct((), jnp.float32), v))(jnp.ones(3))  #!",
        "a callback is mapped by `vmap`, and nothing says how",
    ),
    Failing("device-axis-missing", "jax.pmap(lambda v: v)(1.0)  #!", "nothing that `pmap` is given has a device axis"),
    Failing(
        "spec-does-not-fit",
        'mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))\njax.shard_map(lambda a: a, mesh=mesh, in_specs=P("x"), out_specs=P("d"))(jnp.ones(4))  #!',
        "`in_specs` names the axis `x`, but the mesh has 'd'",
    ),
    Failing(
        "spec-does-not-fit",
        'mesh = Mesh(np.array(jax.devices()), ("a", "b"))  #!',
        "a mesh of 2 names is made of an array of devices with 1 axes",
    ),
    Failing(
        "spec-does-not-fit",
        'mesh = Mesh(np.array(jax.devices()), ("a",))\nNamedSharding(mesh, P("a", "a"))  #!',
        "the spec P('a', 'a') splits two axes over the same mesh axis `a`",
    ),
    Failing(
        "spec-does-not-fit",
        'mesh = Mesh(np.array(jax.devices()), ("a",))\njax.device_put(jnp.ones(4), NamedSharding(mesh, P(None, "a")))  #!',
        "the spec P(None, 'a') has entries for 2 axes, but the array has 1",
    ),
    Failing(
        "spec-does-not-fit",
        'lax.with_sharding_constraint(jnp.ones(4), P("a"))  #!',
        "a bare PartitionSpec is used where no mesh is set",
    ),
    Failing(
        "spec-does-not-fit",
        "jax.jit(lambda a: a, in_shardings=(None, None))(jnp.ones(3))  #!",
        "`in_shardings` has 2 entries for 1 values",
    ),
    Failing(
        "invalid-input-type",
        "jnp.ones(3).astype(jnp.float8_e4m3fn) + jnp.ones(3).astype(jnp.float8_e5m2)  #!",
        "two dtypes meet that JAX does not convert by itself here",
    ),
    Failing(
        "axis-conflict",
        'with jax.numpy_rank_promotion("raise"):\n    jnp.ones((2, 3)) + jnp.ones(3)  #!',
        "`+` joins arrays with different numbers of axes: (2, 3) (3,)",
    ),
    Failing(
        "mixed-devices",
        'with jax.transfer_guard("disallow"):\n    jnp.ones(3) + np.ones(3)  #!',
        "an array is moved (host-to-device) without being asked for, and `transfer_guard` forbids that",
    ),
    Failing(
        "tracer-leak",
        "with jax.checking_leaks():\n    kept = []\n    @jax.jit\n    def f(v):\n        kept.append(v)  #!\n        return v\n    f(jnp.ones(3))",
        "`kept` lives outside the transformed function and keeps a traced value",
    ),
    Failing(
        "invalid-input-type",
        'jax.nn.relu("a")  #!',
        "a value of type `str` is given to `jax.nn.relu`, which needs arrays",
    ),
    Failing(
        "scan-length-mismatch",
        "lax.associative_scan(lambda a, b: a, (jnp.ones(3), jnp.ones(4)))  #!",
        "the arrays of `associative_scan` have different first axes: [(3,), (4,)]",
    ),
    Failing(
        "numpy-on-traced",
        "jax.jit(lambda a: a.block_until_ready())(jnp.ones(3))  #!",
        "`.block_until_ready()` is called on a traced array",
    ),
    Failing(
        "invalid-input-type",
        "jax.jit(lambda a: jax.debug.callback(a))(jnp.ones(3))  #!",
        "`jax.debug.callback` is given a value where the function to call is needed",
    ),
    Failing("script-failed", "from jax import foo  #!", "there is no `jax.foo` in this version of JAX"),
    Failing(
        "script-failed",
        "import jax.experimental.nothing  #!",
        "there is no `jax.experimental.nothing` in this version of JAX",
    ),
    Failing("script-failed", 'jax.config.update("jax_enable_x65", True)  #!', "JAX has no setting `jax_enable_x65`"),
    Failing(
        "script-failed",
        'jax.devices("gpu")  #!',
        "the program asks for the devices `gpu`, which this machine or this jaxlib does not have",
    ),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nm = nn.Dense(4)\nv = m.init(jnp.ones((2, 3)))  #!",
        "`m.init` is given something that is no key for its random numbers",
    ),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nclass M(nn.Module):\n    n: int\n    def setup(self):\n        self.a = nn.Dense(self.n)\n        self.a = nn.Dense(self.n)  #!\n    def __call__(self, x):\n        return self.b(x)\nM(3).init(jax.random.key(0), jnp.ones((2, 3)))",
        "`M` makes a second submodule with the name `a`",
    ),
    Failing(
        "module-state-mishandled",
        'import flax.linen as nn\nclass M(nn.Module):\n    @nn.compact\n    def __call__(self, x):\n        w = self.param("w", nn.initializers.lecun_normal(), (3,))  #!\n        return x @ w\nM().init(jax.random.key(0), jnp.ones((2, 3)))',
        "an initializer that counts inputs and outputs is given a parameter with 1 axes",
    ),
    Failing(
        "module-state-mishandled",
        "import flax.linen as nn\nclass M(nn.Module):\n    @nn.compact\n    def __call__(self, x, train):\n        x = nn.Dropout(0.5)(x)  #!\n        return x\nM().init(jax.random.key(0), jnp.ones((2, 3)), True)",
        "the layer is not told `deterministic`: whether it trains or is only used",
    ),
    Failing(
        "wrong-number-of-arguments",
        'import optax\nopt = optax.adamw(1e-3)\np = {"w": jnp.ones(3)}\ns = opt.init(p)\nu, s = opt.update({"w": jnp.ones(3)}, s)  #!',
        "`update` is called without the parameters, which this optimizer needs (for weight decay, for example)",
    ),
    Failing(
        "path-filter-misses",
        'import optax\noptax.multi_transform({"a": optax.adam(1e-3)}, {"w": "b"}).init({"w": jnp.ones(3)})  #!',
        "parameters are labelled ['b'], but there are transformations for ['a']",
    ),
    Failing(
        "module-state-mishandled",
        "import equinox as eqx\nm = eqx.nn.Dropout(0.5)\nm(jnp.ones(3))  #!",
        "dropout is called without a key",
    ),
    Failing(
        "axis-conflict",
        "import equinox as eqx\nm = eqx.nn.Conv2d(3, 4, 3, key=jax.random.key(0))\nm(jnp.ones((1, 3, 8, 8)))  #!",
        "`Conv` is given an array of shape (1, 3, 8, 8), and takes arrays with 3 axes: one example, without a batch",
    ),
    Failing(
        "wrong-number-of-arguments",
        "import equinox as eqx\nm = eqx.nn.Linear(3, 4, key=jax.random.key(0))\nm2 = eqx.tree_at(lambda t: t.weight, m)  #!",
        "`eqx.tree_at` is not told what to put in",
    ),
    Failing(
        "axis-conflict",
        "import equinox as eqx\nm = eqx.nn.Embedding(10, 4, key=jax.random.key(0))\nm(jnp.arange(3))  #!",
        "an embedding of equinox is given many indices at once, and takes one",
    ),
    Failing(
        "module-state-mishandled",
        "import haiku as hk\nclass Net(hk.Module):\n    def __call__(self, y):\n        return hk.BatchNorm(True, True, 0.9)(y, True)  #!\nf = hk.transform(lambda y: Net()(y))\nf.init(jax.random.key(0), x)",
        "`hk.BatchNorm` keeps a state, but the function is transformed by `hk.transform`",
    ),
    Failing(
        "module-state-mishandled",
        "import haiku as hk\nf = hk.transform_with_state(lambda y: hk.Linear(3)(y))\np, s = f.init(jax.random.key(0), x)\nf.apply(p, None, x)  #!",
        "`apply(params, state, key, x)`, which gives `(out, state)`",
    ),
    Failing(
        "wrong-number-of-arguments",
        "import haiku as hk\nf = hk.transform(lambda y: hk.BatchNorm(True, True, 0.9)(y))  #!\nf.init(jax.random.key(0), x)",
        "`hk.BatchNorm` is called without `is_training`",
    ),
    Failing(
        "module-state-mishandled",
        "import haiku as hk\nf = hk.transform_with_state(lambda x: hk.BatchNorm(True, True, 0.9)(x, True))\np = f.init(jax.random.key(0), jnp.ones((2, 3)))\nf.apply(p, None, jnp.ones((2, 3)))  #!",
        "`apply` of haiku is given a tuple as the parameters",
    ),
    Failing(
        "module-state-mishandled",
        "from flax import nnx\nm = nnx.Linear(3, 4, rngs=nnx.Rngs(0))\njax.jit(lambda m, x: m(x))(m, jnp.ones((2, 3)))\ndef loss(m):\n    m.kernel.value = m.kernel.value * 2  #!\n    return m(jnp.ones((2, 3))).sum()\njax.grad(lambda s: loss(m))(1.0)\nm.kernel + 1",
        "a `Param` of a module is changed inside a function that JAX transforms, but the module comes from outside",
    ),
    Failing(
        "module-state-mishandled",
        "from flax import nnx\nclass M(nnx.Module):\n    def __init__(self, rngs):\n        self.layers = [nnx.Linear(3, 3, rngs=rngs)]  #!\n    def __call__(self, x):\n        return self.layers[0](x)\nM(nnx.Rngs(0))(jnp.ones(3))",
        "`layers` is a plain list that holds parameters or modules",
    ),
    Failing(
        "wrong-number-of-arguments",
        "from flax import nnx\nimport optax\nm = nnx.Linear(3, 4, rngs=nnx.Rngs(0))\no = nnx.Optimizer(m, optax.adam(1e-3))  #!",
        "`nnx.Optimizer` is not told which variables it updates",
    ),
    Failing(
        "axis-conflict",
        "import chex\nchex.assert_shape(jnp.ones((2, 3)), (3, 2))  #!",
        "`chex.assert_shape` fails: input 0 has shape (2, 3) but expected (3, 2)",
    ),
    Failing(
        "in-place-update",
        'from flax.core import freeze\np = freeze({"w": jnp.ones(3)})\np["w"] = 1  #!',
        "an entry of a FrozenDict is assigned",
    ),
    Failing(
        "wrong-number-of-arguments",
        "def step(c):\n    return c, None\nlax.scan(step, 0.0, x)  #!",
        "the body takes (carry, x)",
    ),
    Failing(
        "wrong-number-of-arguments", "jax.random.randint(jax.random.key(0), (3,))  #!", "without `minval` and `maxval`"
    ),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_vjp\ndef f(a, b):\n    return a * b\ndef fwd(a, b):\n    return a * b, (a, b)\ndef bwd(g):  #!\n    return g, g\nf.defvjp(fwd, bwd)\njax.grad(f)(1.0, 2.0)",
        "(residuals, cotangent)",
    ),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_vjp\ndef f(a, b):\n    return a * b\ndef fwd(a, b):\n    return a * b, (a, b)\ndef bwd(res, g):\n    a, b, c = res  #!\n    return g * b, g * a\nf.defvjp(fwd, bwd)\njax.grad(f)(1.0, 2.0)",
        "takes 3 values apart, but gets 2 values",
    ),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_vjp\ndef f(a, b):\n    return a * b\ndef fwd(a, b):\n    return (a * b, a), (a, b)  #!\ndef bwd(res, g):\n    return g, g\nf.defvjp(fwd, bwd)\njax.grad(f)(1.0, 2.0)",
        "forward rule gives several values",
    ),
    Failing(
        "wrong-custom-derivative",
        "@jax.custom_jvp\ndef f(a, b):\n    return a * b\n@f.defjvp\ndef rule(primals, tangents):\n    return primals[0] * primals[1], jnp.stack(tangents)  #!\njax.jvp(f, (1.0, 2.0), (1.0, 1.0))",
        "a tangent of type float32[2] for an output whose tangent is float32[]",
    ),
    Failing(
        "carry-type-changes",
        "lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1,), (0, x))  #!",
        "a tuple of 2 and comes out as a tuple of 1",
    ),
    Failing(
        "branch-type-mismatch", "lax.cond(True, lambda v: {'a': v}, lambda v: {'b': v}, x)  #!", "with the keys ('b',)"
    ),
    Failing(
        "branch-type-mismatch", "lax.switch(0, [lambda v: v, lambda v: (v, v)], x)  #!", "`branch 0` gives an array"
    ),
    Failing(
        "in-axes-structure-mismatch",
        "jax.vmap(lambda p: p['w'], in_axes=({'w': 0},))({'w': x, 'b': x})  #!",
        "at `in_axes[0]`: the keys `b` are not in all of them",
    ),
    Failing(
        "wrong-axis-mapped", "jax.vmap(lambda a: a, axis_size=5)(x)  #!", "`axis_size` is 5, axis 0 of `a` has size 3"
    ),
    Failing("wrong-argnums", "jax.grad(lambda p, q: (p * q).sum(), argnums=(0, 3))(x, 1.0)  #!", "argnums=(0, 3)"),
    Failing(
        "carry-type-changes",
        "mesh = jax.make_mesh((2,), ('d',), axis_types=(jax.sharding.AxisType.Auto,))\njax.shard_map(lambda c: lax.scan(lambda a, v: (a + v, None), 0.0, c)[0], mesh=mesh, in_specs=P('d'), out_specs=P())(jnp.ones(4))  #!",
        "to='varying'",
    ),
    Failing(
        "spec-does-not-fit",
        "mesh = jax.make_mesh((2,), ('d',), axis_types=(jax.sharding.AxisType.Auto,))\njax.shard_map(lambda a: a, mesh=mesh, in_specs=P(None, 'd'), out_specs=P('d'))(jnp.ones(4))  #!",
        "P(None, 'd') has 2 entries, but `a` is float32[4] with 1 axes",
    ),
    Failing("invalid-input-type", "x.reshape(2.0, 6)  #!", "`x.reshape` is given the shape (2.0, 6)"),
    Failing("invalid-input-type", "jnp.outer(x, 'a')  #!", "`jnp.outer` is given a str as `b`"),
    Failing("dynamic-shape", "jax.jit(lambda v, k: lax.top_k(v, k))(x, 2)  #!", "`lax.top_k` needs a number"),
    Failing("python-branch-on-traced", "jax.jit(lambda v: max(v[0, 0], v[0, 1]))(x)  #!", "for `max`"),
    Failing("script-failed", "a, b = x  #!", "2 names are bound to more values"),
    Failing(
        "script-failed",
        "def host(z):\n    raise ValueError('bad data')  #!\njax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)",
        "a callback stops with an exception: ValueError: bad data",
    ),
    Failing("axis-conflict", "jnp.polyfit(x[0], x[:, 0], 1)  #!", "`jnp.polyfit` refuses what it is given"),
    Failing("axis-conflict", "jnp.clip(x, jnp.ones(3), 1.0)  #!", "`jnp.clip` joins arrays"),
    Failing("axis-conflict", "jnp.dot(x, x)  #!", "`a` is float32[3,4], `b` is float32[3,4]"),
    Failing("axis-conflict", "x @ x  #!", "the array is float32[3,4], the other operand is float32[3,4]"),
    Failing(
        "script-failed",
        "jax.nn.dot_product_attention(jnp.ones((2, 3, 4, 8)), jnp.ones((2, 3, 5, 8)), jnp.ones((2, 3, 5, 8)))  #!",
        "`key` is float32[2,3,5,8]",
    ),
    Failing(
        "module-state-mishandled",
        "import haiku as hk\nf = hk.transform(lambda a: hk.Linear(3)(a))  #!\nf.apply({}, None, x)",
        "`apply` needs the parameter `w` of `linear`",
    ),
    Failing("print-in-traced-code", "jax.debug.print('{x} {y}', x=x)  #!", "`jax.debug.print`"),
    Failing("script-failed", "jnp.sim(x)  #!", "or `jax.numpy.sin` is meant"),
)

PROGRAMS = (*failing.PROGRAMS, *CALLS)
