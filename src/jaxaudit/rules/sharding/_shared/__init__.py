"""What several rules on sharding share."""
