"""Transfer functions of the ranges domain, one file for each kind of op."""
