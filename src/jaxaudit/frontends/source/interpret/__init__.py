"""The abstract interpreter: statements, expressions, calls and transformations of the audited code."""
