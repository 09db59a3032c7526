"""What several rules of the family `gradients` share."""
