"""The exact front end: traces programs with JAX and turns jaxprs into IR, in a process that has jax."""
