"""What several rules of the family `scan` share."""
