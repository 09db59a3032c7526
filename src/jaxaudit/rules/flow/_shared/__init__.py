"""What several rules of the family `flow` share."""
