"""What several rules of the family `jit` share."""
