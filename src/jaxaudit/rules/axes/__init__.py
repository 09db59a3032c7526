"""Rules about the axes of arrays: which ones meet, are dropped, mixed or reduced."""
