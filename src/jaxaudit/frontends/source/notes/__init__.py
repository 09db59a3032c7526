"""Notes: what leaves no trace in the data flow but matters to rules, and what people wrote down about axes."""
