"""Tables from qualified library names to ops: what the source front end knows of other people's functions."""
