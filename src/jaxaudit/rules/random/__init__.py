"""Rules about random keys and random numbers."""
