"""The source front end: reads Python with `ast` and interprets it, without importing jax or the audited code."""
