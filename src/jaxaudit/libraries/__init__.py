"""The library model: one row a library function, read by front ends, analyses and rules."""
