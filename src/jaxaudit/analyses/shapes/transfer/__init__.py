"""Transfer functions of the shapes domain, a file for each kind of op; `table` puts them together."""
