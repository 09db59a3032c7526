"""What several rules of the family `numerics` share."""
