"""Rules about what is mapped over which axis."""
