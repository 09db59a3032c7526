"""Rules about `scan` and the other loops of JAX."""
