"""Rules about numbers: precision, ranges and indices."""
