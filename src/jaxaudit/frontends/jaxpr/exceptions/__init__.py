"""What JAX's exceptions mean in the user's program: a table from types and messages to explanations."""
