"""What several rules of the family `random` share."""
