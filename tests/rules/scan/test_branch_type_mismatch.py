"""Where `branch-type-mismatch` points to."""

from rules.programs import HEADER, audited


def test_a_constant_is_shown_where_the_branch_returns_it() -> None:
    program = HEADER + "def pay(x):\n    return x, 2.0 * x\ndef skip(x):\n    return x, 0\n"
    program += "out = jax.lax.cond(jnp.array(True), pay, skip, jnp.float32(1))\n"
    (found,) = audited(program.removeprefix(HEADER)).issues
    assert [program.splitlines()[step.line - 1].strip() for step in found.why] == ["return x, 2.0 * x", "return x, 0"]
