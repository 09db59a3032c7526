"""What several rules of the family `axes` share."""
