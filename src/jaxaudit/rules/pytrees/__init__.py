"""Rules about trees of containers: what is a leaf, what is structure, and what JAX can take apart."""
