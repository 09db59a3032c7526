"""Classes of the audited code: how they are made, and how JAX takes their instances apart."""
