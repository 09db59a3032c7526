"""Abstract values: what the interpreter knows of each Python object, and how values are taken apart and merged."""
