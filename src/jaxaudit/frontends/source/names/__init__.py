"""Names: which scope binds each, and whether it has a value wherever it is read."""
