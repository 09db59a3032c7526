"""The source front end: reads Python with `ast`, interprets it abstractly, and never imports jax or the audited code."""
