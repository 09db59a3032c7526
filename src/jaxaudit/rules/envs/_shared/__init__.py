"""What several rules about environments share."""
