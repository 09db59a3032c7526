"""What several rules of the family `vmap` share."""
