"""What several rules of the family `pytrees` share."""
