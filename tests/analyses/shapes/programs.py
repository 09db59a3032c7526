"""Small programs whose every stated shape is compared with what JAX really makes: each assigns names at top level."""

PROGRAMS = {
    "bits that are read as other numbers": """
        import jax.numpy as jnp
        from jax import lax
        a = jnp.ones((3, 4), jnp.uint32); b = a.view(jnp.uint8); c = lax.bitcast_convert_type(a, jnp.uint8)
        d = lax.bitcast_convert_type(c, jnp.uint32); e = lax.bitcast_convert_type(a, jnp.float32)
        f = b.view(jnp.float32); g = a.view(jnp.uint16).reshape(a.shape + (2,))[..., 1].astype(jnp.int32)
        """,
    "creation": """
        import jax.numpy as jnp
        a = jnp.zeros((3, 4)); b = jnp.ones(5); c = jnp.full((2, 3), 7); d = jnp.full((2,), 1.5)
        e = jnp.arange(6); f = jnp.arange(2, 9); g = jnp.arange(0, 10, 3); h = jnp.linspace(0.0, 1.0, 11)
        i = jnp.eye(3); j = jnp.eye(3, 5); k = jnp.zeros_like(a); l = jnp.ones_like(e); m = jnp.full_like(e, 2)
        n = jnp.array([1, 2, 3]); o = jnp.array([[1.0, 2.0], [3.0, 4.0]]); p = jnp.asarray(3); q = jnp.array(2.5)
        r = jnp.zeros((2, 2), dtype=jnp.int32); s = jnp.ones(3, dtype=bool); t = jnp.array([True, False])
        u = jnp.array([1, 2.5]); v = jnp.zeros(()); w = jnp.arange(3.0); x = jnp.identity(4); y = jnp.tri(3)
    """,
    "arithmetic": """
        import jax.numpy as jnp
        x = jnp.ones((4, 1)); y = jnp.ones((3,)); n = jnp.arange(4)
        a = x + y; b = x * 2; c = n / 2; d = n + 1; e = n + 1.0; f = n > 2; g = -x; h = x ** 2; i = n // 2; j = n % 3
        k = jnp.exp(n); l = jnp.sqrt(4); m = jnp.maximum(x, 0.0); o = jnp.where(n > 1, n, 0); p = jnp.clip(x, 0, 1)
        q = (n > 1) & (n < 3); r = n.astype(jnp.float16) + 1.0; s = n.astype(jnp.float16) + x; t = jnp.abs(n)
        u = jnp.isnan(x); v = 1.0 - (n > 2); w = jnp.where(n > 1, 1.0, 0.0); z = n.astype(jnp.bfloat16) * n
        aa = jnp.logaddexp(x, y); bb = jnp.power(n, 2); cc = n * True; dd = jnp.int32(3) * 2.0; ee = jnp.sign(n)
        ff, gg = jnp.divmod(n, 3); hh, ii = jnp.divmod(x, y); jj = jnp.array_equal(x, y); kk = jnp.allclose(x, x)
    """,
    "reductions": """
        import jax, jax.numpy as jnp
        x = jnp.ones((2, 3, 4)); n = jnp.arange(6).reshape(2, 3); m = n > 2
        a = x.sum(); b = x.sum(0); c = x.mean(axis=(0, 2)); d = x.max(-1, keepdims=True); e = n.sum(); f = m.sum(1)
        g = m.any(); h = jnp.all(m, axis=0); i = n.mean(); j = x.std(axis=1); k = jnp.argmax(x, axis=-1); l = jnp.argmax(x)
        o = jax.nn.logsumexp(x, axis=1); p = jnp.linalg.norm(x, axis=-1); q = jnp.linalg.norm(x[0]); r = x.min(axis=(0,))
        s = jnp.count_nonzero(m); t = n.prod(0); u = jnp.median(x, axis=0); v = x.var(keepdims=True); w = n.max()
        aa = jnp.cumsum(x, axis=1); bb = jnp.sort(n, axis=0); cc = jnp.argsort(n); dd = jnp.cumsum(x)
    """,
    "layout": """
        import jax, jax.numpy as jnp
        x = jnp.ones((2, 3, 4))
        a = x.reshape(6, 4); b = x.reshape(-1); c = x.reshape((2, -1)); d = x.ravel(); e = x.T; f = x.transpose(1, 0, 2)
        g = jnp.swapaxes(x, 0, 2); h = jnp.moveaxis(x, 0, -1); i = jnp.expand_dims(x, 1); j = x[:, None].squeeze(1)
        k = jnp.concatenate([x, x], axis=1); l = jnp.stack([x, x, x]); m = jnp.stack([x, x], axis=-1)
        n, o = jnp.split(x, 2, axis=-1); p = jnp.broadcast_to(x[0, 0], (5, 4)); q = jnp.tile(x, 2); r = jnp.repeat(x, 3, axis=1)
        s = jnp.pad(x, ((0, 0), (1, 1), (0, 2))); t = jnp.roll(x, 1, axis=0); u = jnp.flip(x); v = jax.nn.one_hot(jnp.arange(3), 5)
        w = jnp.moveaxis(x, (0, 1), (2, 0)); y = x.flatten(); z = jnp.tile(x[0], (2, 1, 1)); aa = jnp.concatenate([x[0], jnp.ones((1, 4))])
    """,
    "indexing": """
        import jax.numpy as jnp
        x = jnp.ones((5, 6, 7)); i = jnp.array([0, 2]); j = jnp.array([[0], [1]])
        a = x[0]; b = x[1:4]; c = x[:, 2]; d = x[..., 0]; e = x[None]; f = x[:, None, 0]; g = x[i]; h = x[:, i]
        k = x[i, i]; l = x[i, :, i]; m = x[0, :, i]; n = x[j, i]; o = x[::2]; p = x[-1, 1:-1]; q = x[:, :, ::-1]
        r = x[1:100]; s = x[3:1]; t = x.at[0].set(1.0); u = x.at[:, i].add(1.0); v = jnp.take(x, i, axis=1)
        w = jnp.take_along_axis(x, jnp.zeros((5, 1, 7), int), axis=1); y = x[..., None, :2]; z = x[0, 0, 0]; aa = x[-2:]
        bb = x[0, i]; cc = x[i, 0]; dd = x[:, 0, i]; ee = x[0][..., i]
    """,
    "products": """
        import jax.numpy as jnp
        x = jnp.ones((2, 3)); y = jnp.ones((3, 4)); v = jnp.ones(3); b = jnp.ones((5, 2, 3)); n = jnp.arange(3)
        a = x @ y; c = x @ v; d = v @ y; e = v @ v; f = b @ y; g = jnp.dot(b, y); h = jnp.einsum("ij,jk->ik", x, y)
        i = jnp.einsum("bij,jk->bik", b, y); j = jnp.outer(v, v); k = jnp.tensordot(x, y, axes=1); l = jnp.vdot(v, v)
        m = jnp.matmul(b, jnp.ones((5, 3, 7))); o = jnp.inner(x, v); p = jnp.einsum("i,i->", v, v); q = n @ n; r = n @ v
        s = jnp.einsum("ij->ji", x); t = jnp.linalg.inv(jnp.eye(3)); u = jnp.dot(x, 2.0)
    """,
    "letters": """
        import jax.numpy as jnp
        x = jnp.ones((2, 3)); y = jnp.ones((3, 4)); b = jnp.ones((5, 2, 3)); q = jnp.ones((2, 7, 4, 8)); k = jnp.ones((2, 9, 4, 8))
        a = jnp.einsum("...d,df->...f", b, y); c = jnp.einsum("...ij,...jk->...ik", b, y); d = jnp.einsum("ij,jk", x, y)
        e = jnp.einsum("ba", x); f = jnp.einsum("ii->i", jnp.eye(4)); g = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        h = jnp.einsum("b...,b...->...", q, q); i = jnp.einsum("...,...->...", b, x); j = jnp.einsum("i...->...", b)
    """,
    "shelves": """
        import jax.numpy as jnp
        v = jnp.ones(3); x = jnp.ones((3, 4)); z = jnp.ones((3, 4, 2)); s = jnp.ones(())
        a = jnp.hstack([v, v]); b = jnp.hstack([x, x]); c = jnp.vstack([v, v]); d = jnp.vstack([x, x, x]); e = jnp.vstack([z, z])
        f = jnp.column_stack([v, v]); g = jnp.column_stack([v, x]); h = jnp.dstack([x, x]); i = jnp.dstack([z, z]); j = jnp.hstack([s, s])
    """,
    "random": """
        import jax, jax.numpy as jnp
        k = jax.random.key(0); r = jax.random.PRNGKey(1)
        k1, k2 = jax.random.split(k); ks = jax.random.split(k, 4); rs = jax.random.split(r, 3); k3 = jax.random.fold_in(k, 2)
        a = jax.random.normal(k1, (3, 4)); b = jax.random.uniform(k2); c = jax.random.bernoulli(k3, 0.5, (7,))
        d = jax.random.randint(k, (5,), 0, 10); e = jax.random.categorical(k, jnp.ones((4, 9))); f = jax.random.permutation(k, 6)
        g = jax.random.permutation(k, a); h = jax.random.choice(k, 10, (3,)); i = jax.random.choice(k, a, (2,)); j = jax.random.bits(k, (3,))
        l = jax.random.normal(k, (2,), dtype=jnp.float16); m = jax.random.bernoulli(k, jnp.ones((2, 3)) / 2)
        n = jax.random.multivariate_normal(k, jnp.zeros(3), jnp.eye(3), (5,)); o = jax.random.truncated_normal(k, -1, 1, (3,))
    """,
    "transformations": """
        import jax, jax.numpy as jnp
        x = jnp.ones((5, 3)); w = jnp.ones((3, 2))
        a = jax.vmap(lambda r: r @ w)(x); b = jax.vmap(lambda r, m: r @ m, in_axes=(0, None), out_axes=1)(x, w)
        c = jax.jit(lambda y: y.sum(0))(x); d = jax.grad(lambda w: (x @ w).sum())(w)
        e, f = jax.value_and_grad(lambda w: (x @ w).mean())(w); g = jax.vmap(jnp.sum, in_axes=1)(x)
        h, i = jax.lax.scan(lambda s, r: (s + r, s.sum()), jnp.zeros(3), x)
        j, k = jax.lax.scan(lambda s, _: (s * 2, s), 1.0, None, length=4)
        l = jax.lax.fori_loop(0, 3, lambda i, s: s + i, jnp.zeros(2)); m = jax.lax.while_loop(lambda s: s < 5, lambda s: s + 1, 0)
        n = jax.lax.cond(True, lambda y: y * 2, lambda y: y + 1, x); o = jax.lax.map(lambda r: r[0], x)
        p = jax.vmap(lambda k: jax.random.normal(k, (4,)))(jax.random.split(jax.random.key(0), 6))
        q = jax.checkpoint(lambda y: y @ w)(x); r = jax.lax.fori_loop(0, 3, lambda i, s: s + 0.5, 0)
    """,
    "functions": """
        import jax, jax.numpy as jnp
        def dense(p, x): return x @ p["w"] + p["b"]
        def init(key, sizes):
            keys = jax.random.split(key, len(sizes) - 1)
            return [{"w": jax.random.normal(k, (m, n)), "b": jnp.zeros(n)} for k, m, n in zip(keys, sizes[:-1], sizes[1:])]
        def scale(x):
            B, T = x.shape
            return jnp.zeros((B * T, B)).reshape(B, T, -1)
        params = init(jax.random.key(0), [3, 8, 2])
        one = {"w": jnp.ones((3, 8)), "b": jnp.zeros(8)}
        y = dense(one, jnp.ones((4, 3))); z = scale(jnp.ones((2, 5))); z2 = scale(y)
        def pick(x):
            if x.ndim == 1:
                return x[None]
            return x.sum(0)
        a = pick(jnp.ones(3)); b = pick(jnp.ones((4, 3)))
        total = jnp.zeros(3)
        for i in range(4):
            total = total + jnp.ones(3) * i
        sums = 0.0; longest = jnp.zeros(())
        for row in jnp.ones((4, 3)):
            sums = sums + row; longest = jnp.maximum(longest, row)
        both = sums + longest
        rows = [jnp.ones(3) * i for i in range(4)]
        stacked = jnp.stack(rows); first = rows[0]
        n = len(rows); wide = jnp.ones((n, total.shape[0] + 1)); flat = wide.size; half = jnp.zeros(wide.shape[0] // 2)
    """,
    "matrices": """
        import jax, jax.numpy as jnp
        a = jnp.eye(5); b = jnp.ones((4, 3)); v = jnp.ones(5); t = jnp.ones((2, 4, 3))
        c = jnp.diag(a); d = jnp.diag(v); e = jnp.diagonal(t); f = jnp.trace(a); g = jnp.kron(b, b); h = jnp.cross(b, b)
        i, j = jnp.linalg.eigh(a); k, l, m = jnp.linalg.svd(b); n, o, p = jnp.linalg.svd(b, full_matrices=False)
        q, r = jnp.linalg.qr(b); s, u = jnp.linalg.slogdet(a); w = jnp.linalg.pinv(t); x = jax.scipy.linalg.expm(a)
        y = jnp.cov(b); z = jnp.corrcoef(b, rowvar=False); aa = b.diagonal(); bb = jnp.diag(b)
        cc = jax.scipy.stats.multivariate_normal.logpdf(v, v, a); dd = jnp.trace(t, axis1=1, axis2=2)
        ee = jax.scipy.stats.multivariate_normal.logpdf(jnp.ones((7, 5)), v, a)
    """,
    "limits and flat trees": """
        import jax, jax.numpy as jnp
        from jax.flatten_util import ravel_pytree
        a = jnp.finfo(jnp.float32); b = jnp.ones(3) + a.eps; c = jnp.ones(3, jnp.bfloat16) * jnp.finfo(jnp.bfloat16).max
        d = jnp.arange(4) % jnp.iinfo(jnp.int32).max; e = jnp.asarray(a.tiny); f = jnp.full(2, jnp.iinfo(jnp.int16).min)
        g, back = ravel_pytree({"w": jnp.ones((3, 8)), "b": jnp.zeros(8)}); h, _ = ravel_pytree(jnp.ones((2, 3)))
        rows = [jnp.ones((4, i + 1)) for i in range(2)]
        i = jax.vmap(lambda one, other: one.sum() + other, in_axes=(0, None))(jnp.ones((4, 3)), 1.0)
        j, k = jax.vmap(lambda pair: [2 * one for one in pair])(rows)
        """,
    "rarer": """
        import jax, jax.numpy as jnp
        from jax import lax
        key = jax.random.key(0); v = jnp.ones(5); w = jnp.ones(3); b = jnp.ones((4, 3)); n = jnp.zeros(5, jnp.int32)
        c = jnp.convolve(v, w); d = jnp.interp(w, v, v); e = jnp.bincount(n, length=7); f = jnp.digitize(w, v)
        g = jnp.percentile(b, 50.0, axis=0); h = jnp.quantile(b, jnp.array([0.1, 0.9]), axis=1); i = jnp.cumsum(b)
        j = jnp.diff(v); k = jnp.diff(b, axis=0, n=2); l = jnp.gradient(v); m = jnp.pad(v, (2, 3)); o = jnp.pad(b, 1)
        p = jnp.append(v, w); q, r = jnp.meshgrid(v, w); s, t = jnp.meshgrid(v, w, indexing="ij")
        u = jnp.logspace(0, 1, 5); x = jnp.atleast_2d(v); y = jnp.atleast_1d(1.0); z = jnp.fft.fft(v)
        aa = jnp.fft.rfft(v); bb = jnp.fft.irfft(jnp.fft.rfft(jnp.ones(6))); cc = jnp.fft.fftfreq(6)
        dd = jnp.select([v > 0], [v], 0.0); (ee,) = jnp.nonzero(v, size=3); ff = jnp.unique(v, size=3)
        gg, hh = jnp.tril_indices(4, -1); ii, jj = jnp.triu_indices(4); kk, ll = jnp.diag_indices(4)
        mm = jnp.indices((2, 3)); nn = jnp.argwhere(b, size=2); oo = jnp.partition(v, 2); pp = jnp.argpartition(v, 2)
        qq = jax.nn.glu(b[:, :2]); rr, ss = lax.top_k(b, 2); tt = lax.broadcast(v, (2,)); uu = lax.broadcast_in_dim(v, (5, 2), (0,))
        vv = jax.image.resize(b, (8, 6), "linear"); ww = jax.random.dirichlet(key, v, (3,)); xx = jax.random.dirichlet(key, v)
        yy = jax.scipy.ndimage.map_coordinates(b, [w, w], order=1); zz = jnp.fft.fftshift(v); ab = jnp.vsplit(b, 2)[0]
        ac = jax.nn.dot_product_attention(jnp.ones((2, 6, 2, 8)), jnp.ones((2, 5, 2, 8)), jnp.ones((2, 5, 2, 8)))
        ad = jnp.geomspace(1.0, 2.0, 4); ae = jax.scipy.signal.convolve2d(b, b); af = jnp.hsplit(b, 3)[1]
        ag = jnp.convolve(v, w, mode="valid"); ah = jnp.convolve(w, v, mode="same"); ai = jnp.correlate(v, w)
        aj = jax.scipy.signal.correlate(b, b[:2], mode="valid"); ak = jax.scipy.signal.convolve(b[:2], b, mode="same")
    """,
    "numbers that NumPy draws": """
        import numpy as np
        r = np.random.default_rng(0); low = np.zeros(3)
        a = r.normal(); b = r.uniform(0.0, 2.0); c = r.uniform(low, 1.0); d = r.uniform(low, 1.0, (4, 3)); e = r.integers(5)
        f = r.integers(0, 5, size=(2, 3), dtype=np.int8); g = r.normal(size=6); h = r.random((2, 2)); i = r.gamma(2.0)
        j = np.random.uniform(low); k = np.random.randn(2, 3); l = r.lognormal(low, 1.0); m = r.choice(7); n = r.choice(7, 3)
        o = r.binomial(3, 0.5); p = r.random(dtype=np.float32); q = np.random.randint(5); s = r.exponential(low[:, None])
    """,
    "the largest of some numbers": """
        import jax.numpy as jnp
        x = jnp.ones((3, 4)); y = jnp.ones((2, 5))
        a = max(3, 7); b = max(x.shape[0], 1); c = min(x.shape); d = max(1.5, float(y.sum())); e = min(x.shape[1], len(y), 9)
        f = max(1, float(x[0, 0])); g = jnp.zeros(max(x.shape[0], 2)); h = max(x.sum(), 0.0); i = max([1.5, 2.5])
        j = x.shape == y.shape; k = x.shape != (3, 4); l = x.shape == (3, y.shape[0]); m = max((1, 2))
    """,
}
