"""Front ends turn programs into IR: `source` reads Python, `jaxpr` traces or observes with JAX."""
