"""Rules about code that JAX traces: what Python may ask, change and keep there."""
