"""What `integer-overflow` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, messages, said

PROGRAMS = {
    "bytes of wider numbers": """
        def parts(x):
            return x.view(jnp.uint8).astype(jnp.uint16) * jnp.uint16(255)

        def larger(x):
            return x.view(jnp.uint8).astype(jnp.uint16) * jnp.uint16(999)  #? integer-overflow

        parts(jnp.arange(8, dtype=jnp.uint32)), larger(jnp.arange(8, dtype=jnp.uint32))
        """,
    "counts in small integers, of which only the type is known": """
        def moved(matrix, moves):
            hits = jnp.sum(matrix, axis=-1, dtype=jnp.int8) - 1  #? integer-overflow
            return jnp.maximum(jnp.minimum(hits, 1) - ~moves.any(axis=-1), 0)
        """,
    "frames that NumPy made and put together": """
        def frame(shift):
            image = np.full((8, 8), 40, dtype=np.uint8)
            image[2:4, shift : shift + 2] = 200
            return image

        def difference(video):
            return video[1:] - video[:-1]  #! integer-overflow

        def main():
            noise = jnp.asarray(np.random.default_rng(0).integers(0, 255, size=(4, 8), dtype=np.uint8))
            wider = noise.astype(jnp.int32)[1:] - noise[:-1]
            return difference(jnp.asarray(np.stack([frame(shift) for shift in range(6)]))), wider, noise + noise  #! integer-overflow

        main()
        """,
    "whole numbers that wrap around": """
        K = jax.random.key(0)
        A = jax.random.randint(K, (8,), 0, 255).astype(jnp.uint8)
        S = jax.random.randint(K, (8,), -100, 100).astype(jnp.int8)  #? key-reused
        b1 = jnp.mean((A - A[::-1]).astype(jnp.float32))  #! integer-overflow
        b2 = jax.random.randint(K, (9,), 0, 50000) * 50000  #! integer-overflow #? key-reused
        b3 = 10 ** jnp.arange(12)  #! integer-overflow
        b4 = S * S  #! integer-overflow
        b5 = (jnp.arange(100000) + 1) * 30000  #! integer-overflow
        o1 = A.astype(jnp.float32) - A[::-1].astype(jnp.float32)
        o2 = jax.random.randint(K, (9,), 0, 40000) * 40000  #? key-reused
        o3 = A // 2 + A // 4
        o4 = (A * 31 + 7) % 256
        o5 = (255 - A, A > 3, A.sum())
        o6 = 300000 * 300000
        o7 = np.arange(100000) * 100000
        """,
    "integers of NumPy that JAX takes as 32 bits": """
        @jax.jit
        def age(now, t):
            return (now - t) / 1000

        def scalar():
            now = np.int64(1_720_000_000_000)
            return jnp.asarray(now)  #! integer-overflow

        def argument():
            ids = np.array([3_000_000_000, 4_000_000_000])
            return age(ids, 1)  #! integer-overflow

        def computed(n):
            rng = np.random.default_rng(0)
            t = (rng.uniform(0.0, 120.0, size=n) * 86400000).astype(np.int64)
            return jnp.array(np.int64(1_700_000_000_000) - t)  #! integer-overflow

        def filled():
            return jnp.asarray(np.full(8, 5_000_000_000))  #! integer-overflow
        """,
    "integers of NumPy that fit, and floats": """
        def fits():
            now = np.int64(1_720_000_000_000)
            since = now - np.int64(1_719_999_999_000)
            return jnp.asarray(since), jnp.asarray(now, jnp.float32), jnp.asarray(np.array([1, 2, 3]))

        def floats():
            now = np.int64(1_720_000_000_000)
            return jnp.asarray(now / 1000.0), jnp.asarray(np.array([1720000000000], dtype=np.float32))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def test_64_bit_integers_hold_more():
    program = "\n{}\nx = jnp.arange(100000) * 100000{}\n"
    narrow = program.format("", "  #! integer-overflow")
    assert said(narrow) == marked(narrow)
    assert said(program.format('jax.config.update("jax_enable_x64", True)', "")) == []


def test_messages_name_the_reason():
    found = messages(PROGRAMS["whole numbers that wrap around"], "integer-overflow")
    assert found[0] == "this difference wraps around in `uint8`: it is integer [-254, 254]"


def test_wide_types_hold_them() -> None:
    program = """
    jax.config.update("jax_enable_x64", True)

    def scalar():
        return jnp.asarray(np.int64(1_720_000_000_000))
    """
    assert said(program) == []
